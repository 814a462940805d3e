import Foundation
import SQLCipherKit
import Synchronization

/// The files of a run, the pool over them, and the knowledge of the tasks.
final class SoakSite: Sendable {
    static let writers = 3

    let folder: String, options: SoakOptions
    let ledger = Ledger()
    let deadline: ContinuousClock.Instant
    private let state: Mutex<State>

    private struct State {
        var pool: DatabasePool
        var key = 0
        var random: SoakGenerator
        var rounds: [String: Int] = [:]
        var findings: [String] = []
        var count = 0
        var longest = (time: Duration.zero, name: "")
    }

    var path: String { folder + "/a.db" }
    var slotsPath: String { folder + "/s.db" }

    init(_ folder: String, _ options: SoakOptions) throws {
        (self.folder, self.options) = (folder, options)
        deadline = .now + .seconds(options.seconds)
        let pool = try Self.open(folder + "/a.db", 0)
        state = Mutex(State(pool: pool, random: SoakGenerator(state: options.seed)))
        try pool.write { db in
            try db.execute("CREATE TABLE t(who TEXT, number INT, half TEXT, padding)")
            try db.execute("CREATE INDEX t_who ON t(who, number)")
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
            try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
            try db.create(Item.table)
        }
        _ = try KeySlots.create(.passphrase("one"), label: "first", for: .file(slotsPath), derivation: .pbkdf2(iterations: 1000))
    }

    static let quick: CipherConfiguration = {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }()

    static func key(_ number: Int) throws -> DatabaseKey { try .passphrase("key \(number)", cipher: quick) }

    /// Small limits, so that a run has many checkpoints, and readers come and go.
    static func open(_ path: String, _ key: Int) throws -> DatabasePool {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(30)
        // So that the caches are full after the warm-up, and pages are written before the commit.
        configuration.prepareDatabase = { db in try db.execute("PRAGMA cache_size = -200") }
        configuration.pool.maximumReaders = 4
        configuration.pool.readerIdleTime = .milliseconds(200)
        configuration.pool.checkpointSize = 100_000
        configuration.pool.maximumWALSize = 1_000_000
        return try DatabasePool(.file(path), key: Self.key(key), configuration: configuration)
    }

    var pool: DatabasePool { state.withLock { $0.pool } }
    var keyNumber: Int { state.withLock { $0.key } }
    func set(_ pool: DatabasePool, key: Int) { state.withLock { ($0.pool, $0.key) = (pool, key) } }
    func random(_ range: Range<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.random) } }

    // MARK: The run

    var isOver: Bool { .now >= deadline }

    /// Runs `body` until the time is over. Errors that the disturbances lead to are expected; another is a finding.
    func repeatedly(_ name: String, _ body: @Sendable () async throws -> Void) async {
        guard options.only.isEmpty || options.only.contains(name) else { return }
        while !isOver {
            let begun = ContinuousClock.now
            defer {
                let time = ContinuousClock.now - begun
                state.withLock { if time > $0.longest.time { $0.longest = (time, name) } }
            }
            do { try await body() } catch where Self.isExpected(error) {} catch {
                found("\(name): \(error)")
                // A task that fails at once each time would only repeat itself.
                try? await Task.sleep(for: .milliseconds(100))
            }
            state.withLock { $0.rounds[name, default: 0] += 1 }
            await Task.yield()
        }
    }

    struct Undo: Error {}

    static func isExpected(_ error: any Error) -> Bool {
        if error is CancellationError || error is Undo { return true }
        guard let error = error as? DatabaseError else { return false }
        switch error.reason {
        case .closed, .timeout, .busy, .snapshotLost, .transactionAborted: return true
        default: return error.code == .interrupted
        }
    }

    // MARK: What was found

    func found(_ text: String) {
        let isNew = state.withLock { state in
            state.count += 1
            guard state.findings.count < 50, !state.findings.contains(text) else { return false }
            state.findings.append(text)
            return true
        }
        if isNew { say("FOUND \(text)") }
    }

    func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) { if !isTrue { found(text()) } }
    var findings: Int { state.withLock { $0.count } }

    /// The number of rounds of each task, and the longest of all rounds.
    var summary: String {
        let (rounds, longest) = state.withLock { ($0.rounds, $0.longest) }
        let counts = rounds.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
        return counts.joined(separator: ", ") + ", at most \(Int(longest.time / .milliseconds(1))) ms for one \(longest.name)"
    }
}

/// A generator that gives the same numbers for the same seed (SplitMix64).
struct SoakGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

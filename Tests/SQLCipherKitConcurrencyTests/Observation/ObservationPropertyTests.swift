import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Random commits and random observers, judged by the real changes of each commit.
@Suite(.timeLimit(.minutes(60))) struct ObservationPropertyTests {
    static let tables = ["a", "b", "c"], columns = ["x", "y", "z"]
    static let keys = tables.flatMap { table in columns.map { "\(table).\($0)" } }

    /// The content after each commit, in order.
    final class History: Sendable {
        struct Commit: Sendable {
            var content: [String: String]
            /// The keys that it has touched, though perhaps to no effect in the end.
            var touched: Set<String>
        }

        let commits = Lock<[Commit]>([])
        /// Changes of the schema, of which each reaches every observer, and may do so several times while a database is attached.
        let schemaChanges = Lock(0)
        let loops = Lock<[Loop]>([])
        /// The tasks that write.
        let running = Lock(3)
    }

    /// One loop over an observation.
    struct Loop: Sendable {
        var keys: [String]
        var elements: [[String: String]]
        var wasCancelled: Bool
    }

    /// The last element of each loop.
    final class Latest: Sendable {
        let count: Int
        let elements: Lock<[[String: String]]>

        init(_ count: Int) {
            self.count = count
            elements = Lock(Array(repeating: [:], count: count))
        }
    }

    static func content(_ db: Connection, _ keys: some Sequence<String>) throws -> [String: String] {
        var content: [String: String] = [:]
        for key in keys {
            let parts = key.split(separator: ".")
            let sql = "SELECT id || '=' || coalesce(\(parts[1]), '') FROM \(parts[0]) ORDER BY id"
            let rows = try db.fetchAll(String.self, SQL(raw: sql))
            content[key] = rows.joined(separator: " ")
        }
        return content
    }

    /// Runs one statement. Returns the tables and columns that it has changed.
    static func change(_ db: Connection, _ random: inout SeededGenerator) throws -> Set<String> {
        let table = tables.randomElement(using: &random)!, id = Int.random(in: 1...6, using: &random)
        let value = Int.random(in: 0...2, using: &random)
        let all = Set(columns.map { "\(table).\($0)" })
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            try db.execute(SQL(raw: "INSERT OR REPLACE INTO \(table)(id, x, y, z) VALUES (\(id), \(value), 1, 1)"))
            return all
        case 1:
            try db.execute(SQL(raw: "DELETE FROM \(table) WHERE id = \(id)"))
            return try db.fetchOne(Int.self, "SELECT changes()") == 0 ? [] : all
        default:
            let key = "\(table).\(columns.randomElement(using: &random)!)"
            let before = try content(db, [key])
            try db.execute(SQL(raw: "UPDATE \(table) SET \(key.suffix(1)) = \(value) WHERE id = \(id)"))
            return try content(db, [key]) == before ? [] : [key]
        }
    }

    struct Stop: Error {}

    static func write(_ database: DatabaseWriter, _ history: History, _ seed: UInt64) async throws {
        _ = try await database.write { db in
            var random = SeededGenerator(state: seed)
            var touched: Set<String> = []
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                if Int.random(in: 0..<5, using: &random) == 0 {
                    _ = try? db.savepoint { db in
                        _ = try change(db, &random)
                        throw Stop()
                    }
                } else {
                    touched.formUnion(try change(db, &random))
                }
            }
            if Int.random(in: 0..<5, using: &random) == 0 { throw Stop() }
            if Int.random(in: 0..<25, using: &random) == 0 {
                let exists = try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == 1
                try db.execute(SQL(raw: exists ? "DROP INDEX extra" : "CREATE INDEX extra ON a(x)"))
                history.schemaChanges.withLock { $0 += 1 }
            }
            let content = try content(db, keys)
            history.commits.withLock { $0.append(.init(content: content, touched: touched)) }
        }
    }

    /// Observes random columns in one of several ways until the task is cancelled. Returns how often it has read.
    static func observe(
        _ database: DatabaseWriter, _ history: History, _ seed: UInt64, over isOver: @escaping @Sendable () -> Bool
    ) async throws {
        var random = SeededGenerator(state: seed)
        let keys = Array(Self.keys.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        let reads = Lock(0)
        let fetch: @Sendable (Connection) throws -> [String: String] = { db in
            reads.withLock { $0 += 1 }
            return try content(db, keys)
        }
        var region = DatabaseRegion.empty
        for key in keys {
            region.formUnion(DatabaseRegion(DatabaseTable(String(key.prefix(1))), columns: ["id", String(key.suffix(1))]))
        }
        var observation = Bool.random(using: &random) ? database.observe(fetch) : database.observe(tracking: region, fetch)
        let isShared = Bool.random(using: &random)
        if isShared { observation = observation.shared() }
        if Bool.random(using: &random) { observation = observation.removingDuplicates() }
        var starts = 0
        while !isOver() {
            let latest = Latest(isShared ? 3 : 1)
            let loops = (0..<latest.count).map { number in
                Task { [observation] in
                    var elements: [[String: String]] = []
                    do {
                        for try await element in observation {
                            elements.append(element)
                            latest.elements.withLock { $0[number] = element }
                            if number == 1 { try await Task.sleep(for: .milliseconds(2)) }
                        }
                    } catch is CancellationError {}
                    return elements
                }
            }
            starts += 1
            let isLast = Int.random(in: 0..<3, using: &random) == 0
            if isLast {
                try await suspendUntil("all is written", atMost: .seconds(600)) { isOver() }
                // The last commit has to arrive.
                let end = history.commits.withLock { $0.last?.content ?? [:] }.filter { keys.contains($0.key) }
                try await suspendUntil("the last commit has arrived") { latest.elements.withLock { $0.allSatisfy { $0 == end } } }
            } else {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...60, using: &random)))
            }
            for loop in loops { loop.cancel() }
            for loop in loops {
                let elements = try await loop.value
                history.loops.withLock { $0.append(Loop(keys: keys, elements: elements, wasCancelled: !isLast)) }
            }
        }
        let touching = history.commits.withLock { $0.filter { !$0.touched.isDisjoint(with: keys) }.count }
        let schemaChanges = history.schemaChanges.withLock { $0 }
        let limit = touching + schemaChanges + 2 * starts
        #expect(reads.withLock { $0 } <= limit, "\(keys): \(reads.withLock { $0 }) reads for \(touching) commits, seed \(seed)")
    }

    @Test(arguments: Store.allCases) func randomObservationsShowCommittedStatesInOrder(store: Store) async throws {
        let folder = try TemporaryFolder()
        let database = try store.open(folder)
        try await database.barrierWriteWithoutTransaction { db in try db.execute("PRAGMA synchronous = OFF") }
        var seeds = SeededGenerator()
        let seed = seeds.next()
        let history = History()
        try await database.write { db in
            for table in Self.tables { try db.execute(SQL(raw: "CREATE TABLE \(table)(id INTEGER PRIMARY KEY, x, y, z)")) }
            let content = try Self.content(db, Self.keys)
            history.commits.withLock { $0.append(.init(content: content, touched: [])) }
        }
        let end = ContinuousClock.now + .seconds(LongTests.areOn ? 120 : 3)
        // However slow the machine is, there is something to look at.
        let goesOn: @Sendable () -> Bool = { ContinuousClock.now < end || history.commits.withLock { $0.count } <= 20 }
        let isOver: @Sendable () -> Bool = { history.running.withLock { $0 } == 0 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 as Range<UInt64> {
                group.addTask { try await Self.observe(database, history, seed &+ number, over: isOver) }
            }
            for number in 0..<2 {
                group.addTask {
                    defer { history.running.withLock { $0 -= 1 } }
                    var random = SeededGenerator(state: seed &+ 1000 &+ UInt64(number))
                    while goesOn() {
                        do { try await Self.write(database, history, random.next()) } catch is Stop {}
                        if Int.random(in: 0..<10, using: &random) == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    }
                }
            }
            group.addTask {
                defer { history.running.withLock { $0 -= 1 } }
                let path = folder.path("other.db")
                while goesOn() {
                    try await Task.sleep(for: .milliseconds(300))
                    history.schemaChanges.withLock { $0 += 4 }
                    let other = try await database.attach(.file(path), as: "other", key: .plaintext)
                    try await Task.sleep(for: .milliseconds(50))
                    history.schemaChanges.withLock { $0 += 2 }
                    try await other.detach()
                }
            }
            try await group.waitForAll()
        }
        let commits = history.commits.withLock { $0 }
        let last = commits.last?.content ?? [:]
        for loop in history.loops.withLock({ $0 }) {
            var states = commits[...].map { $0.content.filter { loop.keys.contains($0.key) } }[...]
            for element in loop.elements {
                // A state that was committed, and none from before the one before it.
                guard let index = states.firstIndex(of: element) else {
                    Issue.record("\(element) was never committed, or is out of order, seed \(seed)")
                    break
                }
                states = states[index...]
            }
            if !loop.wasCancelled { #expect(loop.elements.last == last.filter { loop.keys.contains($0.key) }, "seed \(seed)") }
        }
        #expect(commits.count > 10)
    }
}

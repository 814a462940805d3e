import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Everything at once at one file, for five seconds, or for ten minutes with `SQLCIPHERKIT_LONG_TESTS=1`: eight tasks, a second
/// process that is killed, cancellations, timeouts, key changes, snapshots, observers, close and reopen. In the end the file has
/// exactly the rows whose call has returned, and all or none of the rows of each call that has thrown.
@Suite struct ConcurrencySoakTests {
    /// The tasks' knowledge of their writes, by the writer's name and number.
    private final class Ledger: Sendable {
        private let state = Lock<(returned: Set<String>, uncertain: Set<String>)>(([], []))
        func began(_ row: String) { state.withLock { _ = $0.uncertain.insert(row) } }
        func returned(_ row: String) {
            state.withLock {
                $0.uncertain.remove(row)
                $0.returned.insert(row)
            }
        }
        /// A rollback is certain where the closure itself has thrown.
        func undone(_ row: String) { state.withLock { _ = $0.uncertain.remove(row) } }
        var rows: (returned: Set<String>, uncertain: Set<String>) { state.withLock { $0 } }
    }

    /// The pool of the present, which one task closes and opens again, with its key.
    private final class Present: Sendable {
        private let state: Lock<(pool: DatabasePool, key: Int)>
        let path: String

        init(_ path: String) throws {
            self.path = path
            state = Lock((try Self.open(path, 0), 0))
        }

        static func open(_ path: String, _ key: Int) throws -> DatabasePool {
            var configuration = DatabaseConfiguration.pool {
                $0.maximumReaders = 4
                $0.readerIdleTime = .milliseconds(20)
                $0.checkpointSize = 50_000
                $0.maximumWALSize = 400_000
            }
            configuration.busyTimeout = .seconds(20)
            return try DatabasePool(.file(path), key: .passphrase("k\(key)").quick, configuration: configuration)
        }

        var pool: DatabasePool { state.withLock { $0.pool } }
        var key: Int { state.withLock { $0.key } }
        func set(_ pool: DatabasePool, _ key: Int) { state.withLock { $0 = (pool, key) } }
    }

    private struct Undo: Error {}

    @Test func soakKeepsExactlyTheReturnedWrites() async throws {
        let folder = try TemporaryFolder(), end = ContinuousClock.now + (LongTests.areOn ? .seconds(600) : .seconds(2))
        let present = try Present(folder.path("a.db")), ledger = Ledger(), said = Ledger()
        // The run takes longer to give a verdict if many other tests hold Swift's few threads.
        let isOver: @Sendable () -> Bool = {
            let now = ContinuousClock.now
            return now >= end && (now >= end + .seconds(1800) || (ledger.rows.returned.count > 20 && said.rows.returned.count > 5))
        }
        try await present.pool.write { db in try db.execute("CREATE TABLE t(who, number, half, padding)") }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 { group.addTask { try await write(worker, present, ledger, until: isOver) } }
            group.addTask { try await read(present, until: isOver) }
            group.addTask { try await takeSnapshots(present, until: isOver) }
            group.addTask { try await observe(present, until: isOver) }
            group.addTask { try await disturb(present, said, until: isOver) }
            try await group.waitForAll()
        }

        let (returned, uncertain) = ledger.rows, others = said.rows.returned
        try await present.pool.read { db in
            let halves: [(String, Int)] = try db.fetchAll("SELECT who || ' ' || number, count(*) FROM t GROUP BY who, number")
            #expect(halves.allSatisfy { $0.1 == 2 })
            let all = Set(halves.map(\.0)), ours = all.filter { $0.hasPrefix("task") }
            #expect(returned.isSubset(of: ours) && ours.subtracting(returned).isSubset(of: uncertain))
            #expect(others.isSubset(of: all))
            let integrity = try db.fetchAll(String.self, "PRAGMA integrity_check")
            #expect(integrity == ["ok"])
        }
        #expect(returned.count > 20 && others.count > 5)
        try await present.pool.close()
        let names = try folder.names()
        #expect(names == ["a.db"])
    }

    /// True for an error that the disturbances lead to.
    private static func isExpected(_ error: any Error) -> Bool {
        if error is CancellationError || error is Undo { return true }
        guard let error = error as? DatabaseError else { return false }
        switch error.reason {
        case .closed, .timeout, .busy, .snapshotLost, .transactionAborted: return true
        default: return error.code == .interrupted
        }
    }

    private func write(_ worker: Int, _ present: Present, _ ledger: Ledger, until isOver: @Sendable () -> Bool) async throws {
        var number = 0
        while !isOver() {
            number += 1
            let (pool, row, number) = (present.pool, "task\(worker) \(number)", number)
            let insert: @Sendable (Connection) throws -> Void = { db in
                for half in ["a", "b"] {
                    try db.execute("INSERT INTO t VALUES (\("task\(worker)"), \(number), \(half), zeroblob(\(number % 4000)))")
                }
                if number % 7 == 6 {
                    ledger.undone(row)
                    throw Undo()
                }
            }
            ledger.began(row)
            do {
                switch (worker, number % 5) {
                case (0, 0):
                    let count = try await pool.write(insert, then: { db, _ in
                        try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE who = \("task\(worker)") AND number = \(number)")
                    })
                    #expect(count == 2)
                case (1, 1):
                    // Cancelled somewhere on its way.
                    let task = Task { try await pool.write(insert) }
                    if number % 2 == 0 { try? await Task.sleep(for: .microseconds(number % 400)) }
                    task.cancel()
                    try await task.value
                case (2, 2): try await pool.write(timeout: .microseconds(number % 3000), insert)
                case (3, 3): try await pool.writeWithoutTransaction { db in try db.transaction { db in try insert(db) } }
                default: try await pool.write(insert)
                }
                ledger.returned(row)
            } catch where Self.isExpected(error) {}
            await Task.yield()
        }
    }

    private func read(_ present: Present, until isOver: @Sendable () -> Bool) async throws {
        while !isOver() {
            do {
                let odd = try await present.pool.read(timeout: .forTests) { db in
                    try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY who, number HAVING count(*) <> 2)")
                }
                #expect(odd == 0)
            } catch where Self.isExpected(error) {}
        }
    }

    private func takeSnapshots(_ present: Present, until isOver: @Sendable () -> Bool) async throws {
        let sum: @Sendable (Connection) throws -> String? = { db in
            try db.fetchOne(String.self, "SELECT count(*) || ' ' || total(number) FROM t")
        }
        var random = SeededGenerator()
        while !isOver() {
            do {
                let snapshot = try await present.pool.snapshot()
                let first = try await snapshot.read(sum)
                try await Task.sleep(for: .milliseconds(20))
                async let second = snapshot.read(sum)
                let third = try await snapshot.read(sum)
                let same = try await first == second && first == third
                #expect(same)
                if Bool.random(using: &random) { try await snapshot.close() }
            } catch where Self.isExpected(error) {}
        }
    }

    /// Observes until the pool is closed, and then observes the next pool.
    private func observe(_ present: Present, until isOver: @Sendable () -> Bool) async throws {
        while !isOver() {
            var last = 0
            let counts = present.pool.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 }
            do {
                for try await count in counts {
                    #expect(count % 2 == 0 && count >= last)
                    last = count
                    if isOver() { break }
                }
            } catch where Self.isExpected(error) {}
        }
    }

    /// Disturbances, in turn: a second process that writes and is killed, a change of key, an interruption, close and reopen.
    private func disturb(_ present: Present, _ said: Ledger, until isOver: @Sendable () -> Bool) async throws {
        let driver = try BuildProducts.executable("FaultDriver")
        var round = 0
        while !isOver() {
            round += 1
            let who = "other\(round)"
            // Used by one thread after the other.
            nonisolated(unsafe) let other = try Command(driver, ["pool-append", present.path, "k\(present.key)", who])
            try await onThread { try other.waitForOutput("ready") }.ended()
            try await Task.sleep(for: .milliseconds(100 + 37 * (round % 7)))
            present.pool.interrupt()
            kill(other.process.processIdentifier, SIGKILL)
            try await onThread {
                for line in try other.end().output.split(separator: "\n") where line.hasSuffix(";") {
                    said.returned("\(who) \(line.dropLast())")
                }
            }.ended()
            if round % 2 == 0 {
                let key = present.key + 1
                do {
                    try await present.pool.changeKey(to: .passphrase("k\(key)").quick, mode: round % 4 == 0 ? .newFile : .inPlace)
                    present.set(present.pool, key)
                } catch where Self.isExpected(error) {}
            }
            if round % 3 == 0 {
                try await present.pool.close()
                present.set(try Present.open(present.path, present.key), present.key)
            }
        }
    }
}

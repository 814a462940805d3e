import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Many tasks and threads at one pool for seconds, or for a minute with `SQLCIPHERKIT_LONG_TESTS=1`.
@Suite struct ConcurrencyStressTests {
    @Test func concurrentTasksAndThreadsKeepPoolConsistent() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(
            .file(folder.path("a.db")), key: .passphrase("one").quick,
            configuration: .pool {
                $0.maximumReaders = 3
                $0.readerIdleTime = .milliseconds(5)
                $0.checkpointSize = 50_000
                $0.maximumWALSize = 300_000
            })
        try await pool.write { db in
            try db.execute("CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
            try db.execute("CREATE TABLE entry(id INTEGER PRIMARY KEY, worker INTEGER, n INTEGER, padding)")
            try db.create(FTS5Table("words", columns: ["a"]))
            for id in 0..<10 { try db.execute("INSERT INTO account VALUES (\(id), 100)") }
        }
        struct Undo: Error {}
        let end = ContinuousClock.now + (LongTests.areOn ? .seconds(60) : .seconds(2))

        /// One turn of a worker: moves an amount, or gives up; then checks that the sum has not changed.
        @Sendable func write(_ db: Connection, _ worker: Int, _ n: Int) throws {
            try db.execute("UPDATE account SET amount = amount - 7 WHERE id = \(n % 10)")
            try db.execute("INSERT INTO words VALUES (\("word\(n) worker\(worker)"))")
            if n % 5 == 4 { throw Undo() }
            try db.execute("UPDATE account SET amount = amount + 7 WHERE id = \((n + worker) % 10)")
            try db.execute("INSERT INTO entry(worker, n, padding) VALUES (\(worker), \(n), zeroblob(\(n % 3000)))")
        }
        @Sendable func check(_ db: Connection, _ worker: Int, _ n: Int) throws {
            let sum = try db.fetchOne(Int.self, "SELECT sum(amount) FROM account")
            let mine = try db.fetchOne(Int.self, "SELECT count(*) FROM entry WHERE worker = \(worker)")
            let words = try db.fullText("words")
            let result: FullTextSearch.Results = try words.search(FTS5Query.phrase("worker\(worker)"), limit: 1)
            let found = result.total.count
            // Earlier commits are seen: of each five, one was undone.
            #expect(sum == 1000 && mine == n + 1 - (n + 1) / 5 && found == mine)
        }

        let threads = (0..<4).map { worker in
            Counted(worker) { worker in
                var n = 0
                while n < 20 || ContinuousClock.now < end {
                    do { try pool.write { db in try write(db, worker, n) } } catch is Undo {}
                    try pool.read { db in try check(db, worker, n) }
                    if n % 50 == 49 { try pool.main.checkpoint(.truncate) }
                    n += 1
                }
                return n
            }
        }
        let totals = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for worker in 4..<8 {
                group.addTask {
                    var n = 0
                    while n < 20 || ContinuousClock.now < end {
                        do { try await pool.write { [n] db in try write(db, worker, n) } } catch is Undo {}
                        try await pool.read { [n] db in try check(db, worker, n) }
                        if n % 10 == 9 {
                            // A task that is cancelled somewhere on its way leaves no trace.
                            let lost = Task {
                                try await pool.write { db in
                                    try db.execute("UPDATE account SET amount = 0")
                                    throw Undo()
                                }
                            }
                            lost.cancel()
                            _ = await lost.result
                        }
                        if n % 40 == 39 { try await pool.barrierWriteWithoutTransaction { db in try db.execute("PRAGMA optimize") } }
                        n += 1
                    }
                    return (worker, n)
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1.0] = $1.1 }
        }
        var counts = totals
        for thread in threads { counts[thread.worker] = try await thread.count() }
        try await pool.read { [counts] db in
            for (worker, n) in counts {
                let ns = try db.fetchAll(Int.self, "SELECT n FROM entry WHERE worker = \(worker) ORDER BY id")
                #expect(n > 0 && ns == (0..<n).filter { $0 % 5 != 4 })
            }
            let problems = try db.fetchAll(String.self, "PRAGMA integrity_check")
            #expect(problems == ["ok"])
            let sum = try db.fetchOne(Int.self, "SELECT sum(amount) FROM account")
            #expect(sum == 1000)
        }
        try await pool.barrierWriteWithoutTransaction { db in
            let isIntact = try db.fullText("words").passesIntegrityCheck()
            #expect(isIntact)
        }
        try await pool.close()
        #expect(try folder.names() == ["a.db"])
    }

    /// A thread that comes to a number.
    private final class Counted: @unchecked Sendable {
        // Sendable: the number is written before the outcome is told, and read after it.
        let worker: Int
        private var number = 0
        private var outcome = Outcomes(0)

        init(_ worker: Int, _ body: @escaping @Sendable (Int) throws -> Int) {
            self.worker = worker
            outcome = onThread { [unowned self] in number = try body(worker) }
        }

        func count() async throws -> Int {
            try await outcome.ended()
            return number
        }
    }
}

import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

@Suite struct FullTextLiveSearchTests {
    /// A query that runs for a long time unless it is interrupted, but not for ever.
    static let endless: SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000000) SELECT count(*) FROM n WHERE i < 0"

    @Test func aNewerSearchEndsTheOlderOne() throws {
        let live = LiveSearch()
        let first = live.next()
        let started = DispatchSemaphore(value: 0)
        // A thread, because a task might wait for ever for one of the few threads that tests run on.
        let older = Outcome()
        Thread.detachNewThread {
            older.finish {
                let db = try Connection(.memory)
                do {
                    _ = try live.run(first, on: db) { db in
                        started.signal()
                        return try db.fetchOne(Int.self, Self.endless)
                    }
                    return nil
                } catch let error as DatabaseError {
                    // The connection works as before.
                    #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
                    return error.code
                }
            }
        }
        started.wait()
        Thread.sleep(forTimeInterval: 0.05)
        let db = try Connection(.memory)
        #expect(try live.run(on: db) { try $0.fetchOne(Int.self, "SELECT 2") } == 2)
        #expect(try older.value() == .interrupted)
        let late = #expect(throws: DatabaseError.self) { try live.run(first, on: db) { _ in 1 } }
        #expect(late?.code == .interrupted)
    }

    /// The result of a thread, for the thread that waits for it.
    private final class Outcome: @unchecked Sendable {
        // Sendable: written before the semaphore is signalled, read after waiting for it.
        private var result: Result<ResultCode?, any Error> = .success(nil)
        private let isDone = DispatchSemaphore(value: 0)

        func finish(_ body: () throws -> ResultCode?) {
            result = Result(catching: body)
            isDone.signal()
        }

        func value() throws -> ResultCode? {
            isDone.wait()
            return try result.get()
        }
    }

    @Test func aConnectionThatHasWrittenIsNotInterrupted() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["a"]))
        let live = LiveSearch()
        try db.transaction { db in
            try db.execute("INSERT INTO fts VALUES ('one')")
            let error = #expect(throws: DatabaseError.self) {
                try live.run(on: db) { db in
                    live.cancel()
                    return try db.fullText("fts").hits("one").count
                }
            }
            #expect(error?.code == .interrupted)
            #expect(db.isInTransaction)
            try db.execute("INSERT INTO fts VALUES ('two')")
        }
        #expect(try db.fullText("fts").count(.any("one", "two")) == 2)
        #expect(try db.fullText("fts").isIntact())
    }
}

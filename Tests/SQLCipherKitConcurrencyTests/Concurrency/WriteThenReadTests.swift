import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct WriteThenReadTests {
    let folder: TemporaryFolder
    let pool: DatabasePool
    let databases: [DatabaseWriter]

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick)
        databases = [pool, try DatabaseQueue(.memory)]
        for database in databases { try database.write { db in try db.execute("CREATE TABLE t(x)") } }
    }

    private func count(_ database: DatabaseWriter) throws -> Int { try database.read { db in try db.rows() } }

    @Test func writeThenReadSeesItsCommit() throws {
        for database in databases {
            let (id, rows) = try database.write { db in
                try db.insert()
                return db.lastInsertedRowID
            } then: { db, id in
                (id, try db.rows())
            }
            #expect(id == 1 && rows == 1)
        }
    }

    @Test func asyncWriteThenReadSeesItsCommit() async throws {
        for database in databases {
            let (id, rows) = try await database.write { db in
                try db.insert()
                return db.lastInsertedRowID
            } then: { db, id in
                (id, try db.rows())
            }
            #expect(id == 1 && rows == 1)
        }
    }

    @Test func writesContinueDuringThenRead() throws {
        let pool = pool
        let seen = try pool.write { db in try db.insert() } then: { db, _ in
            try onThreads(1) { _ in
                try pool.write { db in try db.insert() }
                try pool.main.checkpoint(.passive)
            }
            return try db.rows()
        }
        #expect(seen == 1)
    }

    @Test func asyncWritesContinueDuringThenRead() async throws {
        let pool = pool, goOn = Latch(), begun = Latch()
        let reading = Task {
            try await pool.write { db in try db.insert() } then: { db, _ in
                begun.open()
                goOn.wait()
                return try db.rows()
            }
        }
        try await begun.opened()
        for _ in 0..<3 { try await pool.write { db in try db.insert() } }
        goOn.open()
        #expect(try await reading.value == 1)
    }

    /// Another writer commits whenever it can: the read must not see one row more than its own write has left.
    @Test func thenReadIgnoresOtherCommits() async throws {
        let path = folder.path("a.db"), pool = pool, end = Latch()
        let other = onThread {
            let db = try Connection(.file(path), key: .passphrase("one").quick)
            // A checkpoint between the write and its read would end the read, as documented.
            try db.execute("PRAGMA wal_autocheckpoint = 0")
            while !end.isOpened {
                try db.insert()
                // The lock is not fair.
                usleep(500)
            }
        }
        let here = onThread {
            for _ in 0..<150 {
                let (committed, seen) = try pool.write { db in
                    try db.insert()
                    return try db.rows()
                } then: { db, committed in
                    (committed, try db.rows())
                }
                #expect(committed == seen)
            }
        }
        try await here.ended()
        for _ in 0..<50 {
            let (committed, seen) = try await pool.write { db in
                try db.insert()
                return try db.rows()
            } then: { db, committed in
                (committed, try db.rows())
            }
            #expect(committed == seen)
        }
        end.open()
        try await other.ended()
    }

    private struct Undo: Error {}

    @Test func failedWriteSkipsItsThenRead() async throws {
        for database in databases {
            await #expect(throws: Undo.self) {
                try await database.write { db in
                    try db.insert()
                    throw Undo()
                } then: { _, _ in
                    Issue.record("read")
                }
            }
            try await onThread {
                #expect(throws: Undo.self) {
                    try database.write { db in
                        try db.insert()
                        throw Undo()
                    } then: { _, _ in
                        Issue.record("read")
                    }
                }
            }.ended()
            let rows = try await database.read { db in try db.rows() }
            #expect(rows == 0)
        }
    }

    @Test func thenReadErrorKeepsTheCommit() throws {
        for database in databases {
            #expect(throws: Undo.self) { try database.write { db in try db.insert() } then: { _, _ in throw Undo() } }
            #expect(try count(database) == 1)
            let error = #expect(throws: DatabaseError.self) {
                try database.write { _ in } then: { db, _ in try db.execute("DELETE FROM t") }
            }
            #expect(error?.code == .readOnly)
            let nested = #expect(throws: DatabaseError.self) {
                try database.write { _ in } then: { _, _ in try database.read { _ in } }
            }
            #expect(nested?.reason == .misuse)
            #expect(try count(database) == 1)
        }
    }

    @Test func asyncThenReadErrorKeepsTheCommit() async throws {
        for database in databases {
            await #expect(throws: Undo.self) {
                try await database.write { db in try db.insert() } then: { _, _ in throw Undo() }
            }
            let rows = try await database.read { db in try db.rows() }
            #expect(rows == 1)
        }
    }

    @Test func cancelledThenReadKeepsTheCommit() async throws {
        for database in databases {
            let begun = Latch()
            let task = Task {
                try await database.write { db in try db.insert() } then: { db, _ in
                    begun.open()
                    try db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
                }
            }
            try await begun.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let rows = try await database.read { db in try db.rows() }
            #expect(rows == 1)
        }
    }

    // MARK: Without a transaction

    @Test func withWriterDoesNotBlockReaders() throws {
        let pool = pool
        try pool.writeWithoutTransaction { db in
            #expect(!db.isInTransaction)
            for turn in 1...2 {
                try db.transaction { db in try db.insert() }
                try onThreads(1) { _ in
                    let rows = try pool.read { db in try db.rows() }
                    #expect(rows == turn)
                }
            }
            try db.execute("VACUUM")
        }
    }

    @Test func transactionLeftOpenInWithWriterThrows() throws {
        for database in databases {
            let error = #expect(throws: DatabaseError.self) {
                try database.writeWithoutTransaction { db in
                    try db.begin()
                    try db.insert()
                }
            }
            #expect(error?.reason == .misuse)
            #expect(try count(database) == 0)
        }
    }

    @Test func transactionLeftOpenInAsyncWithWriterThrows() async throws {
        for database in databases {
            await #expect(throws: DatabaseError.self) { try await database.writeWithoutTransaction { db in try db.execute("BEGIN") } }
            let rows = try await database.writeWithoutTransaction { db in
                try db.transaction { db in try db.insert() }
                return try db.rows()
            }
            #expect(rows == 1)
        }
    }
}

extension Connection {
    fileprivate func insert() throws { try execute("INSERT INTO t VALUES (1)") }
    fileprivate func rows() throws -> Int { try fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 }
}

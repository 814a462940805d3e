import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyQueueTests {
    let folder: TemporaryFolder
    let queue: DatabaseQueue

    init() throws {
        folder = try TemporaryFolder()
        queue = try DatabaseQueue(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try queue.write { db in try db.execute("CREATE TABLE t(x)") }
    }

    private func count() throws -> Int? { try queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } }

    @Test func queueWritesAreTransactions() throws {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try queue.write { db in
                try db.execute("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(try count() == 0)
        let id = try queue.write { db in
            try db.execute("INSERT INTO t VALUES (1)")
            #expect(db.isInTransaction)
            return db.lastInsertedRowID
        }
        #expect(id == 1)
        #expect(try count() == 1)
    }

    @Test func queueWritesInATransactionOfTheGivenKind() throws {
        struct Stop: Error {}
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        func isReadable() -> Bool { (try? other.fetchOne(Int.self, "SELECT count(*) FROM t")) != nil }
        for (kind, isShared) in [(TransactionKind.exclusive, false), (.immediate, true), (.deferred, true)] {
            #expect(throws: Stop.self) {
                try queue.transaction(kind) { db in
                    #expect(isReadable() == isShared, "\(kind)")
                    try db.execute("INSERT INTO t VALUES (1)")
                    throw Stop()
                }
            }
            let seen = try queue.transaction(kind) { db in
                try db.execute("INSERT INTO t VALUES (2)")
                return .rollback(db.changes)
            }
            #expect(try seen == 1 && count() == 0, "\(kind)")
        }
        #expect(#expect(throws: DatabaseError.self) { try queue.write { _ in try queue.transaction(.exclusive) { _ in } } }?.reason == .misuse)
    }

    @Test func queueReadsAndWritesInTasks() async throws {
        let value = try await queue.write { db in
            try db.execute("INSERT INTO t VALUES ('a')")
            return try db.fetchOne(String.self, "SELECT x FROM t")
        }
        #expect(value == "a")
        try await queue.transaction(.exclusive) { db in try db.execute("DELETE FROM t WHERE x IS NULL") }
        #expect(try await queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 1)
    }

    @Test func queueReadThatWritesThrows() throws {
        let error = #expect(throws: DatabaseError.self) {
            try queue.read { db in try db.execute("INSERT INTO t VALUES (1)") }
        }
        #expect(error?.code == .readOnly)
        try queue.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        #expect(try count() == 1)
    }

    @Test func queueReadSeesOneSnapshot() throws {
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try queue.barrierWriteWithoutTransaction { db in _ = try db.main.setJournalMode(.wal) }
        try queue.read { db in
            try other.execute("INSERT INTO t VALUES (1)")
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        }
        #expect(try count() == 1)
    }

    @Test func reentrantQueueCallsThrow() throws {
        try queue.write { db in
            for call in [
                { _ = try queue.read { db in db.isOpen } }, { _ = try queue.write { db in db.isOpen } },
                { _ = try queue.barrierWriteWithoutTransaction { db in db.isOpen } }, { try queue.close() },
            ] as [() throws -> Void] {
                let error = #expect(throws: DatabaseError.self) { try call() }
                #expect(error?.reason == .misuse)
            }
            try db.execute("INSERT INTO t VALUES (1)")
        }
        #expect(try count() == 1)
    }

    /// A debugger shows the way from a call to its closure on one screen.
    @Test func fewFramesBetweenACallAndItsClosure() throws {
        let outside = Thread.callStackReturnAddresses.count
        for frames in [
            try queue.read { _ in Thread.callStackReturnAddresses.count }, try queue.write { _ in Thread.callStackReturnAddresses.count },
        ] {
            #expect(frames - outside <= 10)
        }
    }

    @Test func queueSerializesThreads() throws {
        let queue = queue
        try onThreads(8) { number in
            for turn in 0..<20 {
                try queue.write { db in
                    let before = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                    try db.execute("INSERT INTO t VALUES (\(number * 100 + turn))")
                    let after = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                    #expect(after == before.map { $0 + 1 })
                }
            }
        }
        #expect(try count() == 160)
    }

    @Test func closedQueueThrows() async throws {
        try await queue.close()
        try await queue.close()
        #expect(!queue.isOpen)
        let error = #expect(throws: DatabaseError.self) { try count() }
        #expect(error?.reason == .closed)
        let task = await #expect(throws: DatabaseError.self) { try await queue.write { db in db.isOpen } }
        #expect(task?.reason == .closed)
    }

    @Test func inMemoryQueueReadsAndWrites() throws {
        let queue = try DatabaseQueue(.memory)
        try queue.write { db in try db.execute("CREATE TABLE t(x)") }
        #expect(try queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
        #expect(throws: DatabaseError.self) { try queue.read { db in try db.execute("INSERT INTO t VALUES (1)") } }
    }
}

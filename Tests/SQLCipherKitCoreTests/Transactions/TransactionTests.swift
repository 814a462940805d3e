import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct TransactionTests {
    struct Refusal: Error {}
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(x)")
    }

    private func insert(_ value: Int) throws { try db.execute("INSERT INTO t VALUES (\(value))") }
    private var values: [Int] { get throws { try db.fetchAll("SELECT x FROM t ORDER BY x") } }

    @Test func transactionCommitsAndReturnsItsValue() throws {
        let value = try db.transaction { db in
            #expect(db.isInTransaction)
            try insert(1)
            return "value"
        }
        #expect(value == "value")
        #expect(!db.isInTransaction)
        #expect(try values == [1])
    }

    @Test func errorInTransactionRollsBackAndIsRethrown() throws {
        #expect(throws: Refusal.self) {
            try db.transaction { _ in
                try insert(1)
                throw Refusal()
            }
        }
        #expect(!db.isInTransaction)
        #expect(try values == [])
    }

    @Test func transactionRollsBackWithoutError() throws {
        let value = try db.transaction { _ in
            try insert(1)
            return .rollback(try values.count)
        }
        #expect(value == 1)
        #expect(try values == [])
    }

    @Test func savepointRollbackKeepsOuterTransaction() throws {
        try db.transaction { db in
            try insert(1)
            try? db.savepoint { _ in
                try insert(2)
                throw Refusal()
            }
            try db.savepoint("named \"here\"") { _ in try insert(3) }
            // A transaction inside a transaction is a savepoint of it.
            try db.transaction { _ in
                try insert(4)
                return .rollback(())
            }
            #expect(db.isInTransaction)
        }
        #expect(try values == [1, 3])
    }

    @Test func outermostSavepointActsAsTransaction() throws {
        try db.savepoint { _ in try insert(1) }
        #expect(throws: Refusal.self) {
            try db.savepoint { _ in
                try insert(2)
                throw Refusal()
            }
        }
        #expect(!db.isInTransaction)
        #expect(try values == [1])
    }

    @Test(arguments: TransactionKind.allCases) func beginCommitAndRollbackWork(kind: TransactionKind) throws {
        try db.begin(kind)
        try insert(1)
        try db.commit()
        try db.begin(kind)
        try insert(2)
        try db.rollback()
        #expect(try values == [1])
    }

    @Test func misplacedCommitRollbackOrBeginThrows() throws {
        for call in [{ try db.commit() }, { try db.rollback() }] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .misuse)
        }
        try db.begin()
        let error = #expect(throws: DatabaseError.self) { try db.begin() }
        #expect(error?.reason == .misuse)
        try db.rollback()
        // A closure that ends the transaction itself.
        #expect(throws: DatabaseError.self) { try db.transaction { try $0.commit() } }
        #expect(throws: DatabaseError.self) { try db.transaction { $0.close() } }
    }

    @Test func aFailedCommitRollsBack() throws {
        try db.execute(SQLScript("CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)"))
        let error = #expect(throws: DatabaseError.self) { try db.transaction { try $0.execute("INSERT INTO c VALUES (7)") } }
        #expect(error?.code == .constraintForeignKey)
        #expect(!db.isInTransaction)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM c") == 0)
    }

    @Test func lockedDatabaseThrowsBusy() throws {
        let folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(20)
        let a = try Connection(.file(folder.path("a.db"))), b = try Connection(.file(folder.path("a.db")), configuration: configuration)
        try a.begin(.immediate)
        let error = #expect(throws: DatabaseError.self) { try b.transaction { _ in } }
        #expect(error?.reason == .busy)
        #expect(!b.isInTransaction)
        try a.rollback()
        try b.transaction { _ in }
    }
}

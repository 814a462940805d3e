import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// A transaction that SQLite has rolled back by itself stays so until its outermost closure has ended.
@Suite struct StickyTransactionTests {
    private static func make(_ location: DatabaseLocation = .memory) throws -> Connection {
        let db = try Connection(location)
        try fill(db)
        return db
    }

    private static func fill(_ db: Connection) throws {
        try db.execute(
            SQLScript("""
                CREATE TABLE t(x INTEGER PRIMARY KEY);
                CREATE TABLE u(x UNIQUE ON CONFLICT ROLLBACK);
                CREATE TRIGGER no_nines BEFORE INSERT ON t WHEN new.x = 99 BEGIN SELECT RAISE(ROLLBACK, 'no nines'); END;
                INSERT INTO t VALUES (1);
                INSERT INTO u VALUES (1);
                """))
    }

    /// The ways that SQLite rolls back by itself.
    enum Cause: CaseIterable {
        case orRollback, onConflict, raise, interrupt, full

        func happen(_ db: Connection) throws {
            switch self {
            case .orRollback: try db.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
            case .onConflict: try db.execute("INSERT INTO u VALUES (1)")
            case .raise: try db.execute("INSERT INTO t VALUES (99)")
            case .interrupt:
                try db.settings.setProgressHandler(every: 10) { false }
                defer { try? db.settings.setProgressHandler(nil) }
                try db.execute("WITH n(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM n LIMIT 1000) INSERT INTO t SELECT x FROM n")
            case .full:
                try db.execute("PRAGMA max_page_count = 1")
                try db.execute("INSERT INTO u VALUES (zeroblob(80000))")
            }
        }
    }

    private func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
        do { try body() } catch let error as DatabaseError { return error.reason } catch {}
        return nil
    }

    /// The work of a closure that swallows every error.
    private func careless(_ db: Connection, _ cause: Cause) throws {
        let kept = try db.prepare("INSERT INTO t VALUES (?)")
        try db.execute("INSERT INTO t VALUES (5)")
        #expect(throws: DatabaseError.self) { try cause.happen(db) }
        #expect(!db.isInTransaction)
        for use in [
            { try db.execute("INSERT INTO t VALUES (6)") }, { try kept.execute(binding: 7) }, { try db.savepoint { _ in } },
            { try db.transaction { try $0.execute("INSERT INTO t VALUES (8)") } }, { try db.begin() },
            { try db.execute(SQLScript("SELECT 1")) },
            { _ = try db.fetchOne(Int.self, "SELECT 1") }, { _ = try db.prepare("SELECT 1") }, { try db.main.setUserVersion(3) },
            { _ = try db.main.openBlob(table: "t", column: "x", rowID: 1) }, { try db.attach(.memory, as: "a", key: nil) },
            { _ = try ChangeRecorder(db.main).changeset() },
        ] as [() throws -> Void] { #expect(reason(use) == .transactionAborted) }
    }

    private func expectUntouched(_ db: Connection) throws {
        #expect(!db.isInTransaction)
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1])
        #expect(try db.main.userVersion == 0)
        // And the connection is as good as before.
        try db.execute("PRAGMA max_page_count = 1000000")
        try db.transaction { try $0.execute("INSERT INTO t VALUES (2)") }
        try db.execute("DELETE FROM t WHERE x = 2")
    }

    @Test(arguments: Cause.allCases) func implicitRollbackAbortsWholeTransaction(cause: Cause) throws {
        let db = try Self.make()
        var causes: [DatabaseError] = []
        for run in [
            { try db.transaction { try careless($0, cause) } }, { try db.savepoint { try careless($0, cause) } },
            {
                try db.transaction { db -> Void in
                    try? db.savepoint { try careless($0, cause) }
                    #expect(reason { try db.execute("SELECT 1") } == .transactionAborted)
                }
            },
            { try db.savepoint { db -> Void in try? db.transaction { try? $0.transaction { try careless($0, cause) } } } },
            { try db.transaction { db in
                try? careless(db, cause)
                return TransactionEnd.rollback(())
            } },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try run() }
            #expect(error?.reason == .transactionAborted && error?.code == .abortRollback)
            if let cause = error?.underlyingError as? DatabaseError { causes.append(cause) }
            try expectUntouched(db)
        }
        #expect(causes.count == 5 && causes.allSatisfy { $0.reason != .transactionAborted })
        // The error itself comes through if the closure lets it.
        let error = #expect(throws: DatabaseError.self) { try db.transaction { try cause.happen($0) } }
        #expect(error?.reason != .transactionAborted)
        try expectUntouched(db)
        // In a transaction begun by hand, a closure is the outermost one.
        try db.begin()
        try db.execute("INSERT INTO t VALUES (4)")
        #expect(reason { try db.savepoint { try careless($0, cause) } } == .transactionAborted)
        #expect(reason { try db.commit() } == .misuse)
        try expectUntouched(db)
    }

    @Test(arguments: Cause.allCases) func implicitRollbackAbortsQueueWritesAndMigrations(cause: Cause) throws {
        let folder = try TemporaryFolder()
        let queue = try DatabaseQueue(.memory), pool = try DatabasePool(.file(folder.path("a.db")))
        for shared in [queue, pool] as [DatabaseWriter] {
            try shared.barrierWriteWithoutTransaction { try Self.fill($0) }
            #expect(reason { try shared.write { try careless($0, cause) } } == .transactionAborted)
            #expect(reason { try shared.write { db in try db.transaction { try careless($0, cause) } } } == .transactionAborted)
            try shared.barrierWriteWithoutTransaction { try expectUntouched($0) }
            var migrator = Migrator()
            migrator.add("careless") { try careless($0, cause) }
            #expect(reason { try migrator.migrate(shared) } == .transactionAborted)
            try shared.barrierWriteWithoutTransaction {
                #expect(try migrator.pending(in: $0) == ["careless"])
                try expectUntouched($0)
            }
        }
    }

    // MARK: Transaction SQL

    private static let controls = [
        "BEGIN", "begin immediate", "/* c */ COMMIT", "END TRANSACTION", "-- c\nROLLBACK", "SAVEPOINT s", "RELEASE s",
        "ROLLBACK TO s",
        "; ROLLBACK",
    ]

    @Test(arguments: controls) func transactionSQLInsideClosureIsRefused(sql: String) throws {
        let folder = try TemporaryFolder()
        let queue = try DatabaseQueue(.memory), pool = try DatabasePool(.file(folder.path("a.db")))
        @Sendable func check(_ db: Connection, _ before: Statement? = nil) throws {
            var ways: [() throws -> Void] = [
                { try db.execute(SQL(raw: sql)) }, { try db.execute(SQLScript("\(sql); BEGIN")) },
                { try db.prepare(SQL(raw: sql)).step() },
                { _ = try db.cursor(Int.self, SQL(raw: sql)).next() },
            ]
            if let before { ways += [{ try before.execute() }, { try before.step() }, { _ = try before.fetchAll(Int.self) }] }
            for way in ways {
                let error = #expect(throws: (any Error).self) { try way() }
                let found = error as? DatabaseError
                #expect(found?.reason == .misuse && found?.message.contains("savepoint(_:_:)") == true,
                    "\(String(describing: error))")
            }
            // A statement that only looks at one may.
            _ = try db.fetchAll(OwnedRow.self, SQL(raw: "EXPLAIN " + sql.replacingOccurrences(of: "; ", with: "")))
        }
        let db = try Self.make()
        let before = try db.prepare(SQL(raw: sql))
        try db.transaction { db in
            try db.execute("INSERT INTO t VALUES (2)")
            try check(db, before)
            try db.savepoint { db in try check(db, before) }
            #expect(reason { try db.commit() } == .misuse && reason { try db.rollback() } == .misuse)
            #expect(reason { try db.begin() } == .misuse)
        }
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
        try db.savepoint { db in try check(db, before) }
        for shared in [queue, pool] as [DatabaseWriter] {
            try shared.write { try Self.fill($0) }
            try shared.read { try check($0) }
            try shared.write { db in
                try db.execute("INSERT INTO t VALUES (3)")
                try check(db)
            }
            #expect(try shared.read { try $0.fetchAll(Int.self, "SELECT x FROM t") } == [1, 3])
            var migrator = Migrator()
            migrator.add("one") { try check($0) }
            try migrator.migrate(shared)
        }
    }

    @Test func transactionSQLOutsideClosuresWorks() throws {
        let db = try Self.make()
        let script = "BEGIN; INSERT INTO t VALUES (2); SAVEPOINT s; INSERT INTO t VALUES (3); ROLLBACK TO s; RELEASE s; COMMIT"
        try db.execute(SQLScript(script))
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
        let queue = try DatabaseQueue(.memory)
        try queue.barrierWriteWithoutTransaction { db in
            try Self.fill(db)
            try db.execute(SQLScript(script))
            #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
        }
        // By hand, with a savepoint's closure inside.
        try db.execute("BEGIN")
        try db.savepoint { try $0.execute("INSERT INTO t VALUES (4)") }
        try db.execute("ROLLBACK")
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
    }

    // MARK: The way out

    /// An authorizer that is set inside of the closure refuses the very statements that would undo it.
    @Test func rollbackHappensDespiteDenyingAuthorizer() throws {
        struct Refusal: Error {}
        let db = try Self.make()
        func refusing(_ db: Connection) throws {
            try db.execute("INSERT INTO t VALUES (5)")
            try db.settings.setAuthorizer { [.transaction, .savepoint].contains($0.action) ? .deny : .allow }
        }
        for run in [
            { try db.transaction { try refusing($0); throw Refusal() } },
            { try db.savepoint { try refusing($0); throw Refusal() } },
            { try db.transaction { try refusing($0) } }, { try db.savepoint { try refusing($0) } },
            // The savepoint's changes cannot be undone alone, so that all go.
            { try db.transaction { db -> Void in
                try db.execute("INSERT INTO t VALUES (6)")
                try? db.savepoint { try refusing($0); throw Refusal() }
                #expect(reason { try db.execute("INSERT INTO t VALUES (7)") } == .transactionAborted)
            } },
        ] as [() throws -> Void] {
            #expect(throws: (any Error).self) { try run() }
            #expect(!db.isInTransaction)
            try db.settings.setAuthorizer(nil)
            try expectUntouched(db)
        }
        try db.transaction { db in
            try refusing(db)
            return TransactionEnd.rollback(())
        }
        try db.settings.setAuthorizer(nil)
        try expectUntouched(db)
        let queue = try DatabaseQueue(.memory)
        try queue.barrierWriteWithoutTransaction { try Self.fill($0) }
        #expect(throws: Refusal.self) { try queue.write { try refusing($0); throw Refusal() } }
        try queue.barrierWriteWithoutTransaction {
            try $0.settings.setAuthorizer(nil)
            try expectUntouched($0)
        }
    }

    @Test func conflictHandlerCannotEndItsTransaction() throws {
        let db = try Self.make(), other = try Self.make()
        let changes = try other.main.recordingChanges { try $0.execute("INSERT INTO t VALUES (2), (3)") }
        try db.execute("INSERT INTO t VALUES (2)")
        for outer in [false, true] {
            let apply = {
                try changes.apply(to: db) { _ in
                    #expect(reason { try db.execute("ROLLBACK") } == .misuse)
                    #expect(reason { try db.execute("INSERT OR ROLLBACK INTO t VALUES (1)") } == .engine)
                    #expect(reason { try db.execute("INSERT INTO t VALUES (9)") } == .transactionAborted)
                    return .omit
                }
            }
            #expect(throws: DatabaseError.self) { try outer ? db.transaction { _ in _ = try apply() } : { _ = try apply() }() }
            #expect(!db.isInTransaction)
            #expect(try db.fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
        }
    }
}

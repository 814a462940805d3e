import SQLCipherKitCore
import Testing
import TestSupport

/// A function's statement rolls back the transaction in the middle of the statement that called it. What that one writes afterwards
/// would be written without a transaction: the connection would see it, and the file would never get it, nor the next commits.
@Suite struct RolledBackWithinTests {
    /// Statements that ask the function first, and open what they write into afterwards.
    private static let statements = [
        "INSERT INTO t SELECT f(x) FROM t LIMIT 1", "INSERT INTO t SELECT x FROM (SELECT f(x) AS x FROM t ORDER BY 1)",
        "INSERT INTO t SELECT f(1)", "INSERT INTO t SELECT DISTINCT f(x) FROM u", "REPLACE INTO u SELECT f(x) + 5 FROM t",
        "CREATE TABLE made AS SELECT f(x) FROM t", "CREATE TABLE made AS SELECT f(1)", "CREATE INDEX made ON t(f(x))",
        "UPDATE t SET x = f(x)", "UPDATE t SET x = x + 1 WHERE f(x) = 1", "UPDATE t SET x = y.x FROM (SELECT f(x) AS x FROM u) AS y",
        "DELETE FROM t WHERE f(x) = 1", "DELETE FROM t WHERE x IN (SELECT f(x) FROM t)",
        "INSERT INTO words SELECT f(x) FROM t LIMIT 1", "INSERT INTO boxes SELECT x, f(x), 2 FROM t LIMIT 1", "INSERT INTO audited SELECT f(x) FROM t LIMIT 1", "ALTER TABLE t ADD COLUMN y CHECK (f(1) = 1)",
    ]
    private enum Way: CaseIterable { case alone, begun, closure, savepoint }

    private func contents(_ db: Connection) throws -> [String] {
        try db.fetchAll(String.self, """
            SELECT 't' || x FROM t UNION ALL SELECT 'u' || x FROM u UNION ALL SELECT 'w' || x FROM words UNION ALL SELECT 'a' || x FROM audited
            UNION ALL SELECT 'b' || id FROM boxes UNION ALL SELECT name FROM sqlite_schema
            """)
    }

    @Test(arguments: statements) func statementWritesNothingAfterRollbackInFunction(statement: String) throws {
        for way in Way.allCases {
            let folder = try TemporaryFolder(), location = DatabaseLocation.file(folder.path("a.db"))
            let db = try Connection(location, key: .passphrase("one").quick)
            try db.execute(SQLScript("""
                CREATE TABLE t(x); CREATE TABLE u(x UNIQUE); CREATE VIRTUAL TABLE words USING fts5(x);
                CREATE VIRTUAL TABLE boxes USING rtree(id, a, b); CREATE TABLE audited(x);
                CREATE TRIGGER audit AFTER INSERT ON audited BEGIN INSERT INTO t VALUES (new.x); END;
                INSERT INTO t VALUES (1), (2), (3); INSERT INTO u VALUES (1);
                """))
            try db.register(.function("f", .deterministic) { (x: Int) -> Int in
                try? db.execute("INSERT OR ROLLBACK INTO u VALUES (1)")
                return 1
            })
            let before = try contents(db), sql = SQL(stringLiteral: statement)
            #expect(throws: DatabaseError.self, "\(way)") {
                switch way {
                case .alone: try db.execute(sql)
                case .begun:
                    try db.begin()
                    try db.execute(sql)
                case .closure: try db.transaction { db in try db.execute(sql) }
                case .savepoint: try db.savepoint { db in try db.execute(sql) }
                }
            }
            if db.isInTransaction { try db.rollback() }
            #expect(try contents(db) == before, "\(way)")
            // What is committed next is there for everyone.
            try db.execute("INSERT INTO t VALUES (77)")
            let other = try Connection(location, key: .passphrase("one").quick)
            #expect(try contents(other) == contents(db) && contents(other).contains("t77"), "\(way)")
            #expect(try other.fetchOne(String.self, "PRAGMA integrity_check") == "ok", "\(way)")
        }
    }
}

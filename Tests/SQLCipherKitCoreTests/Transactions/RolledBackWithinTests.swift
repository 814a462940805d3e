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
        "INSERT INTO audited SELECT f(x) FROM t LIMIT 1", "ALTER TABLE t ADD COLUMN y CHECK (f(1) = 1)",
    ]

    /// A table of each kind that the engine's options have, of two columns.
    private static let kinds = [
        "CREATE TABLE kind(a, b)", "CREATE TABLE kind(a PRIMARY KEY, b) WITHOUT ROWID", "CREATE TABLE kind(a ANY, b ANY) STRICT",
        "CREATE TABLE kind(a, b, c AS (a + b) STORED UNIQUE)", "CREATE VIRTUAL TABLE kind USING fts3(a, b)",
        "CREATE VIRTUAL TABLE kind USING fts4(a, b)", "CREATE VIRTUAL TABLE kind USING fts4(a, b, prefix='1')",
        "CREATE VIRTUAL TABLE kind USING fts4(content='', a, b)", "CREATE VIRTUAL TABLE kind USING fts5(a, b)",
        "CREATE VIRTUAL TABLE kind USING fts5(a, b, content='')", "CREATE VIRTUAL TABLE kind USING fts5(a, b, content='', contentless_delete=1)",
        "CREATE VIRTUAL TABLE kind USING rtree(a, b, c)", "CREATE VIRTUAL TABLE kind USING rtree_i32(a, b, c)",
    ]
    /// The modules that make no table that can be written.
    private static let readOnly: Set = [
        "fts4aux", "fts3tokenize", "fts5vocab", "json_each", "json_tree", "jsonb_each", "jsonb_tree", "dbstat", "sqlite_stmt", "bytecode",
        "tables_used", "carray", "rtreecheck", "generate_series", "fts5_structure",
    ]

    @Test func kindsAreAllThatTheEngineHas() throws {
        let modules = try Connection(.memory).fetchAll(String.self, "SELECT name FROM pragma_module_list")
        let tried = Set(Self.kinds.compactMap { $0.firstMatch(of: #/USING (\w+)/#).map { String($0.1) } })
        #expect(Set(modules.filter { !$0.hasPrefix("pragma_") }).subtracting(tried).subtracting(Self.readOnly) == [])
    }

    @Test(arguments: kinds) func tableOfEachKindStaysWholeAfterRollbackInFunction(kind: String) throws {
        let statements = [
            "INSERT INTO kind(\(kind.contains("rtree") ? "a, b, c) SELECT x + 100, f(x), 2" : "a, b) SELECT x + 100, f(x)") FROM t",
            "INSERT OR REPLACE INTO kind(\(kind.contains("rtree") ? "a, b, c) SELECT x, f(x), 2" : "a, b) SELECT x, f(x)") FROM t",
            "UPDATE kind SET b = f(b)", "DELETE FROM kind WHERE f(1) = 1",
        ]
        for statement in statements {
            let folder = try TemporaryFolder(), location = DatabaseLocation.file(folder.path("a.db"))
            let db = try Connection(location, key: .passphrase("one").quick)
            try db.execute(SQLScript("CREATE TABLE t(x); CREATE TABLE u(x UNIQUE); INSERT INTO t VALUES (1), (2), (3), (4); INSERT INTO u VALUES (1)"))
            try db.execute(SQL(raw: kind))
            if !kind.contains("content=''") || kind.contains("fts5") {
                try db.execute(SQL(raw: kind.contains("rtree") ? "INSERT INTO kind SELECT x, x, x + 1 FROM t" : "INSERT INTO kind(a, b) SELECT x, x FROM t"))
            }
            let calls = Lock(0)
            // Not with the first row: then some rows are written before.
            try db.register(.function("f") { (x: Int) -> Int in
                if calls.withLock({ $0 += 1; return $0 }) == 2 { try? db.execute("INSERT OR ROLLBACK INTO u VALUES (1)") }
                return x
            })
            // Statements that a kind cannot run fail at once, and statements that ask the function once succeed.
            let before = try? db.fetchAll(SQLValue.self, "SELECT a FROM kind")
            do { try db.execute(SQL(raw: statement)) } catch {}
            if calls.withLock({ $0 }) >= 2 { #expect((try? db.fetchAll(SQLValue.self, "SELECT a FROM kind")) == before, "\(statement)") }
            if db.isInTransaction { try db.rollback() }
            try db.execute("INSERT INTO t VALUES (77)")
            let other = try Connection(location, key: .passphrase("one").quick)
            #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x = 77") == 1, "\(statement)")
            // FTS4 cannot check an index whose content is nowhere.
            if kind.contains("fts4(content=''") { continue }
            #expect(try other.fetchOne(String.self, "PRAGMA integrity_check") == "ok", "\(statement)")
        }
    }

    private enum Way: CaseIterable { case alone, begun, closure, savepoint }

    private func contents(_ db: Connection) throws -> [String] {
        try db.fetchAll(String.self, """
            SELECT 't' || x FROM t UNION ALL SELECT 'u' || x FROM u UNION ALL SELECT 'a' || x FROM audited
            UNION ALL SELECT name FROM sqlite_schema
            """)
    }

    @Test(arguments: statements) func statementWritesNothingAfterRollbackInFunction(statement: String) throws {
        for way in Way.allCases {
            let folder = try TemporaryFolder(), location = DatabaseLocation.file(folder.path("a.db"))
            let db = try Connection(location, key: .passphrase("one").quick)
            try db.execute(SQLScript("""
                CREATE TABLE t(x); CREATE TABLE u(x UNIQUE); CREATE TABLE audited(x);
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
            // The next commit is there for everyone.
            try db.execute("INSERT INTO t VALUES (77)")
            let other = try Connection(location, key: .passphrase("one").quick)
            #expect(try contents(other) == contents(db) && contents(other).contains("t77"), "\(way)")
            #expect(try other.fetchOne(String.self, "PRAGMA integrity_check") == "ok", "\(way)")
        }
    }
}

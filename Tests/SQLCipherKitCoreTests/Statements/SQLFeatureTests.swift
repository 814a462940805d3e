import SQLCipherKitCore
import Testing
import TestSupport

/// The features of newer SQLite, each once.
@Suite struct SQLFeatureTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INT) STRICT")
        try db.execute("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)")
        try db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, t INT, x TEXT)")
        try db.execute("INSERT INTO u VALUES (1, 1, 'one'), (2, 1, 'two'), (3, 9, 'lost')")
    }

    @Test func returningClauseReturnsRowsAndRunsToTheEnd() throws {
        let rows: [(Int, String)] = try db.fetchAll("INSERT INTO t(name, n) VALUES ('d', 1), ('e', 2) RETURNING id, upper(name)")
        #expect(rows.map(\.0) == [4, 5] && rows.map(\.1) == ["D", "E"])
        // Of which the rest runs too when only the first row is asked for.
        #expect(try db.fetchOne(Int.self, "UPDATE t SET n = n + 1 RETURNING n") == 11)
        #expect(try db.fetchAll(Int.self, "SELECT n FROM t ORDER BY id") == [11, 21, 31, 2, 3])
        #expect(try db.fetchAll(Int.self, "DELETE FROM t WHERE id > 3 RETURNING id") == [4, 5])
    }

    @Test func upsertUpdatesOrIgnoresConflicts() throws {
        try db.execute("INSERT INTO t(name, n) VALUES ('a', 5), ('z', 6) ON CONFLICT(name) DO UPDATE SET n = n + excluded.n")
        #expect(try db.fetchAll(Int.self, "SELECT n FROM t ORDER BY name") == [15, 20, 30, 6])
        try db.execute("INSERT INTO t(name, n) VALUES ('a', 5) ON CONFLICT DO NOTHING")
        #expect(db.changes == 0)
    }

    @Test func recursiveCTEsAndWindowFunctionsWork() throws {
        #expect(try db.fetchAll(Int.self, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i * 2 FROM n WHERE i < 10) SELECT i FROM n") == [1, 2, 4, 8, 16])
        let sums: [(String, Int)] = try db.fetchAll("SELECT name, sum(n) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM t")
        #expect(sums.map(\.1) == [10, 30, 60])
    }

    @Test func rightAndFullJoinsReturnUnmatchedRows() throws {
        let right: [(Int?, String)] = try db.fetchAll("SELECT t.id, u.x FROM t RIGHT JOIN u ON u.t = t.id ORDER BY u.id")
        #expect(right.map(\.0) == [1, 1, nil])
        let full: [(Int?, String?)] = try db.fetchAll("SELECT t.id, u.x FROM t FULL JOIN u ON u.t = t.id ORDER BY t.id, u.id")
        #expect(full.count == 5 && full.first?.0 == nil && full.last?.1 == nil)
    }

    @Test func strictTablesRefuseTypesAndUpdateFromWorks() throws {
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t(name, n) VALUES ('x', 'no number')") }
        #expect(error?.code == .constraintDataType)
        try db.execute("UPDATE t SET n = counted.c FROM (SELECT t, count(*) AS c FROM u GROUP BY t) AS counted WHERE counted.t = t.id")
        #expect(try db.fetchOne(Int.self, "SELECT n FROM t WHERE id = 1") == 2)
    }

    @Test func generatedColumnsAndPartialIndexesWork() throws {
        try db.execute("CREATE TABLE g(a INT, b INT AS (a * 2) STORED, c AS (a || '!'))")
        try db.execute("CREATE UNIQUE INDEX gi ON g(b) WHERE b > 10")
        try db.execute("INSERT INTO g(a) VALUES (1), (1), (6)")
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO g(a) VALUES (6)") }
        #expect(try db.fetchAll(String.self, "SELECT c FROM g") == ["1!", "1!", "6!"])
    }

    /// T31: a misspelt column in double quotes is no text.
    @Test func doubleQuotedStringThrows() throws {
        #expect(throws: DatabaseError.self) { try db.execute("SELECT \"no such column\" FROM t") }
        #expect(throws: DatabaseError.self) { try db.execute("CREATE INDEX i ON t(\"no such column\")") }
    }
}

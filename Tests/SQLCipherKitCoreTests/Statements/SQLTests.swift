import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// SQL by string interpolation.
@Suite struct SQLTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(x, y)")
        try db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    }

    @Test func interpolatedValuesAreBound() throws {
        let evil = "'); DROP TABLE t; --"
        let sql: SQL = "SELECT \(evil), \(5), \(SQLValue.null), \(2.5), \([UInt8]([1, 2]))"
        #expect(sql.text == "SELECT ?, ?, ?, ?, ?")
        #expect(try db.fetchOne(OwnedRow.self, sql)?.values == [.text(evil), 5, nil, 2.5, .blob(Data([1, 2]))])
    }

    @Test func interpolatedListsExpandToParameters() throws {
        let wanted = [1, 3]
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t WHERE x IN \(wanted) ORDER BY x") == [1, 3])
        let none: [Int] = []
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t WHERE x IN \(none)") == [])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE y NOT IN \([String]()) OR y IS NULL") == 3)
        let many = Array(0..<50_000)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x IN \(many)") == 3)
    }

    /// In your own parentheses or without them, with any number of values, a list is the same.
    @Test func interpolatedListsWorkInParentheses() throws {
        for count in 0...3 {
            let list = Array(1...3).prefix(count).map { $0 }, set = Set(list)
            let forms: [SQL] = [
                "x IN \(list)", "x IN (\(list))", "x in( \(list) )", "x\nIn\n(\n\(list)\n)", "x IN \(set)", "x IN (\(set))", "(x)IN(\(list))",
            ]
            for form in forms {
                #expect(try db.fetchAll(Int.self, "SELECT x FROM t WHERE \(form) ORDER BY x") == list)
                #expect(try db.fetchAll(Int.self, "SELECT x FROM t WHERE NOT (\(form)) ORDER BY x") == [1, 2, 3].filter { !list.contains($0) })
            }
            let excluded: [SQL] = ["x NOT IN \(list)", "x NOT IN (\(list))", "x not in (\(set))"]
            for form in excluded { #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE \(form)") == 3 - count) }
        }
        // Only after the word IN: elsewhere parentheses are what they seem.
        let pair = [1, 2]
        #expect(("FROM a JOIN (\(pair))" as SQL).text == "FROM a JOIN ((?,?))")
        #expect(("SELECT main(\(pair)), é_in(\(pair)), $in(\(pair)), in2(\(pair))" as SQL).text.contains("main((?,?)), é_in((?,?)), $in((?,?)), in2((?,?))"))
        #expect(("(\(pair)) = (x, y)" as SQL).text == "((?,?)) = (x, y)" && ("\(1)(\(pair))" as SQL).text == "?((?,?))")
        #expect(("(\(pair))" as SQL).text == "((?,?))" && ("IN (\(pair))" as SQL).text == "IN (?,?)" && ("in\(pair)" as SQL).text == "in(?,?)")
        #expect(try db.fetchOne(Int.self, "SELECT (\(pair)) = (1, 2)") == 1)
    }

    @Test func identifiersRawTextAndSQLFragmentsInterpolate() throws {
        let name = "a \"quoted\" täble; --"
        try db.execute("CREATE TABLE \(identifier: name)(\(identifier: "select") INT)")
        try db.execute("INSERT INTO \(identifier: name)(\(identifier: "select")) VALUES (\(7))")
        #expect(try db.fetchOne(Int.self, "SELECT \(identifier: "select") FROM \(identifier: name)") == 7)
        #expect("a\"b".quotedSQLIdentifier == "\"a\"\"b\"")
        let direction = "DESC"
        #expect(try db.fetchAll(Int.self, "SELECT x FROM t ORDER BY x \(raw: direction)") == [3, 2, 1])
        let condition: SQL = "x > \(1) AND x < \(3)"
        let whole: SQL = "SELECT x FROM t WHERE \(condition) OR x = \(1) ORDER BY x"
        #expect(whole.text == "SELECT x FROM t WHERE x > ? AND x < ? OR x = ? ORDER BY x")
        #expect(try db.fetchAll(Int.self, whole) == [1, 2])
        #expect(try db.fetchAll(Int.self, SQL(raw: "SELECT x FROM t WHERE x = ?", [2])) == [2])
    }

    private func statistics(_ db: Connection) -> (count: Int, hits: Int, misses: Int) {
        (db.settings.statementCache.count, db.settings.statementCache.hits, db.settings.statementCache.misses)
    }

    @Test func statementCacheCountsHitsAndEvicts() throws {
        db.settings.statementCache.clear()
        let before = statistics(db)
        for i in 0..<10 { _ = try db.fetchOne(Int.self, "SELECT x FROM t WHERE x = \(i)") }
        var now = statistics(db)
        #expect(now.count == 1 && now.misses - before.misses == 1 && now.hits - before.hits == 9)
        db.settings.statementCache.capacity = 3
        for i in 0..<10 { _ = try db.fetchOne(Int.self, SQL(raw: "SELECT \(i)")) }
        now = statistics(db)
        #expect(now.count == 3)
        // The one used last stays, the one not used for the longest time goes.
        _ = try db.fetchOne(Int.self, SQL(raw: "SELECT 7"))
        #expect(db.settings.statementCache.hits == now.hits + 1)
        _ = try db.fetchOne(Int.self, SQL(raw: "SELECT 0"))
        #expect(db.settings.statementCache.hits == now.hits + 1)
        db.settings.statementCache.capacity = 0
        #expect(db.settings.statementCache.count == 0)
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
        #expect(db.settings.statementCache.count == 0)
        db.settings.statementCache.capacity = -5
        #expect(db.settings.statementCache.capacity == 0)
        db.settings.statementCache.capacity = 2
        _ = try db.fetchOne(Int.self, "SELECT 1")
        db.settings.statementCache.clear()
        #expect(db.settings.statementCache.count == 0)
    }

    /// A statement in the cache whose table changes its shape.
    @Test func cachedStatementFollowsSchemaChange() throws {
        #expect(try db.fetchOne(OwnedRow.self, "SELECT * FROM t")?.columnNames == ["x", "y"])
        try db.execute("ALTER TABLE t ADD COLUMN z DEFAULT 9")
        let row = try #require(try db.fetchOne(OwnedRow.self, "SELECT * FROM t"))
        #expect(row.columnNames == ["x", "y", "z"] && row.values == [1, "a", 9])
        try db.execute("DROP TABLE t")
        #expect(throws: DatabaseError.self) { try db.fetchOne(OwnedRow.self, "SELECT * FROM t") }
    }

    /// Literals of any shape, put together from pieces: the text and the values are those of the pieces in order, and the statement
    /// that the cache gives is theirs.
    @Test func randomInterpolationsKeepTextAndValues() throws {
        var generator = SeededGenerator(state: 20)
        for _ in 0..<2000 {
            var literal = SQL.StringInterpolation(literalCapacity: 8, interpolationCount: 2)
            let isPart = Bool.random(using: &generator)
            var text = isPart ? "" : "SELECT ", values: [SQLValue] = []
            literal.appendLiteral(text)
            for column in 0..<Int.random(in: 1...4, using: &generator) {
                if column > 0 {
                    literal.appendLiteral(", ")
                    text += ", "
                }
                for _ in 0..<Int.random(in: 0...2, using: &generator) { literal.appendLiteral("") }
                let value = Int.random(in: 0...3, using: &generator)
                switch Int.random(in: 0..<6, using: &generator) {
                case 0:
                    literal.appendInterpolation(value)
                    text += "?"
                    values.append(.integer(Int64(value)))
                case 1:
                    literal.appendInterpolation(nil as Int?)
                    text += "?"
                    values.append(.null)
                case 2:
                    literal.appendInterpolation(raw: "\(value)")
                    text += "\(value)"
                    values.append(.integer(Int64(value)))
                case 3:
                    literal.appendInterpolation([value])
                    text += "(?)"
                    values.append(.integer(Int64(value)))
                case 4:
                    literal.appendInterpolation("'e\u{301}' || \("é")" as SQL)
                    text += "'e\u{301}' || ?"
                    values.append(.text("e\u{301}é"))
                default:
                    literal.appendLiteral("'é' || ")
                    literal.appendInterpolation("?")
                    literal.appendInterpolation(raw: " || ")
                    literal.appendInterpolation(Data([0x41]))
                    text += "'é' || ? || ?"
                    values.append(.text("é?A"))
                }
            }
            var sql = SQL(stringInterpolation: literal)
            try #require(Array(sql.text.utf8) == Array(text.utf8))
            if isPart { sql = "SELECT \(sql)" }
            try #require(try db.fetchOne(OwnedRow.self, sql)?.values == values)
            sql.text += ", 'more'"
            try #require(try db.fetchOne(OwnedRow.self, sql)?.values == values + ["more"])
        }
        // The same bytes up to the mark that ends the one, and a text of its own in the other.
        #expect(try db.fetchOne(Int.self, "SELECT \(7)") == 7)
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
        #expect(try db.fetchOne(Int.self, "SELECT ?", [8]) == 8)
        #expect(try db.fetchOne(Int.self, "SELECT \(9)") == 9)
    }
}

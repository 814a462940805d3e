import Foundation
import SQLCipherKitCore
import Testing

@Suite struct FetchingTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, size REAL, data BLOB)")
        for (name, size) in [("a", 1.5), ("b", 2.5), ("c", 3.5)] {
            try db.execute("INSERT INTO t(name, size, data) VALUES (\(name), \(size), \(Data([1, 0, 2])))")
        }
    }

    @Test func singleColumnValuesAreFetched() throws {
        #expect(try db.fetchAll(String.self, "SELECT name FROM t ORDER BY id") == ["a", "b", "c"])
        let sizes: [Double] = try db.fetchAll("SELECT size FROM t ORDER BY id DESC")
        #expect(sizes == [3.5, 2.5, 1.5])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3)
        #expect(try db.fetchOne(Int.self, "SELECT id FROM t WHERE name = ?", ["z"]) == nil)
    }

    /// NULL and no row are nil alike, whether or not the type is optional; other values that do not fit are errors.
    @Test func fetchOneReturnsNilForNullAndNoRow() throws {
        let none = try db.fetchOne(Int.self, "SELECT max(id) FROM t WHERE name = 'z'")
        let some = try db.fetchOne(Int.self, "SELECT max(id) FROM t")
        #expect(none == nil && some == 3)
        let optional = try db.fetchOne(Int?.self, "SELECT max(id) FROM t"), flat: Int? = optional
        #expect(flat == 3)
        let missing: Int? = try db.fetchOne(Int?.self, "SELECT id FROM t WHERE name = 'z'")
        let inferred: String? = try db.fetchOne("SELECT NULL")
        #expect(missing == nil && inferred == nil)
        let statement = try db.prepare("SELECT max(id) FROM t WHERE id > ?")
        #expect(try statement.fetchOne(Int.self, [9]) == nil && statement.fetchOne(Int.self, binding: 9) == nil)
        #expect(try statement.fetchOne(Int?.self, [1]) == 3 && statement.fetchOne(Int.self, binding: 1) == 3)
        let two = try db.prepare("SELECT max(id) FROM t WHERE id > ? AND id < ?")
        #expect(try two.fetchOne(Int.self, binding: 1, 2) == nil && two.fetchOne(Int.self, binding: 0, 3) == 2)
        // Whoever has to tell them apart can.
        let null: Int?? = try db.fetchOne(Int?.self, "SELECT NULL"), nothing: Int?? = try db.fetchOne(Int?.self, "SELECT 1 WHERE 0")
        #expect(null == .some(nil) && nothing == nil)
        #expect(try db.fetchOne(SQLValue.self, "SELECT NULL") == .null && db.fetchOne(SQLValue.self, "SELECT 1 WHERE 0") == nil)
        for sql: SQL in ["SELECT 'x'", "SELECT 1.5", "SELECT x'00'"] {
            #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, sql) }
            #expect(throws: DatabaseError.self) { try db.fetchOne(Int?.self, sql) }
        }
        #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT NULL") }
    }

    private struct Named: SQLRowConvertible, Decodable {
        let id: Int
        init(id: Int) { self.id = id }
        init(row: borrowing Row) throws { id = try row["id"] }
    }

    /// Every way to take the first row of a statement that writes.
    private func firstRows(_ sql: SQL) throws -> [() throws -> Void] {
        let (db, statement) = (db, try db.prepare(sql))
        return [
            { _ = try db.fetchOne(Int.self, sql, [0]) }, { _ = try db.fetchOne((Int, Int).self, sql, [0]) },
            { _ = try db.fetchOne(Named.self, sql, [0]) }, { _ = try db.fetchOne(Named.self, sql, [0]) },
            { _ = try statement.fetchOne(Int.self, [0]) }, { _ = try statement.fetchOne((Int, Int).self, [0]) },
            { _ = try statement.fetchOne(Int.self, binding: 0) }, { _ = try statement.fetchOne(Named.self, binding: 0) },
            {
                try statement.bind([0])
                _ = try statement.step()
                try statement.reset()
            },
            {
                try statement.bind([0])
                _ = try statement.step()
                _ = try statement.fetchOne(Int.self, [0])
            },
        ]
    }

    /// SQLite commits such a statement when it ends, which is after its first row.
    @Test func fetchOneOfReturningCommitsAllRows() throws {
        try db.execute("CREATE TABLE child(id INTEGER PRIMARY KEY, t REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
        let sql: SQL = "INSERT INTO child(t) VALUES (1), (99 + coalesce(?, 0)) RETURNING id, t"
        for (number, first) in try firstRows(sql).enumerated() {
            let error = #expect(throws: DatabaseError.self, "\(number)") { try first() }
            #expect(error?.code == .constraintForeignKey, "\(number)")
            #expect(try !db.isInTransaction && db.fetchOne(Int.self, "SELECT count(*) FROM child") == 0, "\(number)")
        }
        #expect(try db.fetchOne(Int.self, "INSERT INTO child(t) VALUES (1), (2) RETURNING id") == 1)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM child") == 2)
    }

    /// An error after the first row undoes what the statement has written.
    @Test func failedFetchOfReturningWritesNothing() throws {
        struct Refusal: Error {}
        struct Refusing: SQLRowConvertible { init(row: borrowing Row) throws { throw Refusal() } }
        let sql: SQL = "INSERT INTO t(name) VALUES ('new'), ('newer') RETURNING name"
        let statement = try db.prepare(sql)
        let uses: [() throws -> Void] = [
            { _ = try db.fetchOne(Int.self, sql) }, { _ = try db.fetchAll(Int.self, sql) },
            { _ = try db.fetchOne(Refusing.self, sql) },
            { _ = try db.fetchAll(Refusing.self, sql) }, { _ = try db.fetchOne((Int, Int).self, sql) },
            { _ = try db.fetchOne(Named.self, sql) }, { try db.forEach(sql) { _ in throw Refusal() } },
            { _ = try statement.fetchAll(Int.self) }, { try statement.forEach { _ in throw Refusal() } },
        ]
        for (number, use) in uses.enumerated() {
            #expect(throws: (any Error).self, "\(number)") { try use() }
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3, "\(number)")
            // And in a transaction that goes on.
            try db.transaction { db in
                try db.execute("INSERT INTO t(name) VALUES ('kept')")
                try? use()
            }
            #expect(try db.fetchAll(String.self, "SELECT name FROM t WHERE id > 3") == ["kept"], "\(number)")
            try db.execute("DELETE FROM t WHERE id > 3")
        }
    }

    @Test func tuplesAreFetched() throws {
        let rows: [(Int, String)] = try db.fetchAll("SELECT id, name FROM t ORDER BY id")
        #expect(rows.map(\.0) == [1, 2, 3] && rows.map(\.1) == ["a", "b", "c"])
        let first = try db.fetchOne((Int, String?, Double).self, "SELECT id, NULL, size FROM t")
        #expect(first?.0 == 1 && first?.1 == nil && first?.2 == 1.5)
    }

    struct Thing: SQLRowConvertible, Equatable {
        var id: Int
        var name: String
        init(row: borrowing Row) throws {
            id = try row["id"]
            name = try row["name"]
        }
    }

    @Test func rowConvertibleRecordsAreFetched() throws {
        let things = try db.fetchAll(Thing.self, "SELECT name, id FROM t ORDER BY id")
        #expect(things.map(\.name) == ["a", "b", "c"] && things.map(\.id) == [1, 2, 3])
        let column = "name"
        var names: [String] = []
        try db.forEach("SELECT * FROM t") { row in names.append(try row[column]) }
        #expect(names == ["a", "b", "c"])
    }

    @Test func cursorClosesAfterLastRow() throws {
        let cursor = try db.cursor(OwnedRow.self, "SELECT * FROM t WHERE id > ?", [1])
        #expect(cursor.columnNames == ["id", "name", "size", "data"])
        #expect(db.hasOpenCursors)
        let row = try #require(try cursor.next())
        let name: String = try row["name"]
        #expect(name == "b")
        #expect(try cursor.next() != nil)
        #expect(try cursor.next() == nil)
        #expect(!cursor.isOpen)
        #expect(!db.hasOpenCursors)
    }
}

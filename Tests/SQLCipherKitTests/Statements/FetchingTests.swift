import Foundation
import SQLCipherKit
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

    @Test func singleValues() throws {
        #expect(try db.fetchAll(String.self, "SELECT name FROM t ORDER BY id") == ["a", "b", "c"])
        let sizes: [Double] = try db.fetchAll("SELECT size FROM t ORDER BY id DESC")
        #expect(sizes == [3.5, 2.5, 1.5])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3)
        #expect(try db.fetchOne(Int.self, "SELECT id FROM t WHERE name = ?", ["z"]) == nil)
        let inner = try db.fetchOne(Int?.self, "SELECT NULL")
        #expect(inner == .some(.none))
    }

    @Test func tuples() throws {
        let rows: [(Int, String)] = try db.fetchAll("SELECT id, name FROM t ORDER BY id")
        #expect(rows.map(\.0) == [1, 2, 3] && rows.map(\.1) == ["a", "b", "c"])
        let first = try db.fetchOne((Int, String?, Double).self, "SELECT id, NULL, size FROM t")
        #expect(first?.0 == 1 && first?.1 == nil && first?.2 == 1.5)
    }

    struct Thing: SQLRow, Equatable {
        var id: Int
        var name: String
        init(row: borrowing Row) throws {
            id = try row["id"]
            name = try row["name"]
        }
    }

    @Test func records() throws {
        let things = try db.fetchAll(Thing.self, "SELECT name, id FROM t ORDER BY id")
        #expect(things.map(\.name) == ["a", "b", "c"] && things.map(\.id) == [1, 2, 3])
        let column = "name"
        var names: [String] = []
        try db.forEach("SELECT * FROM t") { row in names.append(try row[column]) }
        #expect(names == ["a", "b", "c"])
    }

    @Test func cursorsStepAndEnd() throws {
        let cursor = try db.cursor(RowCopy.self, "SELECT * FROM t WHERE id > ?", [1])
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

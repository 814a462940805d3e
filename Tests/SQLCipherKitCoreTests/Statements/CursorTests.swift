import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Cursors and rows: every mistake is an error that names the column.
@Suite struct CursorTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)")
        try db.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')")
    }

    private func expect(_ reason: DatabaseError.Reason, naming name: String, _ body: (borrowing Row) throws -> Void) throws {
        let error = #expect(throws: DatabaseError.self) { try db.forEach("SELECT id, name AS title FROM t WHERE id = 2") { try body($0) } }
        #expect(error?.reason == reason)
        #expect(error?.message.contains(name) == true, "\(String(describing: error))")
        #expect(error?.sql?.contains("AS title") == true)
    }

    @Test func rowColumnsAreReadByIndexAndName() throws {
        try db.forEach("SELECT id, name AS title FROM t WHERE id = 1") { row in
            let id: Int = try row[0], text: String? = try row[1]
            let sameID: Int64 = try row["ID"], sameText = try row.get("title", as: String.self)
            #expect(id == 1 && text == "a" && sameID == 1 && sameText == "a")
            #expect(row.count == 2 && row.columnNames == ["id", "title"])
            let variable = "title"
            let third: String = try row[variable]
            let bytes = try row.withUnsafeBytes(at: 1) { Array($0) }
            let fourth = try row.get(0, as: Int.self)
            #expect(third == "a" && bytes == [0x61] && fourth == 1)
        }
    }

    @Test func columnErrorsNameTheColumn() throws {
        try expect(.unexpectedNull, naming: "title") { row in let _: String = try row[1] }
        try expect(.unexpectedNull, naming: "title") { row in let _: String = try row["title"] }
        try expect(.noSuchColumn, naming: "name") { row in let _: String = try row["name"] }
        try expect(.noSuchColumn, naming: "2") { row in let _: Int = try row[2] }
        try expect(.noSuchColumn, naming: "-1") { row in let _: Int = try row[-1] }
        try expect(.noSuchColumn, naming: "index") { row in let _: Int? = try row[.max] }
        try expect(.typeMismatch, naming: "id") { row in let _: String = try row["id"] }
        try expect(.typeMismatch, naming: "id") { row in let _: Data = try row[0] }
        try expect(.typeMismatch, naming: "id") { row in try row.withUnsafeBytes(at: 0) { _ in } }
        let name = "titel"
        try expect(.noSuchColumn, naming: "titel; there is id, title") { row in let _: Int = try row[name] }
        let text = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT name FROM t") }
        #expect(text?.message.contains("name of t holds text") == true)
    }

    @Test func duplicateColumnNamesReturnTheFirst() throws {
        try db.forEach("SELECT 1 AS a, 2 AS A, 3 AS a, 4 AS b") { row in
            for _ in 0..<3 {
                let lower: Int = try row["a"], upper: Int = try row["A"], last: Int = try row["B"]
                #expect(lower == 1 && upper == 2 && last == 4)
            }
        }
    }

    @Test func tupleWithTooFewColumnsThrows() throws {
        let error = #expect(throws: DatabaseError.self) { let _: [(Int, String, Int)] = try db.fetchAll("SELECT id, 'x' FROM t") }
        #expect(error?.reason == .noSuchColumn)
        // More columns than the tuple are no mistake.
        let rows: [(Int, String?)] = try db.fetchAll("SELECT id, name, 5 FROM t")
        #expect(rows.count == 3)
        #expect(try db.fetchOne(Int.self, "CREATE TABLE u(x)") == nil)
    }

    @Test func openCursorsAreIndependentAndClosable() throws {
        #expect(!db.hasOpenCursors)
        var first: RowCursor<Int>? = try db.cursor(Int.self, "SELECT id FROM t ORDER BY id")
        let second = try db.cursor(OwnedRow.self, "SELECT * FROM t ORDER BY id")
        #expect(try first?.next() == 1)
        #expect(try second.next()?.values == [1, "a"])
        #expect(try first?.next() == 2)
        #expect(db.hasOpenCursors)
        second.close()
        second.close()
        #expect(try second.next() == nil && !second.isOpen)
        first = nil
        #expect(!db.hasOpenCursors)
        let third = try db.cursor(Int.self, "SELECT id FROM t WHERE id > ?", [1])
        #expect(try third.next() == 2)
        #expect(try third.collect() == [3])
        let fourth = try db.cursor(Int.self, "SELECT id FROM t")
        _ = try fourth.next()
        db.closeCursors()
        #expect(!db.hasOpenCursors && !fourth.isOpen)
        let error = #expect(throws: DatabaseError.self) { try fourth.next() }
        #expect(error?.reason == .closed)
    }

    @Test func cursorOfClosedConnectionThrows() throws {
        let cursor = try db.cursor(Int.self, "SELECT id FROM t")
        _ = try cursor.next()
        db.close()
        #expect(#expect(throws: DatabaseError.self) { try cursor.next() }?.reason == .closed)
        #expect(!cursor.isOpen)
    }

    @Test func failedCursorIsClosed() throws {
        let cursor = try db.cursor(Int.self, "SELECT abs(CASE id WHEN 2 THEN -9223372036854775808 ELSE id END) FROM t ORDER BY id")
        #expect(try cursor.next() == 1)
        #expect(throws: DatabaseError.self) { try cursor.next() }
        #expect(!cursor.isOpen && !db.hasOpenCursors)
        struct Picky: SQLRowConvertible {
            init(row: borrowing Row) throws { if try row[0] == 2 { throw CancellationError() } }
        }
        // An error of the element's own leaves the cursor where it is.
        let picky = try db.cursor(Picky.self, "SELECT id FROM t ORDER BY id")
        _ = try picky.next()
        #expect(throws: CancellationError.self) { try picky.next() }
        #expect(try picky.next() != nil)
        #expect(throws: DatabaseError.self) { try db.cursor(Int.self, "SELECT ?") }
    }

    @Test func fetchOneStepsOnlyToFirstRow() throws {
        var calls = 0
        try db.register(.function("counted") { (x: Int) in
            calls += 1
            return x
        })
        #expect(try db.fetchOne(Int.self, "SELECT counted(id) FROM t") == 1)
        #expect(calls == 1)
    }
}

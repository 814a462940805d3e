import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// Rows of SQL, as records and as other types.
@Suite struct ReadingTests {
    private struct Author: SQLRecord, Equatable { var id: Int64, name: String }
    private struct Book: SQLPositionalRecord, Equatable {
        var id: Int64?, title: String, author: Int64?, pages: Int?
        @ColumnDefault var shelf: String?
        static let recordColumns = SQLRecordColumns(
            of: Book.self, ["id": \.id, "title": \.title, "author": \.author, "pages": \.pages, "shelf": \.shelf])
        init(columns: inout SQLColumnReader) throws {
            id = try columns.next()
            title = try columns.next()
            author = try columns.next()
            pages = try columns.next()
            $shelf = try columns.next()
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(title)
            try columns.put(author)
            try columns.put(pages)
            try columns.put($shelf)
        }
    }
    private struct Plain: Decodable, Equatable { var title: String, pages: Int? }

    private let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT, author INTEGER, pages INTEGER, shelf TEXT);
            INSERT INTO author VALUES (1, 'Ada'), (2, 'Bo');
            INSERT INTO book VALUES (10, 'Mill', 1, 5, 's'), (11, 'Bakery', NULL, NULL, NULL);
            """))
    }

    @Test func recordColumnsAreMatchedByName() throws {
        let books = try db.fetchAll(Book.self, "SELECT 'x' AS more, shelf, pages, TITLE, id, author FROM book ORDER BY id")
        #expect(books == (try db.fetchAll(Book.order { $0.id })))
        // An optional property without a column is nil, and a default is not set.
        let some = try db.fetchAll(Book.self, "SELECT title FROM book ORDER BY id")
        #expect(some.map(\.title) == ["Mill", "Bakery"] && some.allSatisfy { $0.id == nil && !$0.$shelf.isSet })
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Book.self, "SELECT id FROM book") }
        #expect(error?.reason == .noSuchColumn && error?.message.contains("title") == true)
        // The same statement for several types.
        let sql: SQL = "SELECT title, pages FROM book ORDER BY id"
        for _ in 0..<3 {
            #expect(try db.fetchAll(Plain.self, sql).map(\.pages) == [5, nil])
            #expect(try db.fetchAll(Book.self, sql).map(\.pages) == [5, nil])
            #expect(try db.fetchAll(String.self, sql) == ["Mill", "Bakery"])
        }
    }

    @Test func plainDecodableTypesReadRows() throws {
        let sql: SQL = "SELECT title, pages FROM book ORDER BY id"
        #expect(try db.fetchAll(Plain.self, sql) == [Plain(title: "Mill", pages: 5), Plain(title: "Bakery", pages: nil)])
        #expect(try db.fetchOne(Plain.self, "SELECT title FROM book WHERE id = ?", [11]) == Plain(title: "Bakery", pages: nil))
        #expect(try db.cursor(Plain.self, sql).collect().count == 2)
        let inferred: [Plain] = try db.fetchAll(sql)
        let one: Plain? = try db.fetchOne(sql)
        #expect(inferred.first == one)
        #expect(try db.prepare(sql).fetchAll(Plain.self).count == 2)
        #expect(try db.prepare(sql).fetchOne(Plain.self) == one)
    }

    private struct Shown: SQLRowConvertible {
        let book: Book, author: Author?, plain: Plain?
        init(row: borrowing Row) throws {
            book = try row.scope("book")
            author = try row.scope("author")
            plain = try row.scope("book", as: Plain?.self)
        }
    }
    private struct Coded: Decodable { var book: Book, author: Author?, n: Int, id: Int64? }

    @Test func rowDecodesIntoSeveralRecords() throws {
        let sql: SQL = """
            SELECT count(*) OVER () AS n, \(columns: Book.self, of: "b", as: "book"), \(columns: Author.self, of: "a", as: "author")
            FROM book AS b LEFT JOIN author AS a ON a.id = b.author ORDER BY b.id
            """
        let shown = try db.fetchAll(Shown.self, sql)
        #expect(shown.map(\.book.id) == [10, 11] && shown.map(\.author?.name) == ["Ada", nil])
        #expect(shown.map(\.plain?.title) == ["Mill", "Bakery"])
        // The row's own columns end where the first part begins: its id is not a part's.
        let coded = try db.fetchAll(Coded.self, sql)
        #expect(coded.map(\.book.id) == [10, 11] && coded.map(\.author) == [Author(id: 1, name: "Ada"), nil])
        #expect(coded.map(\.n) == [2, 2] && coded.map(\.id) == [nil, nil])
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Coded.self, "SELECT 1 AS n, 2 AS id") }
        #expect(error?.reason == .noSuchColumn && error?.message.contains("book") == true)
        try db.forEach(sql) { row in
            let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Shown.self, "SELECT 1") }
            #expect(error?.reason == .noSuchColumn)
            #expect(row.count == 10)
        }
    }

    /// Written by hand, it is how the type is read everywhere.
    private struct Own: SQLRecord, Equatable {
        var id: Int64, name: String
        static let tableName = "author"
        init(row: borrowing Row) throws {
            id = try row["id"]
            name = try row.get("name", as: String.self).uppercased()
        }
    }

    @Test func customRowInitializerIsUsed() throws {
        #expect(try db.fetchAll(Own.self, "SELECT * FROM author").map(\.name) == ["ADA", "BO"])
        #expect(try db.fetchOne(Own.self, id: 1)?.name == "ADA")
        #expect(try db.fetchAll(Own.order { $0.id.descending }).map(\.name) == ["BO", "ADA"])
    }

    @Test func digitTextInSTRINGColumnErrorExplainsAffinity() throws {
        try db.execute("CREATE TABLE place(zip STRING)")
        try db.execute("INSERT INTO place VALUES ('01067')")
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(String.self, "SELECT zip FROM place") }
        #expect(error?.message.contains("STRING") == true && error?.message.contains("TEXT") == true)
    }
}

import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Queries as values: the SQL that they become, and the rows that it finds.
@Suite struct QueryTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.create(Author.table)
        try db.create(Book.table)
        try db.insertAll([
            Author(name: "Eco", country: "IT"), Author(name: "Lem", country: "PL"), Author(name: "Anonymous", country: nil),
        ])
        try db.insertAll([
            Book(title: "Baudolino", author: 1, pages: 521), Book(title: "Solaris", author: 2, pages: 204),
            Book(title: "Fiasco", author: 2, pages: 322), Book(title: "100% true_", author: nil, pages: 10),
        ])
    }

    /// The condition's SQL, without the table's name, and the titles that it finds.
    private func find(_ condition: (SQLColumns<Book>) -> SQLPredicate) throws -> (sql: String, titles: [String]) {
        let query = Book.filter(condition)
        let prefix = #"SELECT "book"."id", "book"."title", "book"."author", "book"."pages" FROM "book" WHERE "#
        let text = try db.text(query)
        #expect(text.hasPrefix(prefix))
        return (String(text.dropFirst(prefix.count)).replacing(#""book"."#, with: ""), try db.fetchAll(query.order { $0.id }).map(\.title))
    }

    private func names(_ condition: (SQLColumns<Author>) -> SQLPredicate) throws -> [String] {
        try db.fetchAll(Author.filter(condition).order { $0.id }).map(\.name)
    }

    @Test func comparisonOperatorsBecomeSQL() throws {
        #expect(try find { $0.pages == 204 } == (#""pages" = ?"#, ["Solaris"]))
        #expect(try find { $0.pages != 204 }.titles.count == 3)
        #expect(try find { $0.pages < 204 } == (#""pages" < ?"#, ["100% true_"]))
        #expect(try find { $0.pages <= 204 } == (#""pages" <= ?"#, ["Solaris", "100% true_"]))
        #expect(try find { $0.pages > 322 } == (#""pages" > ?"#, ["Baudolino"]))
        #expect(try find { $0.pages >= 322 } == (#""pages" >= ?"#, ["Baudolino", "Fiasco"]))
        #expect(try find { $0.pages.between(204, and: 322) } == (#""pages" BETWEEN ? AND ?"#, ["Solaris", "Fiasco"]))
        #expect(try find { $0.pages.in(10...204) } == (#""pages" BETWEEN ? AND ?"#, ["Solaris", "100% true_"]))
        #expect(try find { $0.title == "x' OR 1 --" } == (#""title" = ?"#, []))
    }

    @Test func nilComparisonsFollowSwift() throws {
        #expect(try find { $0.author == nil } == (#""author" IS NULL"#, ["100% true_"]))
        #expect(try find { $0.author != nil } == (#""author" IS NOT NULL"#, ["Baudolino", "Solaris", "Fiasco"]))
        #expect(try find { $0.author != 2 } == (#""author" IS NOT ?"#, ["Baudolino", "100% true_"]))
        #expect(try find { $0.author.isNull }.titles == ["100% true_"])
        #expect(try find { $0.author.isNotNull }.titles.count == 3)
        let noAuthor: Int64? = nil
        #expect(try find { $0.author == noAuthor }.titles == ["100% true_"])
        #expect(try find { $0.author.in([1, nil]) } == (#""author" IN (?) OR "author" IS NULL"#, ["Baudolino", "100% true_"]))
        #expect(try find { !$0.author.in([1, nil]) }.titles == ["Solaris", "Fiasco"])
    }

    @Test func inListsAndSubqueriesBecomeSQL() throws {
        #expect(try find { $0.pages.in([204, 10]) } == (#""pages" IN (?,?)"#, ["Solaris", "100% true_"]))
        #expect(try find { $0.pages.in([]) }.titles == [])
        #expect(try find { !$0.pages.in([]) }.titles.count == 4)
        let italians = Author.filter { $0.country == "IT" }.select { $0.id }
        #expect(try find { $0.author.in(italians) }.titles == ["Baudolino"])
        let foreign = Author.filter { $0.country != "IT" }.select { $0.country ?? "" }
        #expect(try find { $0.title.in(foreign) } == (
            #""title" IN (SELECT coalesce("author"."country", ?) FROM "author" WHERE "author"."country" IS NOT ?)"#, []))
    }

    @Test func likePatternsQuoteWildcards() throws {
        #expect(try find { $0.title.like("%o") } == (#""title" LIKE ?"#, ["Baudolino", "Fiasco"]))
        #expect(try find { $0.title.like(.contains("100%")) } == (#""title" LIKE ? ESCAPE '\'"#, ["100% true_"]))
        #expect(try find { $0.title.like(.hasSuffix("_")) }.titles == ["100% true_"])
        #expect(try find { $0.title.like(.hasPrefix("sol")) }.titles == ["Solaris"])
    }

    @Test func combinedConditionsAreParenthesized() throws {
        #expect(try find { $0.pages > 10 && $0.pages < 500 && $0.author == 2 }.sql == #""pages" > ? AND "pages" < ? AND "author" = ?"#)
        #expect(try find { $0.pages == 10 || $0.pages == 204 || $0.pages == 322 }.sql == #""pages" = ? OR "pages" = ? OR "pages" = ?"#)
        #expect(try find { ($0.pages == 10 || $0.pages == 204) && $0.author == 2 } == (
            #"("pages" = ? OR "pages" = ?) AND "author" = ?"#, ["Solaris"]))
        #expect(try find { $0.pages == 10 || $0.pages == 204 && $0.author == 2 } == (
            #""pages" = ? OR ("pages" = ? AND "author" = ?)"#, ["Solaris", "100% true_"]))
        #expect(try find { !($0.pages == 10 || $0.pages == 204) } == (#""pages" <> ? AND "pages" <> ?"#, ["Baudolino", "Fiasco"]))
        #expect(try find { !($0.pages == 10) && $0.pages < 500 }.titles == ["Solaris", "Fiasco"])
        // Several calls mean all of them.
        let twice = Book.filter { $0.pages == 10 || $0.pages == 204 }.filter { $0.author == 2 }
        #expect(try db.fetchAll(twice).map(\.title) == ["Solaris"])
    }

    @Test func customSQLIsParenthesizedInConditions() throws {
        let odd = 1
        #expect(try find { SQLPredicate("\($0.pages) % 2 = \(odd)") } == (#""pages" % 2 = ?"#, ["Baudolino"]))
        #expect(try find { SQLPredicate("\($0.pages) = 10 OR \($0.pages) = 204") && $0.author == 2 } == (
            #"("pages" = 10 OR "pages" = 204) AND "author" = ?"#, ["Solaris"]))
        #expect(try find { SQLExpression<Int>("length(\($0.title))") > 9 } == (#"(length("title")) > ?"#, ["100% true_"]))
        #expect(try find { SQLPredicate("\($0.pages == 10) IS TRUE") }.titles == ["100% true_"])
    }

    @Test func columnAndRowValueComparisonsBecomeSQL() throws {
        let solaris: (Int64?, Int) = (2, 204)
        #expect(try find { $0.pages == $0.id.typed(Int.self) } == (#""pages" = "id""#, []))
        #expect(try find { $0.id < $0.author } == (#""id" < "author""#, []))
        #expect(try find { $0.id == $0.author } == (#""id" IS "author""#, ["Baudolino", "Solaris"]))
        #expect(try find { SQLRowValue($0.author, $0.pages) > solaris } == (#"("author", "pages") > (?, ?)"#, ["Fiasco"]))
        #expect(try find { SQLRowValue($0.author, $0.pages) == solaris }.titles == ["Solaris"])
        #expect(try find { SQLRowValue($0.author, $0.pages).in([solaris, (1, 521)]) } == (
            #"("author", "pages") IN (VALUES (?, ?), (?, ?))"#, ["Baudolino", "Solaris"]))
        #expect(try find { SQLRowValue($0.author, $0.pages).in([]) }.titles == [])
    }

    @Test func orderLimitAndOffsetBecomeSQL() throws {
        let query = Book.order { $0.author.descending.nullsLast; $0.title }.limit(2, offset: 1)
        #expect(try db.text(query).hasSuffix(#"ORDER BY "book"."author" DESC NULLS LAST, "book"."title" LIMIT ? OFFSET ?"#))
        #expect(try db.fetchAll(query).map(\.title) == ["Solaris", "Baudolino"])
        #expect(try db.fetchAll(Book.order { $0.title.collate("NOCASE") }.offset(3)).map(\.title) == ["Solaris"])
        #expect(try db.fetchOne(Book.order { $0.pages.descending })?.title == "Baudolino")
        #expect(try db.fetchAll(Book.all.limit(0)).isEmpty)
        for query in [Book.all.limit(-1), Book.all.offset(-1)] {
            let error = #expect(throws: DatabaseError.self) { try db.fetchAll(query) }
            #expect(error?.reason == .invalidArgument)
        }
        let cursor = try db.cursor(Book.order { $0.id })
        #expect(try cursor.next()?.title == "Baudolino")
        #expect(try cursor.collect().count == 3)
    }

    @Test func countsAndAggregatesReturnTheirValues() throws {
        #expect(try db.count(Book.all) == 4)
        #expect(try db.count(Book.filter { $0.author == 2 }) == 2)
        #expect(try db.count(Book.all.limit(3)) == 3)
        #expect(try db.count(Book.all.group { $0.author }) == 3)
        #expect(try db.count(Book.all.distinct()) == 4)
        #expect(try db.exists(Book.filter { $0.pages > 500 }))
        #expect(try !db.exists(Book.filter { $0.pages > 1000 }))
        let all = try db.fetchOne(Book.all.select { (.countAll, $0.author.count(), $0.author.countDistinct(), $0.pages.min(), $0.pages.max()) })
        let (rows, authors, different, least, most) = try #require(all)
        #expect((rows, authors, different) == (4, 3, 2))
        #expect(least == 10 && most == 521)
        let sums = try #require(try db.fetchOne(Book.filter { $0.author == 2 }.select { ($0.pages.sum(), $0.pages.total(), $0.pages.average()) }))
        #expect(sums.0 == 526 && sums.1 == 526 && sums.2 == 263)
        let none = try #require(try db.fetchOne(Book.filter { $0.id == 99 }.select { ($0.pages.sum(), $0.author.max(), $0.pages.average()) }))
        #expect(none.0 == nil && none.1 == nil && none.2 == nil)
        let perAuthor: [(Int64?, Int)] = try db.fetchAll(
            Book.all.group { $0.author }.having { _ in SQLExpression<Int>.countAll > 1 }.select { ($0.author, .countAll) })
        #expect(perAuthor.map(\.0) == [2] && perAuthor.map(\.1) == [2])
        #expect(try db.fetchAll(Book.all.select { $0.author }.distinct()).count == 3)
        #expect(try db.fetchAll(Book.order { $0.id }.select { $0.author }) == [1, 2, 2, nil])
    }

    @Test func existsSubqueriesFilterRows() throws {
        #expect(try names { author in Book.filter { $0.author == author.id }.exists } == ["Eco", "Lem"])
        #expect(try names { author in !Book.filter { $0.author == author.id }.exists } == ["Anonymous"])
        #expect(try names { author in Author.all.aliased("other").filter { $0.id == author.id && $0.name == "Lem" }.exists } == ["Lem"])
        #expect(try names { author in SQLPredicate("NOT \(Book.filter { $0.author == author.id }.exists)") } == ["Anonymous"])
    }

    @Test func updateAllAndDeleteAllReturnRowCounts() throws {
        #expect(try db.updateAll(Book.filter { $0.author == 2 }) { book, set in
            set(\.pages, to: SQLExpression("\(book.pages) + 1"))
            set(\.title, to: "Lem")
        } == 2)
        #expect(try db.fetchAll(Book.filter { $0.title == "Lem" }.order { $0.id }.select { $0.pages }) == [205, 323])
        #expect(try db.updateAll(Book.order { $0.id }.limit(1)) { _, set in set(\.author, to: nil) } == 1)
        #expect(try db.count(Book.filter { $0.author == nil }) == 2)
        #expect(try db.deleteAll(Book.filter { $0.title == "Lem" }) == 2)
        #expect(try db.deleteAll(Book.order { $0.id.descending }.limit(1)) == 1)
        #expect(try db.fetchAll(Book.all.select { $0.title }) == ["Baudolino"])
        #expect(try db.deleteAll(Book.all) == 1)
        #expect(throws: DatabaseError.self) { try db.deleteAll(Book.all.distinct()) }
        let error = #expect(throws: DatabaseError.self) { try db.updateAll(Book.all) { _, _ in } }
        #expect(error?.reason == .misuse)
    }

    struct Shy: SQLRecord {
        var id: Int64?
        var observed = 0 { didSet {} }
        var shout: String { "\(observed)!" }
        static let tableName = "author"
    }

    struct Described: SQLRecord {
        var id: Int64?
        var name = "" { didSet {} }
        static let tableName = "author"
        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey()
            $0.name.named("name")
        }
    }

    @Test func queryOfPropertyWithoutColumnThrows() throws {
        let unknown = Shy.filter { $0.shout == "0!" }
        let error = #expect(throws: DatabaseError.self) { try db.count(unknown) }
        #expect(error?.reason == .invalidArgument && error?.message.contains("Shy") == true)
        #expect(throws: DatabaseError.self) { try db.count(Shy.filter { $0.observed == 0 }) }
        let update = #expect(throws: DatabaseError.self) { try db.updateAll(Shy.all) { _, set in set(\.observed, to: 1) } }
        #expect(update?.reason == .invalidArgument)
        // With a description it is a column as any other.
        #expect(try db.count(Described.filter { $0.name == "Lem" }) == 1)
    }

    @Test func tableNamesAreQuoted() throws {
        struct Quoted: SQLRecord {
            var id: Int64?
            static let tableName = "a \"b\""
        }
        try db.execute("CREATE TABLE \"a \"\"b\"\"\"(id INTEGER PRIMARY KEY)")
        try db.insert(Quoted())
        #expect(try db.count(Quoted.filter { $0.id == 1 }) == 1)
        #expect(Note.tableName == "note" && Book.table.name == "book")
    }
}

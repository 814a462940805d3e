import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Joins of two and three tables.
@Suite struct JoinTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        for table in [Author.table, Book.table, Review.table] { try db.create(table) }
        try db.insertAll([Author(name: "Eco", country: "IT"), Author(name: "Lem", country: "PL"), Author(name: "Anon", country: nil)])
        try db.insertAll([
            Book(title: "Baudolino", author: 1), Book(title: "Solaris", author: 2), Book(title: "Fiasco", author: 2),
            Book(title: "Edda", author: nil),
        ])
        try db.insertAll([Review(book: 2, stars: 5), Review(book: 2, stars: 4), Review(book: 4, stars: 3)])
    }

    private let columns = #"SELECT "author"."id", "author"."name", "author"."country", NULL AS "sqlcipherkit_next", "book"."id", "book"."title", "book"."author", "book"."pages" FROM "author""#

    @Test func innerJoinReturnsMatchingPairs() throws {
        let query = Author.join(Book.self).order { $1.id }
        #expect(try db.text(query) == columns + #" JOIN "book" ON "author"."id" = "book"."author" ORDER BY "book"."id""#)
        let pairs = try db.fetchAll(query)
        #expect(pairs.map { "\($0.0.name) \($0.1.title)" } == ["Eco Baudolino", "Lem Solaris", "Lem Fiasco"])
        #expect(pairs.map(\.0.id) == [1, 2, 2] && pairs.map(\.1.id) == [1, 2, 3])
        // From the other side as well.
        #expect(try db.fetchAll(Book.join(Author.self).order { book, _ in book.id }).map { $0.1.name } == ["Eco", "Lem", "Lem"])
        #expect(try db.count(query) == 3)
        #expect(try db.exists(query.filter { $1.title == "Solaris" && $0.country == "PL" }))
    }

    @Test func outerJoinsReturnNilForMissingSides() throws {
        let left = try db.fetchAll(Author.leftJoin(Book.self).order { $0.id; $1.id })
        #expect(left.map { "\($0.0.name) \($0.1?.title ?? "-")" } == ["Eco Baudolino", "Lem Solaris", "Lem Fiasco", "Anon -"])
        #expect(try db.text(Author.leftJoin(Book.self)) == columns + #" LEFT JOIN "book" ON "author"."id" = "book"."author""#)
        let right = try db.fetchAll(Author.all.rightJoin(Book.self).order { $1.id })
        #expect(right.map { "\($0.0?.name ?? "-") \($0.1.title)" } == ["Eco Baudolino", "Lem Solaris", "Lem Fiasco", "- Edda"])
        let full = try db.fetchAll(Author.all.fullJoin(Book.self).order { $0.id.ascending.nullsLast; $1.id })
        #expect(full.map { "\($0.0?.name ?? "-") \($0.1?.title ?? "-")" } == [
            "Eco Baudolino", "Lem Solaris", "Lem Fiasco", "Anon -", "- Edda",
        ])
        let lonely = Author.leftJoin(Book.self).filter { $1.id.isNull }
        #expect(try db.fetchAll(lonely).map(\.0.name) == ["Anon"])
        let values = try db.fetchAll(Author.leftJoin(Book.self).order { author, _ in author.id.descending }.limit(1).select { ($0.name, $1.title, $1.author) })
        #expect(values.map(\.0) == ["Anon"] && values.map(\.1) == [nil] && values.map(\.2) == [nil])
    }

    @Test func crossJoinReturnsAllPairs() throws {
        #expect(try db.count(Author.all.crossJoin(Book.self)) == 12)
        #expect(try db.fetchAll(Author.all.crossJoin(Book.self)).count == 12)
    }

    @Test func threeTableJoinFollowsForeignKeys() throws {
        let query = Author.join(Book.self).leftJoin(Review.self).order { $1.id; $2.id }
        #expect(try db.text(query).hasSuffix(
            #"FROM "author" JOIN "book" ON "author"."id" = "book"."author" LEFT JOIN "review" ON "book"."id" = "review"."book" ORDER BY "book"."id", "review"."id""#))
        #expect(try db.fetchAll(query).map { "\($0.0.name) \($0.1.title) \($0.2?.stars ?? 0)" } == [
            "Eco Baudolino 0", "Lem Solaris 5", "Lem Solaris 4", "Lem Fiasco 0",
        ])
        let outer = try db.fetchAll(Author.leftJoin(Book.self).fullJoin(Review.self).order { $0.id.ascending.nullsLast; $1.id; $2.id })
        #expect(outer.map { "\($0.0?.name ?? "-") \($0.1?.title ?? "-") \($0.2?.stars ?? 0)" } == [
            "Eco Baudolino 0", "Lem Solaris 5", "Lem Solaris 4", "Lem Fiasco 0", "Anon - 0", "- - 3",
        ])
        let rating: [(String, Double?)] = try db.fetchAll(
            Book.join(Review.self).join(Author.self).group { $2.id }.select { ($2.name, $1.stars.average()) })
        #expect(rating.map(\.0) == ["Lem"] && rating.map(\.1) == [4.5])
    }

    @Test func joinConditionReplacesForeignKey() throws {
        let query = Author.join(Book.self) { author, book in author.id == book.author && book.title == "Fiasco" }
        #expect(try db.text(query) == columns + #" JOIN "book" ON "author"."id" IS "book"."author" AND "book"."title" = ?"#)
        #expect(try db.fetchAll(query).map(\.0.name) == ["Lem"])
        // Values of the condition stand before values of the filter.
        let both = Author.leftJoin(Book.self) { $0.id == $1.author && $1.title == "Fiasco" }.filter { author, _ in author.name == "Lem" }
        #expect(try db.fetchAll(both).map { $0.1?.title } == ["Fiasco"])
    }

    struct Folder: SQLRecord {
        var id: Int64?
        var name: String
        var parent: Int64?
        static let table = SQLTable(of: Folder.self) {
            $0.id.primaryKey()
            $0.name
            $0.parent.references(Folder.self)
        }
    }

    @Test func selfJoinGetsAnAlias() throws {
        try db.create(Folder.table)
        try db.insertAll([Folder(name: "root"), Folder(name: "a", parent: 1), Folder(name: "b", parent: 2)])
        let query = Folder.leftJoin(Folder.self) { child, parent in child.parent == parent.id }.order { child, _ in child.id }
        #expect(try db.text(query).contains(#"FROM "folder" LEFT JOIN "folder" AS "folder_2" ON "folder"."parent" IS "folder_2"."id""#))
        #expect(try db.fetchAll(query).map { "\($0.0.name) \($0.1?.name ?? "-")" } == ["root -", "a root", "b a"])
        let children = Folder.filter { folder in Folder.all.aliased("child").filter { $0.parent == folder.id }.exists }
        #expect(try db.fetchAll(children).map(\.name) == ["root", "a"])
    }

    struct Letter: SQLRecord {
        var id: Int64?
        var sender: Int64
        var receiver: Int64
        static let table = SQLTable(of: Letter.self) {
            $0.id.primaryKey()
            $0.sender.references(Author.self)
            $0.receiver.references(Author.self)
        }
    }

    @Test func joinWithoutOneForeignKeyThrows() throws {
        try db.create(Letter.table)
        let several = #expect(throws: DatabaseError.self) { try db.fetchAll(Author.join(Letter.self)) }
        #expect(several?.reason == .misuse)
        #expect(several?.message == """
            several foreign keys link letter with author: name the columns (letter(sender) to author; letter(receiver) to author)
            """)
        let none = #expect(throws: DatabaseError.self) { try db.fetchAll(Author.leftJoin(Review.self)) }
        #expect(none?.message == "no foreign key links review with author: name the columns to join on")
        #expect(throws: DatabaseError.self) { try db.count(Author.all.fullJoin(Review.self)) }
        // Inside of another query as well.
        #expect(throws: DatabaseError.self) { try db.count(Book.filter { _ in Author.join(Review.self).exists }) }
        #expect(try db.count(Author.join(Letter.self) { $0.id == $1.sender }) == 0)
    }

    // Without descriptions the keys come from the database.
    struct Maker: SQLRecord {
        var code: String
        var land: String
        var name: String
    }

    struct Ware: SQLRecord {
        var id: Int64?
        var makerLand: String?
        var makerCode: String?
    }

    @Test func joinUsesCompositeForeignKeyOfUndescribedTable() throws {
        try db.execute("CREATE TABLE maker(code TEXT, land TEXT, name TEXT, PRIMARY KEY(land, code))")
        try db.execute(
            """
            CREATE TABLE ware(id INTEGER PRIMARY KEY, makerLand TEXT, makerCode TEXT,
                FOREIGN KEY(makerLand, makerCode) REFERENCES maker)
            """)
        try db.insertAll([Maker(code: "x", land: "IT", name: "Olivetti"), Maker(code: "x", land: "PL", name: "Elwro")])
        try db.insertAll([Ware(makerLand: "PL", makerCode: "x"), Ware()])
        let query = Ware.leftJoin(Maker.self).order { ware, _ in ware.id }
        #expect(try db.text(query) == """
            SELECT "ware".*, NULL AS "sqlcipherkit_next", "maker".* FROM "ware" LEFT JOIN "maker" \
            ON "maker"."land" = "ware"."makerLand" AND "maker"."code" = "ware"."makerCode" ORDER BY "ware"."id"
            """)
        #expect(try db.fetchAll(query).map { $0.1?.name } == ["Elwro", nil])
        // A column that comes later changes nothing.
        try db.execute("ALTER TABLE ware ADD COLUMN extra TEXT")
        #expect(try db.fetchAll(query).map { $0.1?.name } == ["Elwro", nil])
        #expect(try db.fetchOne(query)?.1?.land == "PL")
        let cursor = try db.cursor(query)
        #expect(try cursor.next()?.1?.code == "x")
    }
}

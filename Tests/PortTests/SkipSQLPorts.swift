import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A program for each row of the article "From SkipSQL".
@Suite struct SkipSQLPorts {
    static let programs: [Port] = Port.list(Self.init, [
        "K1": k1, "K2": k2, "K3": k3, "K4": k4, "K5": k5, "K6": k6, "K7": k7, "K8": k8, "K9": k9, "K10": k10,
        "K11": k11, "K12": k12, "K13": k13, "K14": k14, "K15": k15, "K16": k16, "K17": k17, "K18": k18,
        "K19": k19, "K20": k20, "K21": k21, "K22": k22, "K23": k23, "K24": k24, "K25": k25, "K26": k26,
        "K27": k27, "K28": k28, "K29": k29, "K30": k30, "K31": k31, "K32": k32, "K33": k33, "K34": k34,
        "K35": k35, "K36": k36, "K37": k37, "X1": x1, "X2": x2, "X3": x3, "X4": x4, "X5": x5, "X6": x6,
        "X7": x7, "X8": x8, "X9": x9, "X10": x10, "X11": x11, "X12": x12, "X13": x13, "X14": x14, "X15": x15,
        "X16": x16, "X17": x17, "X19": x19, "X20": x20,
    ], async: [
        "X18": x18,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws {
        desk = try ExampleDesk()
        try db.create(Author.table)
        try db.create(Book.table)
        try db.insertAll([Author(name: "Lem", born: 1921), Author(name: "Eco", born: 1932), Author(name: "Anon")])
        try db.insertAll([
            Book(title: "Solaris", author: 1, pages: 204), Book(title: "Fiasco", author: 1, pages: 322),
            Book(title: "Baudolino", author: 2, pages: 513), Book(title: "Edda"),
        ])
    }

    struct Author: SQLRecord, Equatable {
        var id: Int64?
        var name: String
        var born: Int?
        static let table = SQLTable(of: Author.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.name.unique()
            $0.born.check("born > 0")
        }
    }

    struct Book: SQLRecord, Equatable {
        var id: Int64?
        var title: String
        var author: Int64?
        var pages: Int?
        static let table = SQLTable(of: Book.self) {
            $0.id.primaryKey()
            $0.title
            $0.author.references(Author.self, onDelete: .cascade, onUpdate: .cascade)
            $0.pages
            SQLIndex("book_title_author", on: [$0.title, $0.author], isUnique: true)
        }
    }

    /// A key that is not optional, as SkipSQL's documentation has it, and columns in capitals.
    struct Visit: SQLRecord, Equatable {
        var id: Int64 = 0
        var leftAt: Date?
        static let tableName = "VISIT"
        static let table = SQLTable(of: Visit.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.leftAt
        }
        enum CodingKeys: String, CodingKey { case id = "ID", leftAt = "LEFT_AT" }
    }

    struct Loan: SQLRecord, Equatable {
        var reader: Int64, book: Int64, days: Int
        static let table = SQLTable(of: Loan.self, options: .withoutRowID) {
            $0.reader
            $0.book
            $0.days
            SQLConstraint.primaryKey($0.reader, $0.book)
        }
    }

    // MARK: Contexts and statements

    /// K1 opening a path, with flags
    func k1() throws {
        let context = try desk.open { $0.access = .readWrite }
        #expect(context.isOpen)
    }

    /// K2 in memory
    func k2() throws { #expect(try Connection(.memory).fetchOne(Int.self, "SELECT 1 + 1") == 2) }

    /// K3 the key
    func k3() throws {
        #expect(desk.reason { _ = try Connection(.file(desk.path), key: .passphrase("wrong").quick) } == .wrongKeyOrNotADatabase)
    }

    /// K4 exporting with another key
    func k4() throws {
        try db.main.backup(toFileAt: desk.file("copy.db"), key: .passphrase("battery staple").quick)
        let copy = try Connection(.file(desk.file("copy.db")), key: .passphrase("battery staple").quick)
        #expect(try copy.count(Book.all) == 4)
    }

    /// K5 executing
    func k5() throws {
        try db.execute("UPDATE author SET born = ? WHERE name = ?", [1920, "Lem"])
        #expect(db.changes == 1)
    }

    /// K6 selecting all
    func k6() throws {
        let rows = try db.fetchAll(RowCopy.self, "SELECT name, born FROM author ORDER BY id")
        #expect(rows.map { $0.dictionary["born"] } == [1921, 1932, .null])
    }

    /// K7 a cursor
    func k7() throws {
        let names = try db.cursor(String.self, "SELECT name FROM author ORDER BY id")
        #expect(try names.next() == "Lem" && names.next() == "Eco" && names.next() == "Anon" && names.next() == nil)
    }

    /// K8 a transaction
    func k8() throws {
        struct Odd: Error {}
        #expect(throws: Odd.self) {
            try db.transaction { db in
                try db.execute("DELETE FROM book")
                throw Odd()
            }
        }
        #expect(try db.transaction { try $0.count(Book.all) } == 4)
    }

    /// K9 the wrong number of values
    func k9() throws {
        #expect(desk.reason { try db.execute("DELETE FROM book WHERE id = ?") } == .parameters)
    }

    /// K10 a prepared statement
    func k10() throws {
        let insert = try db.prepare("INSERT INTO author(name) VALUES (?)")
        for name in ["a", "b"] { try insert.execute([name]) }
        #expect(try db.count(Author.all) == 5)
    }

    /// K11 the schema's number
    func k11() throws {
        #expect(try db.main.setUserVersion(2) == 2 && db.main.userVersion == 2)
    }

    /// K12 migrations that were counted by hand
    func k12() throws {
        try db.main.setUserVersion(1)
        var migrator = Migrator()
        migrator.add("books") { db in try db.create(Book.table) }
        migrator.add("shelves") { db in try db.execute("CREATE TABLE shelf(id INTEGER PRIMARY KEY)") }
        migrator.adopt(userVersions: [1: "books", 2: "shelves"])
        #expect(try migrator.migrate(db) == ["shelves"])
    }

    /// K13 values without a Swift type
    func k13() throws {
        let values = try db.fetchAll(SQLValue.self, "SELECT born FROM author ORDER BY id")
        #expect(values == [.integer(1921), .integer(1932), .null])
    }

    // MARK: Records

    /// K14 creating a table
    func k14() throws {
        #expect(try Author.table.creation().map(\.text) == [
            #"CREATE TABLE "author"("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL UNIQUE, "born" INTEGER CHECK (born > 0))"#
        ])
    }

    /// K15 zero as a new key
    func k15() throws {
        try db.create(Visit.table)
        var a = Visit(), b = Visit()
        try db.save(&a)
        try db.save(&b)
        #expect(a.id == 1 && b.id == 2)
        #expect(try db.count(Visit.all) == 2)
    }

    /// K16 the engine
    func k16() throws {
        #expect(SQLCipherEngine.supports(.fts5) && SQLCipherEngine.sqliteVersion.hasPrefix("3."))
        #expect(SQLCipherEngine.compileOptions.contains("HAS_CODEC") && !SQLCipherEngine.sourceID.isEmpty)
    }

    /// K17 what a statement says of itself
    func k17() throws {
        let statement = try db.prepare("SELECT name FROM author WHERE id = :id")
        #expect(statement.columnNames == ["name"] && statement.parameterNames == [":id"] && statement.isReadOnly)
    }

    /// K18 inserting
    func k18() throws {
        var author = Author(name: "Poe")
        try db.insert(&author)
        #expect(author.id == 4)
    }

    /// K19 fetching by key
    func k19() throws {
        #expect(try db.fetchOne(Author.self, id: 2)?.name == "Eco" && db.exists(Author.self, id: 9) == false)
    }

    /// K20 attaching
    func k20() throws {
        let archive = try db.attach(.file(desk.file("archive.db")), as: "archive", key: desk.key)
        try archive.create(Author.table)
        try archive.create(Book.table)
        try db.execute("INSERT INTO archive.author SELECT * FROM main.author")
        try db.execute("INSERT INTO archive.book SELECT * FROM main.book")
        #expect(try db.count(Book.all.in(archive)) == 4)
        try archive.detach()
    }

    /// K21 updating
    func k21() throws {
        var book = try #require(try db.fetchOne(Book.self, id: 1))
        book.pages = 205
        try db.update(book)
        #expect(try db.fetchOne(Book.self, id: 1) == book)
    }

    /// K22 deleting
    func k22() throws {
        #expect(try db.delete(Book.self, id: 1))
        #expect(try db.deleteAll(Book.filter { $0.pages > 400 }) == 1)
    }

    /// K23 a query with a condition
    func k23() throws {
        #expect(try db.fetchAll(Book.filter { $0.pages > 300 }.order { $0.id }).map(\.title) == ["Fiasco", "Baudolino"])
    }

    /// K24 order and limit
    func k24() throws {
        let longest = Book.all.order { $0.pages.descending }.limit(1, offset: 1)
        #expect(try db.fetchOne(longest)?.title == "Fiasco")
    }

    /// K25 dates
    func k25() throws {
        let context = try desk.open { $0.values = .skipSQL }
        try context.create(Visit.table)
        try context.insert(Visit(leftAt: Date(timeIntervalSince1970: 1_795_249_800.25)))
        #expect(try context.fetchOne(Double.self, "SELECT LEFT_AT FROM VISIT") == 1_795_249_800.25)
    }

    /// K26 UUIDs
    func k26() throws {
        let context = try desk.open { $0.values = .skipSQL }, id = UUID()
        #expect(try context.fetchOne(String.self, "SELECT \(id)") == id.uuidString)
    }

    /// K27 counting
    func k27() throws {
        #expect(try db.count(Book.filter { $0.author == 1 }) == 2 && db.exists(Book.filter { $0.title == "Edda" }))
    }

    /// K28 sums and groups
    func k28() throws {
        let pages: [(Int64?, Int?)] = try db.fetchAll(
            Book.all.filter { $0.author != nil }.group { $0.author }.order { $0.author }.select { ($0.author, $0.pages.sum()) })
        #expect(pages.map(\.1) == [526, 513])
    }

    /// K29 JSON
    func k29() throws {
        let json: JSONValue = ["tags": ["sf", "moon"]]
        #expect(try db.fetchAll(String.self, "SELECT value FROM json_each(\(json), \(JSONPath("tags")))") == ["sf", "moon"])
    }

    /// K30 blobs
    func k30() throws {
        try db.execute("CREATE TABLE picture(data BLOB)")
        try db.execute("INSERT INTO picture VALUES (\(Data([0, 255, 0])))")
        #expect(try db.fetchOne(Data.self, "SELECT data FROM picture") == Data([0, 255, 0]))
    }

    /// K31 full-text search
    func k31() throws {
        try db.create(FTS5Table("book_fts", columns: ["title"], content: .external(table: "book")))
        #expect(try db.fullText("book_fts").search("solaris").hits.map(\.rowID) == [1])
    }

    /// K32 a query's plan
    func k32() throws {
        let plan = try db.fetchAll(RowCopy.self, "EXPLAIN QUERY PLAN SELECT * FROM book WHERE title = 'Edda'")
        #expect("\(plan)".contains("book_title_author"))
    }

    /// K33 encrypting a file and decrypting it
    func k33() throws {
        try Connection(.file(desk.file("a.db"))).execute("CREATE TABLE a(x)")
        try DatabaseConverter.encrypt(fileAt: desk.file("a.db"), key: desk.key)
        try DatabaseConverter.decrypt(fileAt: desk.file("a.db"), key: desk.key)
        #expect(try Connection(.file(desk.file("a.db"))).main.hasTable("a"))
    }

    /// K34 settings of the cipher
    func k34() throws {
        var cipher = CipherConfiguration()
        (cipher.pageSize, cipher.kdfIterations) = (8192, 1000)
        let context = try Connection(.file(desk.file("a.db")), key: .passphrase("secret", cipher: cipher))
        #expect(try context.main.pageSize == 8192)
    }

    /// K35 a new key
    func k35() throws {
        try db.changeKey(to: .passphrase("battery staple").quick)
        #expect(try Connection(.file(desk.path), key: .passphrase("battery staple").quick).count(Book.all) == 4)
    }

    /// K36 emptying the free pages
    func k36() throws {
        try db.execute("DELETE FROM book")
        try db.main.vacuum()
        #expect(try db.main.freePageCount == 0)
    }

    /// K37 checking a file
    func k37() throws {
        #expect(try db.main.verify().isIntact && db.main.integrityCheck() == [])
    }

    // MARK: What tables and queries can say

    /// X1 constraints of columns
    func x1() throws {
        let error = #expect(throws: DatabaseError.self) { try db.insert(Author(name: "Old", born: -1)) }
        #expect(error?.code == .constraintCheck)
    }

    /// X2 unique indexes
    func x2() throws {
        let error = #expect(throws: DatabaseError.self) { try db.insert(Book(title: "Solaris", author: 1)) }
        #expect(error?.code == .constraintUnique)
    }

    /// X3 what becomes of referring rows
    func x3() throws {
        #expect(try db.delete(Author.self, id: 1))
        #expect(try db.count(Book.all) == 2)
        #expect(try db.main.table("book")?.foreignKeys.map(\.onDelete) == [.cascade])
    }

    /// X4 comparing, and NULL
    func x4() throws {
        #expect(try db.count(Book.filter { $0.pages == nil }) == 1 && db.count(Book.filter { $0.pages.isNotNull }) == 3)
        #expect(try db.count(Book.filter { $0.pages >= 204 && $0.title != "Fiasco" }) == 2)
    }

    /// X5 LIKE, IN and BETWEEN
    func x5() throws {
        #expect(try db.count(Book.filter { $0.title.like("%a%o%") }) == 2)
        #expect(try db.count(Book.filter { $0.id.in([1, 4, 9]) }) == 2)
        #expect(try db.count(Book.filter { $0.pages.between(204, and: 322) }) == 2)
    }

    /// X6 and, or, not, and two columns
    func x6() throws {
        #expect(try db.count(Book.filter { !($0.title == "Edda" || $0.author == 2) }) == 2)
        #expect(try db.count(Book.filter { $0.id == $0.author }) == 1)
    }

    /// X7 a key of several columns
    func x7() throws {
        try db.create(Loan.table)
        try db.insert(Loan(reader: 1, book: 2, days: 7))
        #expect(try db.fetchOne(Loan.self, id: 1, 2)?.days == 7 && db.main.primaryKey(of: "loan") == ["reader", "book"])
    }

    /// X8 defaults
    func x8() throws {
        struct Shelf: SQLRecord {
            var id: Int64?
            @ColumnDefault var room: String?
        }
        try db.execute("CREATE TABLE shelf(id INTEGER PRIMARY KEY, room TEXT DEFAULT 'hall')")
        var shelf = Shelf()
        try db.insert(&shelf)
        #expect(shelf.room == "hall")
    }

    /// X9 reading the schema
    func x9() throws {
        let book = try #require(try db.main.table("book"))
        #expect(book.columns.map(\.name) == ["id", "title", "author", "pages"] && book.primaryKey == ["id"])
        #expect(book.indexes.first { $0.name == "book_title_author" }?.isUnique == true)
    }

    /// X10 changing a table
    func x10() throws {
        try db.main.addColumn(SQLColumn("shelf", .text), to: "book")
        try db.main.renameColumn("shelf", to: "room", of: "book")
        try db.main.dropColumn("room", from: "book")
        try db.main.dropTable("book")
        #expect(try !db.main.hasTable("book"))
    }

    /// X11 the engine's log
    func x11() throws {
        var seen: [String] = []
        let token = try db.addTraceHook { event in seen.append(event.sql) }
        _ = try db.count(Book.all)
        token.remove()
        #expect(seen.contains { $0.contains("count(*)") })
    }

    /// X12 hearing of changes
    func x12() throws {
        var tables: [String] = []
        let token = try db.addUpdateHook { change in tables.append(change.table) }
        try db.insert(Author(name: "Poe"))
        token.remove()
        #expect(tables == ["author"])
    }

    /// X13 interrupting
    func x13() throws {
        let handle = try db.interruptHandle
        try db.register(.function("stop") { () -> Int in
            handle.interrupt()
            return 1
        })
        let error = #expect(throws: DatabaseError.self) {
            try db.execute("WITH RECURSIVE n(i) AS (SELECT stop() UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n LIMIT 1")
        }
        #expect(error?.code == .interrupted)
    }

    /// X14 inserting or updating
    func x14() throws {
        try db.upsert(Author(name: "Lem", born: 1922), onConflict: ["name"])
        #expect(try db.fetchOne(Author.self, id: 1)?.born == 1922)
    }

    /// X15 conditions of your own
    func x15() throws {
        #expect(try db.count(Book.filter { SQLPredicate("length(\($0.title)) = 4") }) == 1)
    }

    /// X16 joins
    func x16() throws {
        let rows = try db.fetchAll(Author.leftJoin(Book.self).order { $0.id; $1.id })
        #expect(rows.map { $0.1?.title ?? "-" } == ["Solaris", "Fiasco", "Baudolino", "-"])
        #expect(try db.fetchAll(Book.join(Author.self).order { book, _ in book.id }).map(\.1.name) == ["Lem", "Lem", "Eco"])
        #expect(try db.count(Author.all.crossJoin(Book.self)) == 12 && db.count(Author.all.fullJoin(Book.self)) == 5)
    }

    /// X17 saving
    func x17() throws {
        var author = Author(name: "Poe")
        try db.save(&author)
        author.born = 1809
        try db.save(&author)
        #expect(try db.fetchOne(Author.self, id: 4) == author)
    }

    /// X18 several threads
    func x18() async throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        #expect(try await queue.read { db in try db.count(Book.all) } == 4)
    }

    /// X19 foreign keys are enforced
    func x19() throws {
        let error = #expect(throws: DatabaseError.self) { try db.insert(Book(title: "New", author: 99)) }
        #expect(error?.code == .constraintForeignKey)
        #expect(try db.main.foreignKeyViolations() == [])
    }

    /// X20 columns named otherwise than their properties
    func x20() throws {
        try db.create(Visit.table)
        try db.insert(Visit(leftAt: Date(timeIntervalSince1970: 0)))
        #expect(try db.main.columns(of: "VISIT").map(\.name) == ["ID", "LEFT_AT"])
        #expect(try db.count(Visit.filter { $0.leftAt != nil }) == 1)
    }
}

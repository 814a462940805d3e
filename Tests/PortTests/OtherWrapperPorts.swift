import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The programs of the article "From other SQLite wrappers". Two of them find tables and rows, in the forms of their library.
@Suite struct OtherWrapperPorts {
    let folder: TemporaryFolder
    let path: String, copy: String
    let key: DatabaseKey, newKey: DatabaseKey
    let now = Date(timeIntervalSince1970: 1_795_249_800)

    init() throws {
        folder = try TemporaryFolder()
        (path, copy) = (folder.path("a/notes.db"), folder.path("copy.db"))
        (key, newKey) = (try .passphrase("correct horse").quick, try .passphrase("battery staple").quick)
    }

    /// Makes a file that the program finds.
    private func make(_ script: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.createsFolders = true
        try Connection(.file(path), key: key, configuration: configuration).execute(SQLScript(script))
    }

    @Test func programOfSkipSQL() throws {
        try make("""
            CREATE TABLE author(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
            CREATE TABLE book(
                id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL,
                author INTEGER NOT NULL REFERENCES author ON DELETE CASCADE, pages INTEGER, added REAL);
            INSERT INTO author(name) VALUES ('Eco');
            INSERT INTO book(title, author, pages, added) VALUES ('Baudolino', 1, 513, 1795249800.25);
            PRAGMA user_version = 1;
            """)
        struct Author: SQLRecord {
            var id: Int64 = 0
            var name: String
            static let table = SQLTable(of: Author.self) {
                $0.id.primaryKey(autoincrement: true)
                $0.name.unique()
            }
        }

        struct Book: SQLRecord {
            var id: Int64 = 0
            var title: String
            var author: Int64
            var pages: Int?
            var added: Date?
            static let table = SQLTable(of: Book.self) {
                $0.id.primaryKey(autoincrement: true)
                $0.title
                $0.author.references(Author.self, onDelete: .cascade)
                $0.pages
                $0.added
            }
        }

        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .skipSQL
        let context = try Connection(
            .file(path), key: key, configuration: configuration)
        var migrator = Migrator()
        migrator.add("books") { db in
            try db.create(Author.table)
            try db.create(Book.table)
        }
        migrator.add("words") { db in
            try db.create(FTS5Table(
                "book_fts", columns: ["title"],
                content: .external(table: "book"),
                tokenizer: .multilingual()))
        }
        migrator.adopt(userVersions: [1: "books"])
        try migrator.migrate(context)

        var author = Author(name: "Lem")
        try context.save(&author)
        try context.transaction { db in
            try db.insertAll([
                Book(title: "Solaris", author: author.id, pages: 204),
                Book(
                    title: "Fiasco", author: author.id, pages: 322, added: now),
            ])
        }
        let long = try context.fetchAll(
            Book.filter { $0.pages >= 200 && $0.title.like("%s%") }
                .order { $0.pages.descending }.limit(10))
        let pages: [(String, Int?)] = try context.fetchAll(
            Author.join(Book.self).group { author, _ in author.name }
                .select { ($0.name, $1.pages.sum()) })
        let hits = try context.fullText("book_fts").search("fiasco").hits
        try context.main.backup(toFileAt: copy, key: newKey)
        #expect(try migrator.applied(in: context) == ["books", "words"])
        #expect(author.id == 2 && long.map(\.title) == ["Fiasco", "Solaris"])
        #expect(pages.map(\.0).sorted() == ["Eco", "Lem"] && pages.map { $0.1 ?? 0 }.sorted() == [513, 526])
        #expect(hits.map(\.rowID) == [3])
        let added = try context.fetchAll(Book.all.order { $0.id }).map { $0.added?.timeIntervalSince1970 }
        #expect(added == [1_795_249_800.25, nil, 1_795_249_800])
        #expect(try context.fetchOne(String.self, "SELECT typeof(added) FROM book WHERE id = 3") == "real")
        let error = #expect(throws: DatabaseError.self) { try context.insert(Book(title: "Edda", author: 9)) }
        #expect(error?.code == .constraintForeignKey)
        #expect(try context.delete(Author.self, id: author.id) && context.count(Book.all) == 1)
        #expect(try Connection(.file(copy), key: newKey).count(Book.all) == 3)
    }

    @Test func programOfSecureDatabaseStore() async throws {
        let script = URL(fileURLWithPath: folder.path("setup.sql"))
        try "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, stars INTEGER, made INTEGER);"
            .write(to: script, atomically: true, encoding: .utf8)
        struct Note: Decodable {
            var title: String
            var stars: Int?
            var made: Date
        }

        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .sap
        configuration.createsFolders = true
        configuration.onCreate = { db in
            try db.execute(SQLScript(contentsOf: script))
        }
        let store = try DatabaseQueue(
            .file(path), key: key, configuration: configuration)
        let id = try await store.write { db in
            try db.execute(
                "INSERT INTO note(title, made) VALUES (?, ?)", ["Mill", now])
            return db.lastInsertedRowID
        }
        try await store.write { db in
            try db.execute(
                "UPDATE note SET stars = :stars WHERE id = :id",
                ["stars": 3, "id": id])
        }
        let notes = try await store.read { db in
            try db.fetchAll(
                Note.self, "SELECT * FROM note WHERE made <= \(now)")
        }
        let titles = try await store.read { db in
            var titles: [String] = []
            try db.forEach("SELECT title, stars FROM note") { row in
                let stars: Int? = try row["stars"]
                if stars != nil { titles.append(try row["title"]) }
            }
            return titles
        }

        let settings = try SharedKeyValueStore("settings", in: store)
        try await settings.set("theme", to: "dark")
        try await settings.write { settings in
            try settings.setAll(["volume": 7, "window": [800, 600]])
        }
        let theme = try await settings.get("theme", default: "light")
        try await store.changeKey(to: newKey) { print($0.fractionCompleted) }
        try await store.close()
        #expect(id == 1 && notes.map(\.title) == ["Mill"] && notes.map(\.stars) == [3] && notes.map(\.made) == [now])
        #expect(titles == ["Mill"] && theme == "dark")
        let again = try Connection(.file(path), key: newKey)
        #expect(try again.fetchOne(Int.self, "SELECT made FROM note") == 1_795_249_800)
        let stored = try KeyValueStore("settings", in: again)
        #expect(try stored.keys() == ["theme", "volume", "window"] && stored.get("window", as: [Int].self) == [800, 600])
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: key) }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
    }

    @Test func programOfDataLiteCore() throws {
        try make("CREATE TABLE note(title TEXT, stars INTEGER); INSERT INTO note VALUES ('Bakery', 1);")
        struct Product: SQLAggregate {
            var product = 1
            mutating func step(
                _ arguments: borrowing FunctionArguments
            ) throws {
                product *= try arguments.get(0) ?? 1
            }
            func finish() -> Int { product }
        }

        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .dataLiteCore
        let connection = try Connection(
            .file(path), key: key, configuration: configuration)
        var migrator = Migrator()
        migrator.add("notes") { db in
            try db.execute("CREATE TABLE note(title TEXT, stars INTEGER)")
        }
        migrator.add("dates") { db in
            try db.main.addColumn(SQLColumn("made", .text), to: "note")
        }
        migrator.adopt(through: "notes") { db in try db.main.hasTable("note") }
        try migrator.migrate(connection)
        let mode = try connection.main.setJournalMode(.wal)

        var changed: [Int64] = []
        let hook = try connection.addUpdateHook { change in
            changed.append(change.rowID)
        }
        let insert = try connection.prepare(
            "INSERT INTO note VALUES (:title, :stars, :made)",
            isPersistent: true)
        for (title, stars) in [("Mill", 3), ("Well", 5)] {
            try insert.execute(["title": title, "stars": stars, "made": now])
        }
        hook.remove()

        try connection.register(.regularExpressions())
        try connection.register(
            .function("shout", .deterministic) { (text: String) in
                text.uppercased() + "!"
            })
        try connection.register(
            .aggregate("product", arguments: 1) { Product() })
        let rows: [(String, Date)] = try connection.fetchAll("""
            SELECT shout(title), made FROM note WHERE title REGEXP 'l+$'
            """)
        let product = try connection.fetchOne(
            Int.self, "SELECT product(stars) FROM note")
        let left = try connection.transaction { db -> TransactionEnd<Int?> in
            try db.execute(SQLScript("DELETE FROM note; ANALYZE"))
            return .rollback(
                try db.fetchOne(Int.self, "SELECT count(*) FROM note"))
        }
        try connection.changeKey(to: newKey)
        #expect(mode == .wal && changed == [2, 3])
        #expect(rows.map(\.0) == ["MILL!", "WELL!"] && rows.map(\.1) == [now, now])
        #expect(try product == 15 && left == 0 && connection.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
        let again = try Connection(.file(path), key: newKey)
        #expect(try again.fetchOne(String.self, "SELECT made FROM note WHERE stars = 5") == "2026-11-21T08:30:00Z")
        #expect(try again.main.columns(of: "note").map(\.name) == ["title", "stars", "made"])
    }
}

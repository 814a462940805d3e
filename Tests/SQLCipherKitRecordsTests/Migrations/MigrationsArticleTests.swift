import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// The examples of the article "Migrations and the schema", in its order.
@Suite struct MigrationsArticleTests {
    struct Author: SQLRecord {
        var id: Int64?
        var name: String
        static let table = SQLTable(of: Author.self) {
            $0.id.primaryKey()
            $0.name
        }
    }

    struct Book: SQLRecord {
        var id: Int64?
        var title: String?
        var author: Int64?
        var pages = 100
        static let table = SQLTable(of: Book.self) {
            $0.id.primaryKey()
            $0.title
            $0.author.references(Author.self)
            $0.pages.default(100)
        }
    }

    @Test func migrationsArticleCodeWorks() throws {
        let db = try Connection(.memory, key: .passphrase("secret").quick)
        var migrator = Migrator()
        migrator.add("authors and books") { db in
            try db.execute("""
                CREATE TABLE author(
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL)
                """)
            try db.execute("""
                CREATE TABLE book(
                    id INTEGER PRIMARY KEY, title TEXT,
                    author INTEGER REFERENCES author(id))
                """)
        }
        migrator.add("pages") { db in
            let pages = SQLColumn("pages", .integer).notNull().default(100)
            try db.main.addColumn(pages, to: "book")
        }
        try migrator.migrate(db)
        migrator.add("authors without books go", foreignKeys: .enforced) { db in
            try db.execute("""
                DELETE FROM author WHERE id NOT IN (
                    SELECT author FROM book WHERE author IS NOT NULL)
                """)
        }

        migrator.adopt(userVersions: [1: "authors and books", 2: "pages"])
        migrator.adopt(through: "authors and books") { db in
            try db.main.hasTable("book")
        }

        let pending = try migrator.pending(in: db)
        try migrator.dryRun(db)              // does them, and undoes them
        #expect(pending == ["authors without books go"])

        var merged = Migrator()
        let former = ["authors and books", "pages"]
        merged.add("2026", merging: former) { db, done in
            if done.isEmpty {
                try db.execute("""
                    CREATE TABLE author(
                        id INTEGER PRIMARY KEY, name TEXT NOT NULL)
                    """)
                try db.execute("""
                    CREATE TABLE book(
                        id INTEGER PRIMARY KEY, title TEXT,
                        author REFERENCES author, pages NOT NULL DEFAULT 100)
                    """)
            } else {
                let pages = SQLColumn("pages", .integer).notNull().default(100)
                try db.main.addColumn(pages, to: "book")
            }
        }
        #expect(try merged.migrate(db) == [])
        try descriptions(migrator)
        let new = try Connection(.memory)
        #expect(try merged.migrate(new) == ["2026"])

        for table in try db.main.tables() where table.kind == .table {
            print(table.name, table.primaryKey, table.columns.map(\.name))
        }
        let keys = try db.main.table("book")?.foreignKeys
        #expect(keys == [SQLForeignKey(["author"], references: "author", ["id"])])

        try db.main.renameColumn("title", to: "name", of: "book")
        try db.main.renameTable("book", to: "work")
        let byName = SQLIndex("work_name", on: ["name"])
        try db.main.create(byName, on: "work")
        try db.main.dropColumn("pages", from: "work")
        #expect(try db.main.columns(of: "work").map(\.name) == ["id", "name", "author"])
        try db.main.rebuildTable(
            "work",
            sql: """
                CREATE TABLE work(
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL,
                    author REFERENCES author, words INTEGER)
                """,
            values: ["name": "ifnull(name, '')", "words": "length(name)"])
        #expect(try db.main.columns(of: "work").map(\.name) == ["id", "name", "author", "words"])
        #expect(try db.main.indexes(of: "work").map(\.name) == ["work_name"])
    }

    private func descriptions(_ migrator: Migrator) throws {
        let db = try Connection(.memory)
        try migrator.migrate(db)
        let differences = try db.main.differences(
            from: [Author.self, Book.self])
        #expect(differences == [])
    }
}

import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Databases of programs with collations, functions and modules of their own, copied by a connection that has none of them.
@Suite struct ForeignSchemaConversionTests {
    private static let schemas: [(what: String, sql: String)] = [
        ("a column", "CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT COLLATE unicase); CREATE INDEX by_x ON note(x DESC, id)"),
        ("a unique column", "CREATE TABLE note(x TEXT COLLATE unicase UNIQUE, y DEFAULT 2)"),
        ("an index", "CREATE TABLE note(x TEXT); CREATE UNIQUE INDEX by_x ON note(x COLLATE unicase)"),
        ("a key", "CREATE TABLE note(x TEXT COLLATE unicase PRIMARY KEY, y DEFAULT 3) WITHOUT ROWID; CREATE INDEX by_y ON note(y, x)"),
        ("a function in an index", "CREATE TABLE note(x TEXT); CREATE INDEX by_x ON note(fold(x), x)"),
        ("a function in a condition", "CREATE TABLE note(x TEXT); CREATE INDEX by_x ON note(x) WHERE fold(x) > 'b'"),
        ("a generated column", "CREATE TABLE note(x TEXT, y AS (fold(x)) STORED, z AS (fold(x))); CREATE INDEX by_z ON note(z)"),
        ("a check", "CREATE TABLE note(x TEXT CHECK (fold(x) <> 'none'))"),
        ("a trigger and a view", "CREATE TABLE note(x TEXT); CREATE VIEW v AS SELECT fold(x) FROM note; "
            + "CREATE TRIGGER t AFTER DELETE ON note BEGIN SELECT fold(old.x); END"),
    ]
    private static let words = (0..<600).map { number in
        (number % 2 == 0 ? "Word" : "word") + "\((number * 7919) % 600)" + String(repeating: "é", count: number % 40 == 0 ? 3000 : 1)
    }

    private static func register(_ db: Connection) throws {
        try db.register(.collation("unicase") { a, b in
            let (a, b) = (a.lowercased(), b.lowercased())
            return a < b ? .orderedAscending : a > b ? .orderedDescending : .orderedSame
        })
        try db.register(.function("fold", .deterministic) { (text: String) in text.lowercased() })
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a.db")
    }

    private func make(_ schema: String, _ key: DatabaseKey = .plaintext) throws -> [String] {
        let db = try Connection(.file(path), key: key)
        try Self.register(db)
        try db.execute(SQLScript(schema + "; CREATE TABLE plain(y); CREATE INDEX by_plain ON plain(y)"))
        try db.transaction { db in
            for word in Self.words {
                try db.execute("INSERT INTO note(x) VALUES (\(word))")
                try db.execute("INSERT INTO plain VALUES (\(word))")
            }
        }
        return try content(db)
    }

    private func content(_ db: Connection) throws -> [String] {
        try db.fetchAll(String.self, "SELECT quote(x) FROM note ORDER BY x COLLATE BINARY")
            + db.fetchAll(String.self, "SELECT type || name || tbl_name || quote(sql) FROM sqlite_schema")
    }

    /// With the names that are missing elsewhere.
    private func expectIntact(_ path: String, _ key: DatabaseKey, _ expected: [String]) throws {
        let db = try Connection(.file(path), key: key)
        try Self.register(db)
        let report = try db.main.verify()
        #expect(report.problems == [] && report.unchecked == [])
        #expect(try content(db) == expected)
        try db.execute("INSERT INTO note(x) VALUES ('one more')")
        #expect(try db.main.verify().problems == [])
    }

    @Test(arguments: schemas) func conversionsKeepWhatTheyDoNotKnow(what: String, sql: String) throws {
        let expected = try make(sql), small = CipherConfiguration.quick
        var wide = small
        wide.pageSize = 16384
        let keys: [DatabaseKey] = [.plaintext, try .passphrase("a", cipher: small), try .passphrase("b", cipher: wide), .plaintext]
        for (from, to) in zip(keys, keys.dropFirst()) {
            try DatabaseConverter.convert(fileAt: path, from: from, to: to)
        }
        try expectIntact(path, .plaintext, expected)
    }

    @Test(arguments: schemas) func backupsWithAnotherKeyKeepWhatTheyDoNotKnow(what: String, sql: String) throws {
        let first = try DatabaseKey.passphrase("a", cipher: .quick)
        let expected = try make(sql, first), copy = folder.path("b.db")
        let db = try Connection(.file(path), key: first)
        try db.main.backup(toFileAt: copy, key: .plaintext)
        try expectIntact(copy, .plaintext, expected)
    }

    /// The index of a table that is known is built again, whatever it was.
    @Test func conversionMendsDamagedIndexes() throws {
        _ = try make("CREATE TABLE note(x TEXT)")
        do {
            let db = try Connection(.file(path), key: .plaintext)
            try db.execute(SQLScript("""
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'CREATE INDEX by_plain ON plain(y DESC)' WHERE name = 'by_plain'
                """))
        }
        #expect(try Connection(.file(path), key: .plaintext).main.verify().problems != [])
        try DatabaseConverter.encrypt(fileAt: path, key: .passphrase("a"))
        #expect(try Connection(.file(path), key: .passphrase("a")).main.verify().problems == [])
    }

    /// In the first format of SQLite's schema, an index that is declared DESC ascends.
    @Test func conversionKeepsOldSchemaFormat() throws {
        _ = try Python.run(
            """
            import sys, sqlite3
            db = sqlite3.connect(sys.argv[1], isolation_level=None)
            db.execute('PRAGMA page_size = 512')
            db.execute('PRAGMA legacy_file_format = ON')
            db.execute('CREATE TABLE note(x)')
            db.execute('CREATE INDEX by_x ON note(x DESC)')
            db.executemany('INSERT INTO note VALUES (?)', [(n * 37 % 101,) for n in range(101)])
            """, path)
        try DatabaseConverter.encrypt(fileAt: path, key: .passphrase("a"))
        let db = try Connection(.file(path), key: .passphrase("a"))
        #expect(try db.main.verify().problems == [])
        #expect(try db.fetchAll(Int.self, "SELECT x FROM note ORDER BY x DESC") == Array((0..<101).reversed()))
    }
}

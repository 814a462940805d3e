import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Databases made elsewhere, where text in double quotes is a string if it names no column.
@Suite struct DoubleQuoteTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    let allowing: DatabaseConfiguration

    init() throws {
        folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration()
        configuration.allowsDoubleQuotedStrings = true
        allowing = configuration
    }

    private func make(_ sql: String) throws {
        let db = try Connection(.file(path), configuration: allowing)
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x'); " + sql))
    }

    static let schemas = [
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET a = \"new\" WHERE id = new.id; END",
        "CREATE TRIGGER g AFTER DELETE ON t WHEN old.a = \"x\" BEGIN SELECT 1; END",
        "CREATE TRIGGER g BEFORE UPDATE OF a ON t BEGIN SELECT \"ignored\"; END",
        "CREATE VIEW v AS SELECT id, \"text\" AS b FROM t",
        "CREATE VIEW v AS SELECT id FROM t; CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.id, \"view\"); END",
        "CREATE INDEX i ON t(a) WHERE a <> \"none\"",
        "CREATE TABLE u(a CHECK (a <> \"none\"))",
    ]

    @Test(arguments: schemas) func encryptionOfDoubleQuotedStringsThrows(_ sql: String) throws {
        try make(sql)
        let key = try DatabaseKey.passphrase("k", cipher: .quick)
        let before = try folder.allBytes()
        let error = #expect(throws: DatabaseError.self) { try DatabaseConverter.encrypt(fileAt: path, key: key) }
        #expect(error?.message.contains("single-quotes") == true)
        #expect(try folder.allBytes() == before && folder.names() == ["a.db"])
        #expect(error?.reason == .malformedSchema && error?.message.contains("allowsDoubleQuotedStrings") == true)
    }

    @Test func allowedDoubleQuotedStringsSurviveEncryption() throws {
        try make(Self.schemas[0] + ";" + Self.schemas[1].replacing("TRIGGER g", with: "TRIGGER h") + ";"
            + Self.schemas[3...6].joined(separator: ";")
            .replacing("VIEW v AS SELECT id FROM t", with: "VIEW w AS SELECT id FROM t").replacing("INSERT ON v",
                with: "INSERT ON w")
            .replacing("TRIGGER g", with: "TRIGGER i"))
        let key = try DatabaseKey.passphrase("k", cipher: .quick)
        try DatabaseConverter.encrypt(fileAt: path, key: key, configuration: allowing)
        let db = try Connection(.file(path), key: key, configuration: allowing)
        try db.execute("INSERT INTO t VALUES (2, 'y')")
        try db.execute("INSERT INTO w VALUES (3)")
        try db.execute("DELETE FROM t WHERE id = 1")
        #expect(try db.fetchAll(String.self, "SELECT a FROM t ORDER BY id") == ["new", "new"])
        #expect(try db.fetchAll(String.self, "SELECT b FROM v") == ["text", "text"])
        try db.main.vacuum()
        try db.main.backup(toFileAt: folder.path("copy.db"), options: .compact)
        try db.changeKey(to: .passphrase("other", cipher: .quick))
        #expect(try db.fetchOne(String.self, "SELECT b FROM v") == "text")
        db.close()
        let pool = try DatabasePool(.file(path), key: .passphrase("other", cipher: .quick), configuration: allowing)
        #expect(try pool.read { try $0.fetchOne(String.self, "SELECT b FROM v") } == "text")
    }

    @Test func doubleQuotedStringsAreRefusedByDefault() throws {
        try make(Self.schemas[3])
        let db = try Connection(.file(path))
        #expect(throws: DatabaseError.self) { try db.fetchOne(String.self, "SELECT b FROM v") }
        #expect(throws: DatabaseError.self) { try db.execute("SELECT \"text\"") }
        // Another fault of a view does not keep a file from being encrypted.
        try db.execute("DROP VIEW v")
        try db.execute("CREATE VIEW v AS SELECT \"id\", unknown(id) FROM missing")
        db.close()
        try DatabaseConverter.encrypt(fileAt: path, key: .passphrase("k", cipher: .quick))
    }
}

import SQLCipherKit
import Testing

/// ALTER TABLE rewrites or refuses whatever uses the table.
@Suite struct AlterTableTests {
    private static let objects = [
        "", "CREATE INDEX s.o ON u(b)", "CREATE UNIQUE INDEX s.o ON u(c, b DESC)", "CREATE INDEX s.o ON u(length(b))",
        "CREATE INDEX s.o ON u(c) WHERE \"b\" IS NOT NULL", "CREATE VIEW s.o AS SELECT b, c FROM u",
        "CREATE TRIGGER s.o AFTER INSERT ON u WHEN new.b > 1 BEGIN UPDATE u SET c = new.b WHERE id = new.id; END",
        "CREATE TRIGGER s.o BEFORE UPDATE OF b ON u BEGIN DELETE FROM u WHERE b = old.c; END",
        "CREATE TABLE s.o(x REFERENCES u(b), FOREIGN KEY (x) REFERENCES u(c))",
        "CREATE TRIGGER s.o AFTER INSERT ON v BEGIN UPDATE u SET b = new.x; END",
        "CREATE VIEW s.o AS SELECT x, (SELECT max(b) FROM u) FROM v JOIN u ON c = x",
        "CREATE TRIGGER s.o AFTER DELETE ON u BEGIN INSERT INTO u(b) SELECT max(c) FROM u; END",
    ]

    private static let changes =
        ["RENAME TO w", "ADD COLUMN e", "RENAME b TO e", "RENAME c TO b2", "DROP COLUMN b", "DROP COLUMN c", "DROP COLUMN d"]

    /// Changes the table u of a schema, beside a temporary table or view of the same name.
    /// - Returns: the schema after the change, or the error.
    private static func result(_ schema: String, _ object: String, _ change: String, beside shadow: String) throws -> [String] {
        let db = try Connection(.memory)
        defer { db.close() }
        if schema != "main" { try db.attach(.memory, as: schema, key: .plaintext) }
        func run(_ sql: String) throws { try db.execute(SQL(raw: sql.replacing(" s.", with: " \(schema)."))) }
        try run("CREATE TABLE s.u(id INTEGER PRIMARY KEY, b, c, d)")
        try run("INSERT INTO s.u(b, c) VALUES (255, 255), ('text', NULL), (NULL, 1)")
        try run("CREATE TABLE s.v(x)")
        if !shadow.isEmpty { try run(shadow) }
        if !object.isEmpty { try run(object) }
        var result: [String] = []
        do { try run("ALTER TABLE s.u \(change)") } catch let error as DatabaseError { result.append(error.message) }
        result += try db.fetchAll(String.self, "SELECT sql FROM \(identifier: schema).sqlite_schema ORDER BY rowid")
        let problems = try db.schema(schema).verify().problems
        return result + problems.map { "\($0)" }
    }

    /// SQLite takes the index or the trigger for one of the temporary table, and so leaves an index that does not fit its table.
    @Test(arguments: ["main", "other"], [
        "TABLE temp.u(id INTEGER PRIMARY KEY, b, c, d)", "TABLE temp.u(x)", "VIEW temp.u AS SELECT 1 AS b",
    ])
    func alterTableIgnoresTemporaryTableOfSameName(schema: String, shadow: String) throws {
        for object in Self.objects {
            for change in Self.changes {
                let expected = try Self.result(schema, object, change, beside: "")
                let found = try Self.result(schema, object, change, beside: "CREATE \(shadow)")
                #expect(found == expected, "\(object); \(change)")
                #expect(!found.contains { $0.contains("missing from index") })
            }
        }
    }
}

import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Databases of programs with collations, functions and tokenizers of their own, such as Anki's `unicase`.
@Suite struct ForeignSchemaTests {
    /// What a schema needs, the definition that needs it, and what `verify` then cannot check.
    static let parts: [(what: String, schema: String, unchecked: String)] = [
        ("collation of a column", "CREATE TABLE notes(x TEXT COLLATE unicase); CREATE INDEX by_x ON notes(x)", "notes"),
        ("collation of an index", "CREATE TABLE notes(x TEXT); CREATE INDEX by_x ON notes(x COLLATE unicase)", "notes"),
        ("collation of a key", "CREATE TABLE notes(x TEXT COLLATE unicase PRIMARY KEY) WITHOUT ROWID", "notes"),
        ("function in an index", "CREATE TABLE notes(x TEXT); CREATE INDEX by_x ON notes(fold(x))", "notes"),
        ("tokenizer", "CREATE VIRTUAL TABLE notes USING fts5(x, tokenize = foreign_words)", "notes"),
    ]

    private static func register(_ db: Connection) throws {
        try db.register(.collation("unicase") { a, b in
            a.lowercased() < b.lowercased() ? .orderedAscending : a.lowercased() > b.lowercased() ? .orderedDescending : .orderedSame
        })
        try db.register(.function("fold", .deterministic) { (text: String) in text.lowercased() })
        try db.register(.tokenFilter(FTS5CompatibilityFolding(), as: "foreign_words"))
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a.db")
    }

    private func make(_ schema: String) throws {
        let db = try Connection(.file(path), key: .raw([UInt8](repeating: 7, count: 32)))
        try Self.register(db)
        try db.execute(SQLScript(schema + "; CREATE TABLE other(y); CREATE INDEX by_y ON other(y)"))
        for word in ["b", "A", "a b", "C"] {
            try db.execute("INSERT INTO notes(x) VALUES (\(word))")
            try db.execute("INSERT INTO other(y) VALUES (\(word))")
        }
    }

    private func tool(_ arguments: String...) throws -> Command.Outcome {
        try Tool.run(
            arguments + ["--raw-key", "--key-env", "KEY"], environment: ["KEY": String(repeating: "07", count: 32)])
    }

    @Test(arguments: parts) func verifySaysWhatItCouldNotCheck(what: String, schema: String, unchecked: String) throws {
        try make(schema)
        let outcome = try tool("verify", path)
        #expect(outcome.status == 6, "\(outcome)")
        #expect(outcome.errors.contains("could not check main.\(unchecked): "), "\(outcome.errors)")
        #expect(!outcome.errors.contains("main.other"))
        // The other tables are checked.
        let db = try Connection(.file(path), key: .raw([UInt8](repeating: 7, count: 32)))
        try Self.register(db)
        try db.execute(SQLScript("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX by_y ON other(y DESC)' WHERE name = 'by_y'"))
        db.close()
        let damaged = try tool("verify", path)
        #expect(damaged.status == 4 && damaged.output.contains("by_y"), "\(damaged)")
    }

    @Test(arguments: parts) func backupCopiesForeignSchema(what: String, schema: String, unchecked: String) throws {
        try make(schema)
        let copy = folder.path("b.db")
        try tool("backup", path, copy).expectSuccess()
        for file in [path, copy] {
            let db = try Connection(.file(file), key: .raw([UInt8](repeating: 7, count: 32)))
            try Self.register(db)
            #expect(try db.fetchAll(String.self, "SELECT x FROM notes").sorted() == ["A", "C", "a b", "b"])
            let report = try db.main.verify()
            #expect(report.isIntact && report.unchecked.isEmpty)
        }
    }
}

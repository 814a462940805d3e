import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Databases of programs with collations, functions and tokenizers of their own, such as Anki's `unicase`.
@Suite struct ForeignSchemaTests {
    /// The needs of a schema, each with its definition, and the parts that `verify` then cannot check.
    static let parts: [(what: String, schema: String, unchecked: String)] = [
        ("collation of a column", "CREATE TABLE notes(x TEXT COLLATE unicase); CREATE INDEX by_x ON notes(x)", "notes"),
        ("collation of an index", "CREATE TABLE notes(x TEXT); CREATE INDEX by_x ON notes(x COLLATE unicase)", "notes"),
        ("collation of a key", "CREATE TABLE notes(x TEXT COLLATE unicase PRIMARY KEY) WITHOUT ROWID", "notes"),
        ("function in an index", "CREATE TABLE notes(x TEXT); CREATE INDEX by_x ON notes(fold(x))", "notes"),
        ("function in a check", "CREATE TABLE notes(x TEXT, CHECK (fold(x) <> 'none'))", "notes"),
        ("function in a column", "CREATE TABLE notes(x TEXT, y AS (fold(x)))", "notes"),
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

    /// Nothing is lost because this program can neither order nor compute what is stored.
    @Test(arguments: needs) func recoverKeepsForeignSchema(missing: String, schema: String) throws {
        try make(schema)
        let copy = folder.path("b.db")
        let outcome = try tool("recover", path, copy)
        outcome.expectSuccess()
        #expect(!outcome.output.contains("lost_and_found") && !outcome.output.contains("not made"), "\(outcome.output)")
        // In another order, as the objects that need no foreign name come first.
        let dumps = try [path, copy].map { file in try tool("dump", file).output.split(separator: "\n").sorted() }
        #expect(dumps[0] == dumps[1])
        let db = try Connection(.file(copy), key: .raw([UInt8](repeating: 7, count: 32)))
        try Self.register(db)
        #expect(try db.fetchAll(String.self, "SELECT x FROM notes").sorted() == Self.words)
        let report = try db.main.verify()
        #expect(report.isIntact && report.unchecked.isEmpty, "\(report)")
    }

    /// A damaged index of that kind is left out, and its table is whole.
    @Test func recoverLeavesOutDamagedForeignIndex() throws {
        try make("CREATE TABLE notes(x TEXT COLLATE unicase); CREATE INDEX by_x ON notes(x)")
        try damagePage(of: "by_x")
        let outcome = try tool("recover", path, folder.path("b.db"), "--format", "csv")
        let lost = "not made,by_x,,,,no such collation sequence: unicase\n"
        #expect(outcome.status == 4 && outcome.output.contains(lost), "\(outcome)")
        #expect(outcome.output.contains("table,notes,4,"), "\(outcome)")
    }

    private func damagePage(of name: String) throws {
        let sql = "SELECT pageno FROM dbstat WHERE name = '\(name)' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1"
        let pages = try tool("query", path, sql, "--format", "csv").output
        let page = try #require(pages.split(separator: "\n").last.flatMap { Int($0) })
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64((page - 1) * 4096 + 100))
        try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
        try file.close()
    }

    /// A table that has lost a page, and one whose constraint has lost its index, keep their names and their other rows; the parts
    /// of their definitions that need what is missing are left out.
    @Test(arguments: needs) func recoverKeepsRowsOfDamagedForeignTable(missing: String, schema: String) throws {
        let isUnique = schema.contains("CREATE TABLE notes(x TEXT COLLATE unicase);")
        try make(isUnique ? "CREATE TABLE notes(x TEXT COLLATE unicase UNIQUE)" : schema)
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let column = missing == "foreign_words" ? "c0" : "x", table = missing == "foreign_words" ? "notes_content" : "notes"
        let query = SQL(raw: "SELECT \(column) FROM \(table)")
        var rows: Set<String> = []
        do {
            let db = try Connection(.file(path), key: key)
            try Self.register(db)
            try db.execute(SQLScript("""
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 600)
                INSERT INTO notes(x) SELECT printf('%s %04d', hex(zeroblob(50)), i) FROM n
                """))
            rows = Set(try db.fetchAll(String.self, query))
        }
        try damagePage(of: isUnique ? "sqlite_autoindex_notes_1" : table)
        let outcome = try tool("recover", path, folder.path("b.db"), "--format", "csv")
        #expect(outcome.status == 4, "\(outcome)")
        let isOwn = schema.hasPrefix("CREATE TABLE notes(x TEXT);") || missing == "foreign_words"
        #expect(outcome.output.contains("made in part,notes,,,,no such ") != isOwn, "\(outcome.output)")
        let db = try Connection(.file(folder.path("b.db")), key: key)
        let kept = try db.fetchAll(String.self, query)
        #expect(rows.isSuperset(of: kept) && kept.count == Set(kept).count)
        #expect(isUnique ? kept.count == rows.count : (rows.count - 60..<rows.count).contains(kept.count), "\(kept.count) of \(rows.count)")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM other") == Self.words.count)
        if missing != "foreign_words" { #expect(try db.main.verify().problems == []) }
    }

    // MARK: Every command

    /// The name that is missing, and the definition that needs it.
    private static let needs: [(name: String, schema: String)] = parts.map { part in
        (["unicase", "fold", "foreign_words"].first { part.schema.contains($0) } ?? "", part.schema)
    } + [
        ("fold", "CREATE TABLE notes(y AS (fold(x)) STORED, z AS (fold(x)), x TEXT, u AS (fold(x))); CREATE INDEX by_x ON notes(x)"),
        ("fold", "CREATE TABLE notes(x TEXT CONSTRAINT some CHECK (fold(x) <> 'none'), y DEFAULT (fold('D')), CHECK (fold(y) > ''))"),
        ("fold", "CREATE TABLE notes(x TEXT); CREATE VIEW shown AS SELECT fold(x) FROM notes; "
            + "CREATE TRIGGER folding AFTER INSERT ON notes BEGIN SELECT fold(new.x); END"),
        ("foreign_module", "CREATE TABLE notes(x TEXT); PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
            + "('table', 'shape', 'shape', 0, 'CREATE VIRTUAL TABLE shape USING foreign_module(x)')"),
    ]
    private static let words = ["A", "C", "a b", "b"]
    private static let commands = JSONOutputTests.cases.keys.sorted().flatMap { name in needs.indices.map { (name, $0) } }

    private func add(_ schema: String, to path: String, _ key: DatabaseKey) throws {
        let db = try Connection(.file(path), key: key)
        try Self.register(db)
        try db.execute(SQLScript(schema))
        for word in Self.words.reversed() { try db.execute("INSERT INTO notes(x) VALUES (\(word))") }
    }

    /// Every command does its work without the names, or names the first and has changed no file.
    @Test(arguments: LongTests.sample(60, of: commands)) func commandKeepsForeignSchema(_ name: String, _ index: Int) async throws {
        let (missing, schema) = Self.needs[index]
        let item = try #require(JSONOutputTests.cases[name])
        let key = try DatabaseKey.raw([UInt8](hexadecimal: Tool.rawKey) ?? [])
        try JSONOutputTests.fill(folder, key: key)
        try add(schema, to: path, key)
        try add(schema, to: folder.path("plain.db"), .plaintext)
        func run(_ arguments: [String], _ input: String = "") async throws -> Command.Outcome {
            let words = arguments.map { $0 == "DB" ? path : $0.hasPrefix("@") ? folder.path(String($0.dropFirst())) : $0 }
            let environment = ["ONE": "correct horse", "TWO": "battery staple"]
            return try await Tool.runAside(words, environment: environment, input: input)
        }
        for command in item.first {
            let outcome = try await run(command)
            try #require(outcome.status == 0, "\(command) \(outcome.errors)")
        }
        let before = try content()
        let outcome = try await run(item.arguments, item.input)
        if outcome.status == 1 {
            #expect(outcome.errorLines.count == 1 && outcome.errors.contains(missing), "\(name): \(outcome.errors)")
            #expect(try content() == before, "\(name)")
            return
        }
        // verify says what it could not check, recover what it could not make, and erase what it could not look into. Of two
        // full-text tables, search asks for the name of one.
        let others: [String: Int32] = ["verify": 6, "recover": 4, "erase": 4, "search": 64]
        #expect([item.status, others[name]].contains(outcome.status), "\(name): \(outcome.errors)")
        for file in ["a.db", "plain.db", "copy.db"] where FileManager.default.fileExists(atPath: folder.path(file)) {
            let keys: [DatabaseKey] = [key, .plaintext, try .passphrase("correct horse")]
            let opened = keys.lazy.compactMap { try? Connection(.file(folder.path(file)), key: $0) }.first
            guard let db = opened else {
                #expect(name == "key rotate")
                continue
            }
            try Self.register(db)
            #expect(try db.fetchAll(String.self, "SELECT x FROM notes").sorted() == Self.words, "\(name)")
            let report = try db.main.verify()
            #expect(report.problems == [] && report.unchecked.count <= (missing == "foreign_module" ? 1 : 0), "\(name): \(report)")
        }
    }

    private func content() throws -> [String: Data] {
        let names = try folder.names().filter { !$0.hasSuffix("-shm") }
        return try Dictionary(uniqueKeysWithValues: names.compactMap { name in
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: folder.path(name), isDirectory: &isFolder)
            return isFolder.boolValue ? nil : (name, try Data(contentsOf: URL(fileURLWithPath: folder.path(name))))
        })
    }

    // MARK: Leaving names out

    /// The dump has the whole definitions; `create` names what is missing, and goes on without it.
    @Test(arguments: needs) func dumpIsCreatedWithoutForeignName(missing: String, schema: String) throws {
        try make(schema)
        let (script, copy) = (folder.path("dump.sql"), folder.path("b.db"))
        let dump = try tool("dump", path)
        dump.expectSuccess()
        #expect(dump.output.contains(missing) || missing == "foreign_module")
        try Data(dump.output.utf8).write(to: URL(fileURLWithPath: script))
        let refused = try tool("create", copy, "--script", script)
        if refused.status == 0 {
            // A definition that is copied as text alone needs nothing.
            try FileManager.default.removeItem(atPath: copy)
        } else {
            refused.expectFailure(1, "--leave-out \(missing)")
            #expect(try folder.names() == ["a.db", "dump.sql"])
        }
        let created = try tool("create", copy, "--script", script, "--leave-out", missing)
        created.expectSuccess()
        let short = try tool("dump", path, "--leave-out", missing)
        short.expectSuccess()
        let definitions = short.output.split(separator: "\n").filter { !$0.hasPrefix("/*") }
        #expect(!definitions.contains { $0.contains(missing) }, "\(short.output)")
        let db = try Connection(.file(copy), key: .raw([UInt8](repeating: 7, count: 32)))
        let table = missing == "foreign_words" ? "notes_content" : "notes", column = missing == "foreign_words" ? "c0" : "x"
        #expect(try db.fetchAll(String.self, SQL(raw: "SELECT \(column) FROM \(table)")).sorted() == Self.words)
        #expect(try db.fetchAll(String.self, "SELECT y FROM other").sorted() == Self.words)
        let report = try db.main.verify()
        #expect(report.problems == [] && report.unchecked.isEmpty)
    }

    @Test(arguments: needs) func diffComparesWithoutForeignNames(missing: String, schema: String) throws {
        try make(schema)
        let copy = folder.path("b.db")
        try tool("backup", path, copy).expectSuccess()
        let db = try Connection(.file(copy), key: .raw([UInt8](repeating: 7, count: 32)))
        try Self.register(db)
        try db.execute("UPDATE notes SET x = 'D' WHERE x = 'C'")
        try db.execute("INSERT INTO other(y) VALUES (5)")
        db.close()
        let diff = try tool("diff", path, copy, "--format", "csv")
        if schema.contains("WITHOUT ROWID") {
            diff.expectFailure(1, "unicase", "--leave-out")
        } else {
            let table = missing == "foreign_words" ? "notes_content" : "notes"
            #expect(diff.status == 4 && diff.output.contains("\(table),same,0,0,1,3") && diff.output.contains("other,same,1,0,0,4"), "\(diff)")
        }
        let without = try tool("diff", path, copy, "--format", "csv", "--leave-out", missing)
        #expect(without.status == 4 && without.output.contains("other,same,1,0,0,4"), "\(without)")
        if missing == "unicase" { #expect(!without.output.contains("notes") && without.errors.contains("left out the table notes")) }
    }
}

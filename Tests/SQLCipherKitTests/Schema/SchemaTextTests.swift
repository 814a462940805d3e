import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// If the text in a schema is not the statement that it claims to be, nothing is copied: no call runs the text.
@Suite struct SchemaTextTests {
    /// An object of the untrusted database, as it is made before its text is replaced.
    enum Object: String, CaseIterable {
        case table = "evil", index = "evil_a", trigger = "evil_new", view = "evil_all", virtual = "evil_words"

        /// Texts that are not one CREATE statement of this kind and name. `@` stands for the name, `#` for a blank or a comment.
        var hostile: [String] {
            let tails = [
                ";#PRAGMA user_version#=#66", "; DROP TABLE precious", ";#COMMIT", "; ATTACH 'x.db' AS x", ";;#DELETE FROM precious",
                "; CREATE TABLE second(a)", "\0; DROP TABLE precious", "#/*#*/;#DELETE FROM precious -- #", "#;#SELECT 1#;", " 'open", " \"open", " [open",
                " `open", ") ; ROLLBACK; (", ";#BEGIN;#END",
            ]
            let good = good
            var texts = tails.map { good + $0 } + ["", "--", "SELECT 1", "PRAGMA user_version = 66", "DROP TABLE precious", "COMMIT", good + good]
            texts += ["CREATE TABLE", "CREATE TABLE other(a)", "CREATE TEMP \(good.dropFirst(7))", "EXPLAIN \(good)", "CREATE /* \(good)", "\0\(good)"]
            texts += [
                good.replacingOccurrences(of: rawValue, with: "other"), good.replacingOccurrences(of: rawValue, with: "IF NOT EXISTS precious_2"),
                good.replacingOccurrences(of: " \(rawValue)", with: " main.\(rawValue)"),
            ]
            texts += Object.allCases.filter { $0 != self }.map { $0.good.replacingOccurrences(of: $0.rawValue, with: rawValue) }
            switch self {
            case .table:
                texts += [
                    "CREATE TABLE @#AS#SELECT * FROM precious", "CREATE TABLE @(a) AS SELECT 1", "CREATE TABLE @(a, b", "CREATE TABLE @(a)) ",
                    "CREATE TABLE @(a)#WITHOUT ROWID#;#DELETE FROM precious", "CREATE TABLE @(a /* ) */", "CREATE TABLE @(a -- )\n;DROP TABLE precious",
                    "CREATE TABLE @(a DEFAULT (1;2))", "CREATE TABLE @(a) STRICT SELECT 1", "CREATE TABLE @(a) (b)",
                ]
            case .index:
                texts += [
                    "CREATE INDEX @ ON precious(a)", "CREATE UNIQUE INDEX @#ON#precious(a)", "CREATE INDEX @ ON evil(a) SELECT 1",
                    "CREATE INDEX @ ON evil(a) WHERE (a = 1; DROP TABLE precious)", "CREATE INDEX @ ON evil a", "CREATE INDEX @ ON main.evil(a)",
                ]
            case .trigger:
                texts += [
                    "CREATE TRIGGER @ AFTER INSERT ON precious BEGIN SELECT 1; END", "CREATE TRIGGER @ AFTER INSERT ON evil BEGIN SELECT 1; END; DROP TABLE precious; END",
                    "CREATE TRIGGER @ AFTER INSERT ON evil BEGIN SELECT 1; PRAGMA user_version = 66; END", "CREATE TRIGGER @ AFTER INSERT ON evil BEGIN SELECT 1;",
                    "CREATE TRIGGER @ AFTER INSERT ON evil WHEN 1; DELETE FROM precious; END",
                    "CREATE TRIGGER @ AFTER INSERT ON evil BEGIN SELECT 1; END END", "CREATE TRIGGER @ AFTER INSERT ON evil BEGIN SELECT 'x; END",
                    "CREATE TRIGGER @ AFTER UPDATE OF begin ON evil; DROP TABLE precious; END",
                ]
            case .view:
                texts += ["CREATE VIEW @ AS DELETE FROM precious", "CREATE VIEW @ AS PRAGMA user_version", "CREATE VIEW @", "CREATE VIEW @ AS SELECT (1", "CREATE VIEW @ AS SELECT 1)"]
            case .virtual:
                texts += ["CREATE VIRTUAL TABLE @", "CREATE VIRTUAL TABLE @ USING fts5(a", "CREATE VIRTUAL TABLE @ USING fts5(a; DROP TABLE precious)", "CREATE VIRTUAL TABLE @ USING fts5(a) (b)"]
            }
            return texts.map { $0.replacingOccurrences(of: "@", with: rawValue) }
        }

        var good: String {
            switch self {
            case .table: "CREATE TABLE evil(a, b)"
            case .index: "CREATE INDEX evil_a ON evil(a)"
            case .trigger: "CREATE TRIGGER evil_new AFTER INSERT ON evil BEGIN SELECT 1; END"
            case .view: "CREATE VIEW evil_all AS SELECT * FROM evil"
            case .virtual: "CREATE VIRTUAL TABLE evil_words USING fts5(a)"
            }
        }
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String, _ key: String) throws -> Connection { try Connection(.file(folder.path(name)), key: .passphrase(key).quick) }

    private func hostile(_ object: Object, _ text: String, named name: String) throws {
        let db = try open(name, "theirs")
        try db.execute("CREATE TABLE precious(a)")
        for object in Object.allCases { try db.execute(SQL(raw: object.good)) }
        try db.execute("INSERT INTO evil VALUES (1, 2)")
        try db.execute("PRAGMA writable_schema = ON")
        try db.execute("UPDATE sqlite_schema SET sql = \(text) WHERE name = \(object.rawValue)")
        db.close()
    }

    /// `#` becomes a blank, a line's end or a comment.
    private func varied(_ text: String, _ random: inout SeededGenerator) -> String {
        text.map { $0 == "#" ? [" ", "\n", "/**/", "/* ; ' */", "--;\n", "\t"].randomElement(using: &random) ?? " " : String($0) }.joined()
    }

    /// The operations on an untrusted database, and their effect on one's own.
    private func operations(_ own: Connection, _ theirs: String) -> [(String, () throws -> Void)] {
        func attached(_ body: (Schema) throws -> Void) throws {
            try own.withAttached(.file(folder.path(theirs)), as: "theirs", key: .passphrase("theirs").quick) { try body($0) }
        }
        return [
            ("copyTables", { try attached { _ = try $0.copyTables(["evil"], to: own.main) } }),
            ("diff", { try attached { _ = try DatabaseDiff(from: own.main, to: $0).sql() } }),
            ("apply", {
                let other = try open(theirs, "theirs")
                try DatabaseDiff(from: own.main, to: other.main).apply(to: own)
            }),
            ("backup", { try attached { try $0.backup(toFileAt: folder.path("copy.db"), key: .passphrase("copy").quick, options: .compact) } }),
            ("restore", { try own.main.restore(fromFileAt: folder.path(theirs), key: .passphrase("theirs").quick) }),
            ("convert", { try DatabaseConverter.convert(fileAt: folder.path(theirs), from: .passphrase("theirs").quick, to: .plaintext) }),
        ]
    }

    /// Each text with two operations, or with `SQLCIPHERKIT_LONG_TESTS` all: it throws, and one's own database is as it was.
    @Test(arguments: Object.allCases)
    func hostileSchemaTextIsRefused(_ object: Object) throws {
        var random = SeededGenerator(state: UInt64(object.rawValue.utf8.count))
        let own = try open("own.db", "mine")
        try own.execute(SQLScript("CREATE TABLE precious(a); INSERT INTO precious VALUES ('mine'); CREATE TABLE gone(a)"))
        let content = try Contents.of(own), file = folder.url.appendingPathComponent("own.db")
        var files = Set(try folder.names())
        for (number, text) in object.hostile.enumerated() {
            let name = "theirs\(number).db", text = varied(text, &random)
            try hostile(object, text, named: name)
            let theirs = try Data(contentsOf: folder.url.appendingPathComponent(name))
            files.insert(name)
            for (place, (operation, run)) in operations(own, name).enumerated() where LongTests.areOn || place % 3 == number % 3 {
                // A table without its indexes and triggers is copied whatever theirs are.
                if operation == "copyTables", object == .view || object == .virtual { continue }
                let bytes = try Data(contentsOf: file)
                #expect(throws: (any Error).self, "\(operation): \(text)") { try run() }
                #expect(try Contents.of(own) == content && !own.isInTransaction, "\(operation): \(text)")
                // The end of a savepoint that was undone counts as a change in the header.
                #expect(try operation == "copyTables" || Data(contentsOf: file) == bytes, "\(operation): \(text)")
                #expect(try own.settings.isEnabled(.foreignKeys), "\(operation): \(text)")
                let left = Set(try folder.names()).subtracting(files)
                #expect(left.isEmpty, "\(operation): \(text)")
                for file in left { try FileManager.default.removeItem(atPath: folder.path(file)) }
            }
            #expect(try Data(contentsOf: folder.url.appendingPathComponent(name)) == theirs, "\(text)")
            // A text that SQLite itself can read is found by the verification, which its own integrity check does not do.
            if let db = try? open(name, "theirs") {
                let report = try? db.main.verify()
                #expect(report?.isIntact != true, "\(text)")
            }
            try FileManager.default.removeItem(atPath: folder.path(name))
            files.remove(name)
        }
        own.close()
        #expect(try open("own.db", "mine").fetchAll(String.self, "SELECT a FROM precious") == ["mine"])
    }

    /// The texts that SQLite itself keeps are accepted, with its comments and odd names, and copied to the byte.
    @Test func schemaTextWrittenBySQLiteIsAccepted() throws {
        let db = try open("a.db", "theirs")
        for sql in [
            "CREATE TABLE /* c */ \"if\" (a, \"b;\" DEFAULT ';', c DEFAULT (1 + (2)), CHECK (a <> ') ; ')) -- end", "CREATE TABLE `tick``s`(a, b)",
            "CREATE TABLE IF NOT EXISTS main . [odd ]  (a ANY -- ) ;\n, b INT) STRICT", "CREATE TABLE begin(a, \"end\", \"on\")",
            "CREATE TABLE 'quo''ted'(a TEXT PRIMARY KEY, b INT) WITHOUT ROWID /* ; */ , STRICT -- done",
        ] { try db.execute(SQL(raw: sql)) }
        for sql in [
            "CREATE UNIQUE INDEX IF NOT EXISTS main.i1 ON begin(a, \"end\" COLLATE NOCASE DESC) WHERE a > (1) -- ;", "CREATE INDEX \"i;2\" ON \"if\"(lower(a))",
            "CREATE VIEW v1(x, y) AS WITH t AS (SELECT 1, 2) SELECT * FROM t -- ; end", "CREATE VIEW v2 AS VALUES (';')",
            "CREATE TRIGGER t1 AFTER UPDATE OF \"on\" ON begin WHEN new.a > 1 BEGIN SELECT CASE WHEN 1 THEN 2 END; INSERT INTO begin VALUES (1, ';', 3); END",
            "CREATE TRIGGER [t 2] INSTEAD OF DELETE ON v1 BEGIN DELETE FROM begin WHERE a = old.x; WITH q AS (SELECT 1) SELECT * FROM q; UPDATE begin SET a = 1; END",
            "CREATE TRIGGER t3 BEFORE INSERT ON begin BEGIN REPLACE INTO \"if\"(a) VALUES (1); SELECT raise(IGNORE) WHERE new.a = 'END'; END",
            "CREATE VIRTUAL TABLE words USING fts5(a, b, tokenize = \"porter ascii\", prefix='2 3')", "CREATE VIRTUAL TABLE area USING rtree(id, x0, x1, +note)",
            "CREATE TABLE sequence_user(id INTEGER PRIMARY KEY AUTOINCREMENT)", "ALTER TABLE [odd ] RENAME TO \"re named\"", "ANALYZE",
        ] { try db.execute(SQL(raw: sql)) }
        #expect(try db.main.verify().problems == [])
        try db.main.backup(toFileAt: folder.path("copy.db"), options: .compact)
        #expect(try Contents.of(open("copy.db", "theirs")) == Contents.of(db))
        let other = try open("b.db", "theirs"), diff = try DatabaseDiff(from: other.main, to: db.main)
        let script = try diff.sql()
        try diff.apply(to: other)
        #expect(try Contents.of(other) == Contents.of(db))
        // In a script the semicolon behind a comment stands on a line of its own.
        let scripted = try open("c.db", "theirs")
        try scripted.execute(SQLScript(script))
        #expect(try scripted.main.tables().map(\.name) == db.main.tables().map(\.name))
        let names = ["if", "begin", "re named", "quo'ted", "tick`s"]
        try db.attach(.file(folder.path("d.db")), as: "d", key: .passphrase("d").quick)
        #expect(try db.main.copyTables(names, to: db.schema("d")) == 0)
        for name in names { #expect(try db.schema("d").hasTable(name)) }
    }

    /// A module that is not SQLite's own could read a file, or anything else that a program has registered.
    @Test func untrustedVirtualTableModuleIsRefused() throws {
        try hostile(.virtual, "CREATE VIRTUAL TABLE evil_words USING csv(filename='/etc/passwd')", named: "theirs.db")
        let own = try open("own.db", "mine"), theirs = try open("theirs.db", "theirs")
        let diff = try DatabaseDiff(from: own.main, to: theirs.main)
        for call in [{ _ = try diff.sql() }, { try diff.apply(to: own) }] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .malformedSchema && error?.message.contains("csv") == true)
        }
    }
}

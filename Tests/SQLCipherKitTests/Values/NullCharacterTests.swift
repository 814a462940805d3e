import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// SQLite ends many texts at a NUL character: a text that it would cut is refused, wherever text goes in; other texts are kept
/// whole.
@Suite struct NullCharacterTests {
    typealias Call = @Sendable (Fixture, String) throws -> Void

    /// The objects that the name before the NUL character stands for.
    final class Fixture {
        let folder: TemporaryFolder
        let db: Connection
        let attached: Schema

        init() throws {
            folder = try TemporaryFolder()
            db = try Connection(.file(folder.path("note")), key: .passphrase("k").quick)
            attached = try db.attach(.memory, as: "other", key: nil)
            try db.execute(SQLScript("CREATE TABLE note(id INTEGER PRIMARY KEY, note, j); CREATE INDEX note_index ON note(note)"))
            try db.execute("INSERT INTO note VALUES (1, 'note', '{\"note\":1}')")
            try db.create(FTS5Table("fts", columns: ["note"]))
            try db.execute("INSERT INTO fts VALUES ('note')")
        }
    }

    /// By what an error would have to be looked for; each gets "note" and "note\0x", of which only the first means anything.
    static let calls: [(String, Call)] = [
        ("SQL", { try $0.db.execute(SQL(raw: "SELECT 1 -- \($1)")) }),
        ("a script", { try $0.db.execute(SQLScript("SELECT 1 -- \($1)")) }),
        ("a script's file", { fixture, name in
            try Data("SELECT 1".utf8).write(to: fixture.folder.url.appendingPathComponent("script-note"))
            try fixture.db.execute(SQLScript(contentsOf: URL(fileURLWithPath: fixture.folder.url.path + "/script-" + name)))
        }),
        ("a prepared statement", { _ = try $0.db.prepare(SQL(raw: "SELECT '\($1)'")) }),
        ("an identifier", { try $0.db.execute("SELECT \(identifier: $1) FROM note") }),
        ("a column by name", { fixture, name in try fixture.db.forEach("SELECT note FROM note") { _ = try $0[name] as String } }),
        ("a copy's column", { _ = try #require(try $0.db.fetchOne(OwnedRow.self, "SELECT note FROM note"))[$1] as String }),
        ("a parameter", { _ = try $0.db.fetchOne(Int.self, "SELECT :note", [$1: 1]) }),
        ("a parameter with its sign", { _ = try $0.db.fetchOne(Int.self, "SELECT :note", [":" + $1: 1]) }),
        ("a table", { if try !$0.db.main.hasTable($1) { throw Nothing() } }),
        ("a table's columns", { if try $0.db.main.columns(of: $1).isEmpty { throw Nothing() } }),
        ("a table's indexes", { if try $0.db.main.indexes(of: $1).isEmpty { throw Nothing() } }),
        ("a table's description", { if try $0.db.main.table($1) == nil { throw Nothing() } }),
        ("a schema", { _ = try $0.db.schema($1 == "note" ? "other" : "other\0x") }),
        ("attaching", { try $0.db.attach(.memory, as: $1, key: nil) }),
        ("a path", { _ = try Connection(.file($0.folder.url.path + "/" + $1), key: .passphrase("k").quick) }),
        ("a backup", { try $0.db.main.backup(toFileAt: $0.folder.url.path + "/new-" + $1) }),
        ("key slots", { fixture, name in
            let place = KeySlots.Place.file(fixture.folder.url.path + "/slots-" + name)
            let location = DatabaseLocation.file(fixture.folder.path("slotted"))
            _ = try KeySlots.create(.passphrase("one"), label: "a", for: location, at: place, derivation: .quick)
        }),
        ("a slot's label", { fixture, name in
            let location = DatabaseLocation.file(fixture.folder.path("slotted"))
            _ = try KeySlots.create(.passphrase("one"), label: name, for: location, derivation: .quick)
        }),
        ("a function", { try $0.db.register(.function($1) { 1 }) }),
        ("a collation", { try $0.db.register(.collation($1) { _, _ in .orderedSame }) }),
        ("a tokenizer", { try $0.db.register(.tokenFilter(FTS5CompatibilityFolding(), as: $1)) }),
        ("a blob", { _ = try $0.db.main.openBlob(table: $1, column: "note", rowID: 1) }),
        ("a new table", { fixture, name in try fixture.db.create(SQLTable("new " + name) { SQLColumn("a") }) }),
        ("a new column", { fixture, name in try fixture.db.create(SQLTable("new") { SQLColumn(name) }) }),
        ("a default", { fixture, name in try fixture.db.create(SQLTable("new") { SQLColumn("a").default(name) }) }),
        ("an insertion", { try $0.db.insert(["id": 7], into: $1) }),
        ("a coding key", { try $0.db.insert([$1: 7], into: "note") }),
        ("a pragma", { _ = try $0.db.main.pragma($1 == "note" ? "user_version" : "user_version\0x", as: Int.self) }),
        ("a store", { _ = try KeyValueStore($1, in: $0.db) }),
        ("a migration", { fixture, name in
            var migrator = Migrator()
            migrator.add("a") { try $0.execute(SQL(raw: "CREATE TABLE \("new" + name)(a)")) }
            try migrator.migrate(fixture.db)
        }),
        ("a recorder", { _ = try ChangeRecorder($0.db.main, tables: [$1]) }),
        ("a copied table", { try $0.db.main.copyTables([$1], to: $0.attached) }),
        ("a full-text table", { _ = try $0.db.fullText($1 == "note" ? "fts" : "fts\0x") }),
        ("a full-text column", {
            let query = FTS5Query.columns([$1], "note")
            _ = try $0.db.fullText("fts").search(query).hits.first.map { _ in true } ?? { throw Nothing() }()
        }),
        ("a new full-text table", { try $0.db.create(FTS5Table("new_" + $1, columns: ["a"])) }),
        ("a pattern", {
            let condition = LikePattern.hasPrefix($1).condition(on: "note")
            if try $0.db.fetchOne(Int.self, "SELECT id FROM note WHERE \(condition)") == nil { throw Nothing() }
        }),
        ("a path in JSON", { _ = try #require(try $0.db.fetchOne(Int.self, "SELECT j ->> ? FROM note", [JSONPath($1)])) }),
        ("a path as a literal", {
            let value = JSONExpression(column: "j").value($1)
            _ = try #require(try $0.db.fetchOne(Int.self, "SELECT \(value) FROM note"))
        }),
        ("a path as text", { _ = try JSONPath(parsing: $1 == "note" ? "$.note" : "$.\"note\\u0000x\"") }),
        ("a changed document", { try $0.db.main.updateJSON("j", in: "note", where: "TRUE", .set($1, to: 2)) }),
        ("a removed member", { try $0.db.main.updateJSON("j", in: "note", where: "TRUE", .remove(JSONPath($1))) }),
        ("a patched document", { try $0.db.main.updateJSON("j", in: "note", where: "TRUE", .patch([$1: 1])) }),
        ("a made object", { _ = try $0.db.fetchOne(String.self, "SELECT \(JSONExpression.object([$1: "1"]))") }),
        ("a bound document", { _ = try $0.db.fetchOne(JSONValue.self, "SELECT \(JSONValue.object([$1: 1]))") }),
        ("a coded document", { _ = try $0.db.fetchOne(String.self, "SELECT json(\(JSONColumn([$1: 1])))") }),
        ("a stored document", { try KeyValueStore("store", in: $0.db).set("k", to: [$1: 1]) }),
        ("an index on JSON", { try $0.db.main.createJSONIndex("new", on: "note", column: "j", $1) }),
        ("a column on JSON", { try $0.db.main.addJSONColumn("new", to: "note", from: "j", at: $1) }),
        ("a full-text column on JSON", { fixture, name in
            try fixture.db.create(FTS5Table("new", columns: [.json("a", in: "j", at: JSONPath(name))],
                content: .external(table: "note")))
        }),
    ]

    struct Nothing: Error {}

    @Test(arguments: calls.indices) func nullCharacterInNamesIsRefused(_ index: Int) throws {
        let (name, call) = Self.calls[index]
        #expect(throws: Never.self, "\(name)") { try call(Fixture(), "note") }
        let fixture = try Fixture()
        let content = try Contents.of(fixture.db)
        #expect(throws: (any Error).self, "\(name)") { try call(fixture, "note\0x") }
        #expect(try Contents.of(fixture.db) == content, "\(name)")
    }

    @Test func boundTextKeepsNullCharacter() throws {
        let fixture = try Fixture()
        let store = try KeyValueStore("store", in: fixture.db)
        for (number, key) in ["note", "note\0", "note\0x", "note\0y"].enumerated() { try store.set(key, to: number) }
        #expect(try store.get("note\0x") == 2 && store.get("note") == 0 && store.keys(prefix: "note\0").count == 3)
        try fixture.db.execute("UPDATE note SET note = \("note\0x")")
        #expect(try fixture.db.fetchOne(String.self, "SELECT note FROM note") == "note\0x")
        #expect(try fixture.db.fetchOne(Int.self, "SELECT count(*) FROM note WHERE note = \("note")") == 0)
        try fixture.db.execute("UPDATE note SET j = \(JSONValue.object(["a": "x\0y"]))")
        #expect(try fixture.db.fetchOne(JSONValue.self, "SELECT j FROM note")?["a"] == "x\0y")
    }

    /// SQL and Swift never find two different values under a key.
    @Test func jsonKeysWithNullCharacterAreRefused() throws {
        let db = try Connection(.memory)
        for text in [#"{"role\u0000x":"admin","role":"user"}"#, #"{"a":[{"role\u0000x":"admin","role":"user"}]}"#,
            #"{"role":"user","\u0000":1}"#] {
            #expect(throws: DatabaseError.self) { try JSONValue(text: text) }
            let jsonb = try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(text))"))
            #expect(throws: DatabaseError.self) { try JSONValue(jsonb: jsonb) }
            #expect(throws: (any Error).self) { try JSONBDecoder().decode([String: String].self, from: jsonb) }
            #expect(throws: (any Error).self) { try JSONBDecoder().decode([String: String].self, fromText: text) }
        }
        let value = #"{"role":"admin\u0000x"}"#
        #expect(try JSONValue(text: value) == ["role": "admin\0x"])
        let jsonb = try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(value))"))
        #expect(try JSONValue(jsonb: jsonb) == ["role": "admin\0x"])
    }
}

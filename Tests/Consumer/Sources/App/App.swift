import SQLCipherKit

@main struct App {
    static func main() throws {
        let file = DatabaseLocation.file(CommandLine.arguments[1])
        let db = try Connection(file, key: .passphrase("correct horse"))
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, meta BLOB)")
        try db.create(FTS5Table("note_fts", columns: ["body"], content: .external(table: "note"), tokenizer: .porter(.unicode61())))
        let meta: JSONValue = ["tags": ["bread", "plans"]]
        try db.execute("INSERT INTO note(body, meta) VALUES (\("First we bake, then we sell."), \(meta))")
        for hit in try db.fullText("note_fts").search("baking").hits { print(hit.snippet ?? "") }
        print(try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")]))
        db.close()
        do {
            _ = try Connection(file, key: .passphrase("wrong"))
        } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
            print("wrong key")
        }
        print(SQLCipherEngine.sqliteVersion)
    }
}

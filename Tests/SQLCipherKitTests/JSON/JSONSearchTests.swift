import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Full-text search in documents, through every kind of write.
@Suite struct JSONSearchTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        // A name that json_tree has as well.
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, slug TEXT UNIQUE, value)")
    }

    private func create() throws {
        try db.create(
            FTS5Table(
                "note_fts",
                columns: [
                    .json("city", in: "value", at: JSONPath("city")), .json("words", in: "value", at: JSONPath("tags"), JSONPath("it's", "x\"")),
                ],
                content: .external(table: "note")))
    }

    private func hits(_ text: String) throws -> [Int64] {
        try db.fetchAll(Int64.self, "SELECT rowid FROM note_fts WHERE note_fts MATCH \(text) ORDER BY rowid")
    }

    /// FTS5's own check of the index against the documents.
    private func checkIntegrity() throws { try db.execute("INSERT INTO note_fts(note_fts, rank) VALUES ('integrity-check', 1)") }

    @Test func jsonIndexFindsWordsAtItsPaths() throws {
        let document: JSONValue = [
            "city": "Sankt Gallen", "tags": ["harbour", [["Hafen"], 5.5], 1871, true], "it's": ["x\"": "quoted \"words\"\nbelow"], "other": "unseen",
        ]
        try db.execute("INSERT INTO note(slug, value) VALUES ('a', \(document)), ('b', \(document.text())), ('c', NULL), ('d', '{}')")
        try create()
        for query in ["harbour", "words:hafen", "1871", "city:gallen", "words:below", "\"quoted words\""] {
            #expect(try hits(query) == [1, 2], "\(query)")
        }
        for query in ["unseen", "slug", "tags", "true", "city:harbour"] { #expect(try hits(query).isEmpty, "\(query)") }
        let hit = try #require(try db.fullText("note_fts").search("gallen").hits.first)
        // The newest of equal rows first.
        #expect(hit.rowID == 2)
        try checkIntegrity()
    }

    @Test func jsonIndexFollowsWritesAndRollbacks() throws {
        try create()
        try db.execute("INSERT INTO note(slug, value) VALUES ('a', \(["city": "Roma", "tags": ["old"]] as JSONValue))")
        try db.main.updateJSON("value", in: "note", where: "id = 1", .append("newer", toArrayAt: "tags"), .set("city", to: "Bern"))
        #expect(try hits("bern") == [1] && hits("newer") == [1] && hits("roma").isEmpty)
        try db.execute("REPLACE INTO note(slug, value) VALUES ('a', \(#"{"city":"Genf"}"#))")
        #expect(try hits("genf") == [2] && hits("bern").isEmpty)
        try db.execute("INSERT INTO note(slug, value) VALUES ('a', '{}') ON CONFLICT DO UPDATE SET value = json_set(value, '$.city', 'Basel')")
        #expect(try hits("basel") == [2] && hits("genf").isEmpty)
        #expect(throws: DatabaseError.self) { try db.execute("UPDATE note SET value = 'no JSON'") }
        try? db.transaction { db in
            try db.execute("UPDATE note SET value = NULL")
            throw CancellationError()
        }
        #expect(try hits("basel") == [2])
        try checkIntegrity()
        try db.execute("DELETE FROM note")
        #expect(try hits("basel").isEmpty)
        try checkIntegrity()
    }

    @Test func randomJSONWritesMatchSQLSearch() throws {
        try create()
        var random = SeededGenerator(state: 5)
        let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
        func word() -> JSONValue { .string(words.randomElement(using: &random) ?? "") }
        for _ in 0..<1000 {
            let id = Int.random(in: 1...20, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try db.execute("REPLACE INTO note(id, slug, value) VALUES (\(id), \("s\(id / 2)"), \(["city": word(), "tags": [word(), word()]] as JSONValue))")
            case 1: try db.main.updateJSON("value", in: "note", where: "id = \(id)", .append(word(), toArrayAt: "tags"))
            case 2: try db.main.updateJSON("value", in: "note", where: "id > \(id)", .set("city", to: word()), .remove(JSONPath("tags", 0)))
            case 3: try db.execute("DELETE FROM note WHERE id = \(id)")
            case 4: try db.main.updateJSON("value", in: "note", where: "id = \(id)", .patch(["it's": ["x\"": word()]]))
            default: try db.execute("UPDATE OR REPLACE note SET slug = \("s\(id)") WHERE id = \(id + 1)")
            }
        }
        try checkIntegrity()
        for word in words {
            let expected = try db.fetchAll(Int64.self, """
                SELECT DISTINCT note.id FROM note, json_tree(note.value) AS t WHERE t.atom = \(word)
                AND (t.fullkey LIKE '$.city' OR t.fullkey LIKE '$.tags%' OR t.fullkey LIKE '$."it''s"%') ORDER BY 1
                """)
            #expect(try hits(word) == expected, "\(word)")
        }
    }
}

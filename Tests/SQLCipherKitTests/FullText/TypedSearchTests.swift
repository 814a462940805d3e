import SQLCipherKit
import Testing

/// What people type, and what it finds.
@Suite struct TypedSearchTests {
    @Test func aFirstLook() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("note", columns: ["title", "body"]))
        let texts = [
            ("Foxes", "The quick brown fox jumps over the lazy dog"), ("Runners", "She was running through the university library"),
            ("Cooking", "How to bake bread and other things that run"), ("Function", "A function of the libraries in Swift"),
        ]
        for (title, body) in texts { try db.execute("INSERT INTO note(title, body) VALUES (\(title), \(body))") }
        let index = try db.fullText("note")
        for text in ["quick bro", "quikc bro", "universi", "runnin", "runs", "libary", "teh funtion", "fox bread", "\"brown fox\"", "q", "-dog fox", "title:cook", ""] {
            let found = try index.search(typed: text)
            print(text, "->", found.hits.map { "\($0.rowID) w\($0.words) t\($0.typos) p\($0.proximity) c\($0.column) e\($0.exactness) \($0.snippet ?? "")" },
                  found.words.map { "\($0.typed): \($0.matches.map(\.text))" }, found.total, found.isExhaustive)
        }
    }
}

import SQLCipherKit

/// Typed texts, and the texts in which they are searched.
extension FuzzTarget {
    /// A query, typed by a person and as FTS5's own.
    static let query = FuzzTarget(name: "query", maximumBytes: 400) {
        [
            "\"quick brown\" fox* -lazy", "title:one OR (jumps AND over)", "NEAR(quick fox, 3)", "quikc brwon", "{title body} : ^one + two",
            "\u{6771}\u{4EAC}2020", "NOT OR AND \" ( ) -", "caf\u{E9} stra\u{DF}e \u{915}\u{93E}\u{92E}",
        ].map { Array($0.utf8) }
    } body: { input in
        let text = String(decoding: input, as: UTF8.self)
        for index in try indexes.get().lists {
            let db = index.connection
            _ = try? db.fetchAll(Int.self, "SELECT rowid FROM \(identifier: index.name) WHERE \(identifier: index.name) MATCH \(text) LIMIT 20")
            // No input of a person is an error.
            let hits = try index.search(FTS5Query.phrase(text, prefix: true), limit: 5).hits
            let found = try index.search(text, limit: 5)
            try require(Set(hits.map(\.rowID)).count == hits.count, "a row is found twice")
            try require(Set(found.hits.map(\.rowID)).count == found.hits.count, "a row is found twice by a search for what was typed")
        }
    }

    /// A document in any script, through each tokenizer.
    static let tokens = FuzzTarget(name: "tokens", maximumBytes: 1000) {
        [
            "The quick brown fox", "\u{6771}\u{4EAC}2020\u{5E74} WeChat\u{5FAE}\u{4FE1}", "\u{D55C}\u{AD6D}\u{C5B4} \u{1112}\u{1161}\u{11AB}",
            "\u{915}\u{940}\u{92E}\u{93E} \u{643}\u{650}\u{62A}\u{627}\u{628}", "\u{FF76}\u{FF9E} e\u{301} \u{1F468}\u{200D}\u{1F469}", "a\0b",
        ].map { Array($0.utf8) }
    } body: { input in
        let db = try indexes.get().connection
        let text = String(decoding: input, as: UTF8.self)
        let bytes = input
        for index in try indexes.get().lists {
            for token in try index.tokens(of: text, for: .document) {
                try require(token.range.upperBound <= text.endIndex, "a token ends behind its text")
            }
            // The raw bytes too, which need not be UTF-8.
            try db.transaction { db in
                try db.execute("INSERT INTO \(identifier: index.name)(rowid, title, body) VALUES (99, \(text), CAST(\(bytes) AS TEXT))")
                let word = String(text.prefix(3))
                for hit in try index.search(FTS5Query.prefix(word), limit: 5).hits {
                    try require((hit.snippet?.text.utf8.count ?? 0) <= 8 * (input.count + 100), "a snippet is longer than its text")
                }
                var typed = FullTextSearch(word)
                typed.highlightedColumns = ["title", "body"]
                _ = try index.search(typed)
                try require(try index.passesIntegrityCheck(), "the index and its content differ")
                try db.execute("DELETE FROM \(identifier: index.name) WHERE rowid = 99")
            }
        }
    }

    /// Sendable because targets run one after another, as `FuzzTests` sees to.
    private struct Indexes: @unchecked Sendable {
        let connection: Connection
        let lists: [FullTextIndex]
    }

    private static let indexes = Result<Indexes, any Error> {
        let db = try Connection(.memory)
        let tokenizers: [FTS5Tokenizer] = [.multilingual(), .porter(.unicode61()), .trigram(), .multilingual(removesVowelSigns: false)]
        let lists = try tokenizers.enumerated().map { number, tokenizer in
            let name = "fts\(number)"
            try db.create(FTS5Table(name, columns: ["title", "body"], tokenizer: tokenizer))
            try db.execute("INSERT INTO \(identifier: name) VALUES ('one', 'the quick brown fox'), ('two', 'jumps over the lazy dog')")
            try db.execute("INSERT INTO \(identifier: name) VALUES ('caf\u{E9}', '\u{6771}\u{4EAC}2020 \u{915}\u{93E}\u{92E}')")
            return try db.fullText(name)
        }
        return Indexes(connection: db, lists: lists)
    }
}

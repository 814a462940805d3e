import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// A search reads lists of rows itself, and leaves to FTS5 those of an index from which rows are deleted securely. Both find the
/// same, whatever pages and segments the lists are on.
@Suite struct SearchListTests {
    private static let vocabulary = ["alpha", "alphabet", "alpine", "beta", "betas", "gamma", "gammon", "delta", "omega"]
    private static let typed = [
        "a", "al", "alpha", "alhpa", "beta alp", "alpha beta gamma", "gammon omega delt", "\"alpha beta\"", "delta -beta ", "omgea betas",
        "title:beta alpha", "unseen alpha gamma omega",
    ]

    private func text(_ random: inout SeededGenerator) -> String {
        // A few words, or so many that their positions take several pages.
        let count = Int.random(in: 0...29, using: &random) == 0 ? 400 : Int.random(in: 0...8, using: &random)
        return (0..<count).map { _ in Self.vocabulary[min(Int.random(in: 0...8, using: &random), Int.random(in: 0...8, using: &random))] }
            .joined(separator: " ")
    }

    /// All rows and how they match, but not their order: it follows how rare each word is about, which is read off the pages that
    /// its list is on, and these change with the index.
    private func found(_ db: Connection, _ typed: String) throws -> [String] {
        var search = FullTextSearch(typed, limit: 600)
        (search.snippet, search.rankingRules) = (nil, [.words, .field, .place, .exactness])
        return try db.fullText("t").search(search).hits.map {
            "\($0.rowID) w\($0.matchedWordCount) t\($0.typoCount) \($0.field) \($0.place) e\($0.inexactness)"
        }.sorted()
    }

    @Test(arguments: [32, 50, 400, 4_050], [FTS5Table.Detail.full, .column])
    func directlyReadDoclistsMatchFTS5(pageSize: Int, detail: FTS5Table.Detail) throws {
        for isInOrder in [true, false] {
            let db = try Connection(.memory)
            try db.create(FTS5Table("t", columns: ["title", "body"], detail: detail))
            let index = try db.fullText("t")
            for setting: FullTextIndex.Setting in [.pageSize(pageSize), .other("automerge", 0), .other("crisismerge", 100)] {
                try index.configure(setting)
            }
            var random = SeededGenerator()
            for _ in 0..<8 {
                try db.transaction { db in
                    for _ in 0..<60 {
                        let row: SQL = isInOrder ? "NULL" : "\(Int64.random(in: -300...300, using: &random) * (1 << 40))"
                        try db.execute("INSERT OR REPLACE INTO t(rowid, title, body) VALUES (\(row), \(text(&random)), \(text(&random)))")
                        if Int.random(in: 0...4, using: &random) == 0 {
                            let place = Int.random(in: 0...200, using: &random)
                            try db.execute("DELETE FROM t WHERE rowid = (SELECT rowid FROM t LIMIT 1 OFFSET \(place))")
                        }
                    }
                    try db.execute("INSERT OR REPLACE INTO t(rowid, title) VALUES (12345, 'unrelated')")
                }
                if Bool.random(using: &random) { _ = try index.merge(pages: 5) }
            }
            let read = try Self.typed.map { try found(db, $0) }
            #expect(try index.settings["version"] == 4 && read.allSatisfy { !$0.isEmpty })
            try index.configure(.secureDelete(true))
            try db.execute("DELETE FROM t WHERE rowid = 12345")
            try db.execute("INSERT INTO t(rowid, title) VALUES (12345, 'unrelated')")
            #expect(try index.settings["version"] == 5)
            for (typed, read) in zip(Self.typed, read) { #expect(try found(db, typed) == read, "\(typed) \(isInOrder)") }
        }
    }

    /// The rarity of a word decides the order. A list may begin at the end of one page, and go on to pages that hold a few long
    /// rows, or that a secure deletion has emptied.
    @Test(arguments: [FTS5Table.Detail.full, .column, .none], [false, true])
    func documentCountEstimateIsWithinAnEighth(detail: FTS5Table.Detail, isSecure: Bool) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["body"], detail: detail))
        let index = try db.fullText("t")
        for setting: FullTextIndex.Setting in [.pageSize(500), .secureDelete(isSecure)] { try index.configure(setting) }
        var random = SeededGenerator()
        for _ in 0..<4 {
            try db.transaction { db in
                for _ in 0..<150 {
                    let body = (0..<Int.random(in: 20...200, using: &random)).map { _ in
                        "w\(Int.random(in: 0...Int.random(in: 0...1_000, using: &random), using: &random))"
                    }
                    try db.execute("INSERT INTO t(body) VALUES (\(body.joined(separator: " ")))")
                }
            }
        }
        if isSecure { try db.execute("DELETE FROM t WHERE rowid % 3 = 0") }
        for term in try index.terms(byFrequency: true, limit: 300) {
            let word = try index.search(FullTextSearch(term.term, limit: 1)).words.first
            let counted = word?.matches.first { $0.kind == .exact }?.documents ?? 0
            #expect(abs(counted - term.documents) <= max(term.documents, counted) / 8, "\(term.term): \(term.documents), not \(counted)")
        }
    }
}

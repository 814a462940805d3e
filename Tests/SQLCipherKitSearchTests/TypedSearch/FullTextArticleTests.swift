import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// The examples of the article "Search", in its order.
@Suite struct FullTextArticleTests {
    @Test(.timeLimit(.minutes(60))) func searchArticleCodeWorks() async throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE note(
                id INTEGER PRIMARY KEY, title TEXT, body TEXT,
                created TEXT, likes INTEGER, tags TEXT)
            """)
        try db.create(
            FTS5Table(
                "note_fts", columns: ["title", "body"],
                content: .external(table: "note"),
                tokenizer: .multilingual()))
        let body = "The quick brown fox jumps over the lazy dog"
        try db.execute("""
            INSERT INTO note(title, body, created, likes, tags)
            VALUES ('Foxes', \(body), '2026-11-23', 7, '["animal"]')
            """)

        let notes = try db.fullText("note_fts")
        let found = try notes.search("quikc jumped fo", limit: 20)
        for hit in found.hits {
            // 1 The [quick] brown [fox] [jumps] over the lazy dog
            print(hit.rowID, hit.snippet ?? "")
            #expect("\(hit.rowID) \(hit.snippet ?? "")" == "1 The [quick] brown [fox] [jumps] over the lazy dog")
        }
        var understood: [String] = []
        for word in found.words {
            // quikc quick, jumped jumps, fo fox
            print(word.typed, word.matches.first?.text ?? "nothing")
            understood.append("\(word.typed) \(word.matches.first?.text ?? "nothing")")
        }
        #expect(found.hits.count == 1 && understood == ["quikc quick", "jumped jumps", "fo fox"])

        do {
            let folder = try TemporaryFolder()
            let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
            try await pool.write { db in
                try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
                try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
            }
            @MainActor
            final class SearchField {
                let pool: DatabasePool
                private(set) var hits: [FullTextSearch.Hit] = []
                private(set) var error: (any Error)?
                private var searching: Task<Void, Never>?

                init(_ pool: DatabasePool) { self.pool = pool }

                func search(_ text: String) {
                    searching?.cancel()
                    error = nil
                    let results = pool.observe { db in
                        try db.fullText("note_fts").search(text, limit: 20).hits
                    }.removingDuplicates()
                    searching = Task {
                        do {
                            for try await hits in results { self.hits = hits }
                        } catch {
                            // The error of a cancelled search does not count.
                            if !Task.isCancelled { self.error = error }
                        }
                    }
                }

                func cancel() { searching?.cancel() }
            }
            let field = await SearchField(pool)
            await field.search("q")
            await field.search("quikc")
            try await pool.write { db in try db.execute("INSERT INTO note VALUES (5, 'a quick fox')") }
            try await suspendUntil("a hit") { await field.hits.map(\.rowID) == [5] }
            await field.search("lazy")
            try await suspendUntil("no hit") { await field.hits.isEmpty }
            #expect(await field.error == nil)
            // The table is gone.
            try await pool.write { db in try db.fullText("note_fts").drop() }
            await field.search("fox")
            try await suspendUntil("an error") { await field.error != nil }
            await field.cancel()
        }

        try db.execute("""
            INSERT INTO note(title, body)
            VALUES ('Technik', 'Grafikkarten, Grafik, Häuser')
            """)
        var german = FullTextSearch("Karte Haus ")
        german.languages = [.german]
        for hit in try notes.search(german).hits {
            // 2 [Grafikkarten], Grafik, [Häuser]
            print(hit.rowID, hit.snippet ?? "")
            #expect(hit.rowID == 2 && hit.snippet?.description == "[Grafikkarten], Grafik, [Häuser]" && hit.matchedWordCount == 2)
        }
        #expect(try notes.search(german).hits.count == 1)

        var chosen = FullTextSearch("brown fox")
        chosen.filter = "created >= \("2010-01-01")"
        chosen.weights = [1, 5]
        chosen.rankingRules = [.words, .exactness, .relevance]
        chosen.synonyms = [FullTextSearch.Synonym("reynard", finds: ["fox"])]
        chosen.stopWords = FullTextSearch.englishStopWords
        chosen.highlightedColumns = ["title"]
        let ranked = try notes.search(chosen)
        #expect(ranked.hits.map(\.rowID) == [1])

        var lively = FullTextSearch("fox")
        lively.decay = FullTextSearch.Decay(
            "julianday('now') - julianday(created)", halfLife: 30)
        lively.popularity = FullTextSearch.Popularity("likes", pivot: 100)
        let liked = try notes.search(lively)
        #expect(liked.hits.count == 1)

        var grouped = FullTextSearch("fox")
        grouped.facets = [
            "tags": .elements("tags"),
            "months": .dates("created", by: .month),
            "likes": .ranges("likes", bounds: [1, 10, 100]),
        ]
        let counted = try notes.search(grouped)
        for tag in counted.facets["tags"] ?? [] {
            print(String(sqlValue: tag.value) ?? "", tag.count)   // animal 1
            #expect(String(sqlValue: tag.value) == "animal" && tag.count == 1)
        }
        print(counted.total)                               // 1
        #expect(counted.total.count == 1 && counted.facets["months"]?.map(\.value) == ["2026-11"])
        #expect(counted.facets["likes"]?.map(\.count) == [0, 1, 0, 0])

        try db.create(FTS5Table(
            "mail_fts", columns: ["subject", "folder"],
            tokenizer: .multilingual()))
        try db.execute(
            "INSERT INTO mail_fts VALUES ('A fox in the garden', 'inbox')")
        let mails = try db.fullText("mail_fts")

        let both = try db.search("fox", in: [notes, mails])
        for hit in both.hits {
            // main note_fts 1, main mail_fts 1
            print(hit.schema, hit.table, hit.rowID)
        }
        let sorted = try db.search(
            lively, in: [notes, mails]
        ) { search, index in
            guard index.name == "mail_fts" else { return }
            search.filter = "folder <> 'trash'"
            search.decay = nil
            search.popularity = nil
        }
        #expect(both.hits.map(\.table) == ["note_fts", "mail_fts"] && sorted.hits.count == 2)

        let query = FTS5Query.phrase("fox")
            .excluding(.phrase("lazy cat"))
        var lines: [String] = []
        for hit in try notes.search(query, limit: 20).hits {
            // 1, the score, The quick brown [fox] jumps over the lazy dog
            print(hit.rowID, hit.score, hit.snippet ?? "")
            lines.append("\(hit.rowID) \(hit.snippet ?? "")")
            #expect(hit.score > 0)
        }
        #expect(lines == ["1 The quick brown [fox] jumps over the lazy dog"])

        var search = FullTextSearch(query)
        search.filter = "likes > \(5)"
        search.order = .sql("created DESC")
        search.facets = ["years": .dates("created", by: .year)]
        let newest = try notes.search(search)
        #expect(newest.hits.map(\.rowID) == [1] && newest.facets["years"]?.map(\.value) == ["2026"] && newest.total.count == 1)

        let stopWords = FullTextSearch.englishStopWords
        try db.register(.stopWords(
            stopWords, base: .porter(.unicode61()), as: "english"))
        try db.register(.synonyms(
            [["car", "automobile"]], base: .custom("english"), as: "synonyms"))
        try db.register(.compatibilityFolding(as: "folded"))
        try db.register(.cjkTokenizer(as: "cjk"))
        try db.register(.codeTokenizer(as: "code"))
        try db.create(
            FTS5Table(
                "source", columns: ["line"], tokenizer: .custom("code")))

        let words = try notes.suggestions(for: "the qui")
        let meant = try notes.correctedText("quikc fox")      // quick fox
        #expect(words.map(\.term) == ["quick"] && meant == "quick fox")

        try notes.optimize()
        let isSound = try notes.passesIntegrityCheck()
        let size = try notes.size().total
        try notes.configure(.secureDelete(true))
        #expect(isSound && size > 0)
    }
}

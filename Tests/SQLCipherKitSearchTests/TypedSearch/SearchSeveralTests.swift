import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// One search of several indexes.
@Suite struct SearchSeveralTests {
    /// A hit's values for the rules before the relevance.
    private struct Key: Hashable, CustomStringConvertible {
        var row: Int64
        var rules: [Int]
        var description: String { "\(row)\(rules)" }

        init(_ hit: FullTextSearch.Hit) {
            row = hit.rowID
            rules = [-hit.matchedWordCount, hit.field.rawValue, hit.place.rawValue, hit.inexactness, hit.typoCount]
        }
    }

    private static let words = FacetModel.vocabulary + ["gammas", "running", "runs", "ran", "run", "delt", "om"]

    /// One index with all rows, and several that have a part of them each.
    private func split(
        _ count: Int, parts: Int, seed: UInt64 = Seed.value
    ) throws -> (Connection, whole: FullTextIndex, parts: [FullTextIndex]) {
        let db = try Connection(.memory)
        try db.attach(.memory, as: "other", key: .plaintext)
        let other = try db.schema("other")
        try db.create(FTS5Table("whole", columns: ["a", "b"]))
        var indexes: [FullTextIndex] = []
        for place in 0..<parts {
            // The names are alike, and hostile.
            let name = place % 2 == 0 ? "no\"te' \(place)" : "no\"te' \(place - 1)"
            let schema = place % 2 == 0 ? db.main : other
            try schema.create(FTS5Table(name, columns: ["a", "b"]))
            indexes.append(try schema.fullText(name))
        }
        var random = SeededGenerator(state: seed)
        try db.transaction { db in
            for id in 1...count {
                let texts = [Int.random(in: 0...3, using: &random), Int.random(in: 0...9, using: &random)].map { count in
                    (0..<count).map { _ in Self.words.randomElement(using: &random) ?? "" }.joined(separator: " ")
                }
                let part = indexes[Int.random(in: 0..<parts, using: &random)]
                for table in ["main.whole", "\(part.schema.name).\(part.name.quotedSQLIdentifier)"] {
                    try db.execute("INSERT INTO \(raw: table)(rowid, a, b) VALUES (\(id), \(texts[0]), \(texts[1]))")
                }
            }
        }
        return (db, try db.fullText("whole"), indexes)
    }

    /// With the second seed, a row with a typing error once came before others only where more rows were asked for.
    @Test(arguments: [2, 3], [Seed.value, 15]) func searchOfSplitIndexMatchesWholeIndex(_ parts: Int, seed: UInt64) throws {
        let (db, whole, indexes) = try split(250, parts: parts, seed: seed)
        var random = SeededGenerator(state: seed)
        for round in 0..<30 {
            var typed = (0..<Int.random(in: 1...3, using: &random)).map { _ in Self.words.randomElement(using: &random) ?? "" }
            if round % 5 == 0 { typed.append("xylophone") }
            var search = FullTextSearch(typed.joined(separator: " ") + (Bool.random(using: &random) ? " " : ""), limit: 1_000)
            search.prefixMatching = [.none, .lastWord, .everyWord].randomElement(using: &random) ?? .none
            search.languages = Bool.random(using: &random) ? [.english] : []
            search.dropTokensThreshold = [0, 5, 1_000].randomElement(using: &random) ?? 5
            search.countsAll = Bool.random(using: &random)
            let (one, several) = (try whole.search(search), try db.search(search, in: indexes))
            #expect(several.total == one.total && several.hasDroppedTokens == one.hasDroppedTokens, "\(search.text)")
            // Rows that these rules tell apart are in the same order, and all rows are the same. What a word costs that is typed
            // otherwise depends on how rare it is, which is read off each index, nearly.
            let typedWords = one.words.count
            let ordered = [several, one].map { found in
                found.hits.filter { $0.matchedWordCount == typedWords && $0.typoCount == 0 && $0.inexactness == 0 }.map { Key($0).rules }
            }
            #expect(ordered[0] == ordered[1], "\(search.text)")
            #expect(Set(several.hits.map(Key.init)) == Set(one.hits.map(Key.init)))
            #expect(Set(several.hits.map(\.id)).count == several.hits.count)
            for hit in several.hits {
                let index = indexes[hit.indexPosition]
                #expect(hit.table == index.name)
                let table = "\(index.schema.name).\(index.name.quotedSQLIdentifier)"
                #expect(try db.fetchOne(Int.self, "SELECT 1 FROM \(raw: table) WHERE rowid = \(hit.rowID)") == 1)
            }
            for (word, other) in zip(several.words, one.words) {
                #expect(word.typed == other.typed && word.range == other.range && word.isUnknown == other.isUnknown)
                #expect(Set(word.matches.map(\.text)) == Set(other.matches.map(\.text)), "\(search.text)")
            }
            // Pages fit together.
            search.limit = 7
            var paged: [FullTextSearch.Hit.ID] = []
            search.dropTokensThreshold = 0
            let all = try db.search(search.with { $0.limit = 1_000 }, in: indexes).hits.map(\.id)
            while let page = Optional(try db.search(search, in: indexes).hits.map(\.id)), !page.isEmpty {
                paged += page
                search.offset += page.count
            }
            #expect(paged == all, "\(search.text)")
        }
    }

    @Test func relevanceCountsRowsOfAllIndexes() throws {
        let db = try Connection(.memory)
        for name in ["notes", "mails"] { try db.create(FTS5Table(name, columns: ["text"])) }
        try db.transaction { db in
            // "needle" is rare in the mails and frequent in the notes; "hay" the other way round.
            for row in 1...40 {
                try db.execute("INSERT INTO notes VALUES (\(row == 1 ? "hay here is all" : "needle here is all"))")
                try db.execute("INSERT INTO mails VALUES (\(row == 1 ? "needle here is all" : "hay here is all"))")
            }
        }
        let indexes = [try db.fullText("notes"), try db.fullText("mails")]
        var search = FullTextSearch("needle OR hay ", limit: 100)
        search.rankingRules = [.relevance]
        search.text = "needle "
        let found = try db.search(search, in: indexes)
        // Each index by itself would find its own rare word much more relevant.
        #expect(found.hits.count == 40 && Set(found.hits.map { ($0.score * 1e6).rounded() }).count == 1)
        #expect(found.hits.map(\.indexPosition) == Array(repeating: 0, count: 39) + [1])
    }

    @Test func searchCombinesIndexesWithDifferentTokenizers() throws {
        let db = try Connection(.memory)
        try db.register(.tokenFilter(FTS5StopWords(["the"], base: .unicode61()), as: "stop"))
        try db.create(FTS5Table("plain", columns: ["text"]))
        try db.create(FTS5Table("filtered", columns: ["text"], tokenizer: .custom("stop")))
        try db.create(FTS5Table("nothing", columns: ["text"], tokenizer: .custom("stop")))
        for (table, text) in [("plain", "the fox"), ("plain", "a fox"), ("filtered", "the fox"), ("filtered", "the dog")] {
            try db.execute("INSERT INTO \(raw: table) VALUES (\(text))")
        }
        let indexes = try ["plain", "filtered", "nothing"].map { try db.fullText($0) }
        let found = try db.search("the fox ", in: indexes)
        // A row of an index without stop words misses none of the words.
        #expect(found.hits.map(\.table) == ["plain", "filtered", "plain"] && found.hits.map(\.matchedWordCount) == [2, 1, 1])
        #expect(found.words.map(\.typed) == ["the", "fox"])
        #expect(try db.search("", in: indexes).hits.isEmpty)
    }

    @Test func searchOfSeveralTablesUsesOwnColumns() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, tags TEXT, created TEXT)")
        try db.execute("CREATE TABLE mail(id INTEGER PRIMARY KEY, subject TEXT, folder TEXT, labels BLOB, sent INTEGER)")
        try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        try db.create(FTS5Table("mail_fts", columns: ["subject"], content: .external(table: "mail")))
        try db.execute("INSERT INTO note VALUES (1, 'a fox', '[\"red\", \"animal\"]', '2026-11-23'), (2, 'no fox', '[]', '2025-01-01')")
        try db.execute(
            """
            INSERT INTO mail VALUES (1, 'Fox', 'inbox', jsonb('[\"red\"]'), unixepoch('2026-11-01')),
            (2, 'fox', 'trash', jsonb('[\"red\"]'), 0)
            """)
        let indexes = [try db.fullText("note_fts"), try db.fullText("mail_fts")]
        let month = FullTextSearch.Grouping.dates("created", by: .month)
        var search = FullTextSearch("fox ")
        search.facets = ["tag": .elements("tags"), "month": month]
        let found = try db.search(search, in: indexes) { search, index in
            search.highlightedColumns = [index.name == "note_fts" ? "title" : "subject"]
            guard index.name == "mail_fts" else { return }
            search.filter = "folder <> \("trash")"
            search.facets = ["tag": .elements("labels"), "month": .dates("sent", by: .month, form: .unixTime)]
            search.decay = FullTextSearch.Decay("1000", halfLife: 1)
        }
        #expect(Set(found.hits.map(\.table)) == ["note_fts", "mail_fts"] && found.total.count == 3)
        #expect(found.hits.compactMap { $0.highlights.first?.value.marked() }.sorted() == ["[Fox]", "a [fox]", "no [fox]"])
        #expect(found.facets["tag"]?.map(\.value) == ["red", "animal"] && found.facets["tag"]?.map(\.count) == [2, 1])
        #expect(found.facets["month"]?.map(\.value) == ["2026-11", "2025-01"] && found.facets["month"]?.map(\.count) == [2, 1])
        // Facets that only one of the tables has.
        let partly = try db.search(FullTextSearch("fox "), in: indexes) { search, index in
            if index.name == "note_fts" { search.facets = ["tag": .elements("tags")] }
        }
        #expect(partly.facets["tag"]?.count == 2 && partly.total.count == 4)
        // Ranges are counted together if they are the same.
        func ranges(_ bounds: [Double]) throws -> [Int]? {
            try db.search(FullTextSearch("fox "), in: indexes) { search, index in
                search.facets = ["id": .ranges("id", bounds: index.name == "note_fts" ? [2] : bounds)]
            }.facets["id"]?.map(\.count)
        }
        #expect(try ranges([2]) == [2, 2])
        #expect(throws: DatabaseError.self) { try ranges([3]) }
    }

    @Test func invalidMultiIndexSearchThrows() throws {
        let (db, whole, parts) = try split(60, parts: 2)
        let search = FullTextSearch("alpha")
        let changes: [(inout FullTextSearch) -> Void] = [
            { $0.text = "beta" }, { $0.limit = 1 }, { $0.offset = 1 }, { $0.rankingRules = [] }, { $0.dropTokensThreshold = 1 },
            { $0.highlightedColumns = ["none"] }, { $0.facets = ["a": .ranges("a", bounds: [1])] }, { $0.filter = "none = 1" },
        ]
        for change in changes {
            #expect(throws: DatabaseError.self) {
                var isFirst = true
                _ = try db.search(search, in: parts) { search, _ in
                    if isFirst { change(&search) } else { search.facets = ["a": .elements("a")] }
                    isFirst = false
                }
            }
        }
        let foreign = try split(1, parts: 1).parts
        for indexes in [[], [whole, whole], foreign, [whole] + foreign] {
            #expect(throws: DatabaseError.self) { try db.search(search, in: indexes) }
        }
        struct Stop: Error {}
        #expect(throws: Stop.self) { try db.search(search, in: parts) { _, _ in throw Stop() } }
        try db.execute("DROP TABLE whole")
        #expect(throws: DatabaseError.self) { try db.search(search, in: [parts[0], whole]) }
        #expect(try !db.isInTransaction && db.search(search, in: parts).words.count == 1)
    }

    /// An archive for each month: as many tables as there are, in several databases, and the record of each hit.
    @Test func anyNumberOfIndexesAreSearched() throws {
        struct Note: Decodable, Equatable { var id: Int64, title: String }
        let db = try Connection(.memory)
        try db.attach(.memory, as: "archive", key: .plaintext)
        var indexes: [FullTextIndex] = []
        for number in 0..<120 {
            let schema = number % 2 == 0 ? db.main : try db.schema("archive")
            // Each name is in both databases.
            let name = "m\(number / 2)"
            try db.execute("CREATE TABLE \(raw: schema.qualified(name))(id INTEGER PRIMARY KEY, title TEXT)")
            try db.execute("INSERT INTO \(raw: schema.qualified(name)) VALUES (1, \("note of \(schema.name) \(number)"))")
            try schema.create(FTS5Table("\(name)_fts", columns: ["title"], content: .external(table: name)))
            indexes.append(try schema.fullText("\(name)_fts"))
        }
        let found = try db.search("notes", in: indexes, limit: 200)
        #expect(found.hits.count == 120 && Set(found.hits.map { "\($0.schema) \($0.table)" }).count == 120)
        let records = try db.records(Note.self, of: found.hits)
        #expect(records.count == 120)
        for match in records {
            #expect(match.record.title == "note of \(match.hit.schema) \(match.hit.indexPosition)")
            #expect(indexes[match.hit.indexPosition].schema.name == match.hit.schema)
        }
        #expect(try db.search("archive 119", in: indexes, limit: 1).hits.first?.indexPosition == 119)
        try db.execute("DELETE FROM archive.m59")
        #expect(try db.records(Note.self, of: found.hits).count == 119)
    }
}

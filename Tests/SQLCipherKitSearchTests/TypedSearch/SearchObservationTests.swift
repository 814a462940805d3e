import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Typed searches that follow writes, and those that newer ones end.
@Suite(.timeLimit(.minutes(60))) struct SearchObservationTests {
    /// The shown result: the hits by their titles, and the tags.
    private struct Shown: Hashable, Sendable {
        var hits: [String]
        var tags: [SQLValue]
        var total: Int
    }

    private static func shown(_ found: FullTextSearch.Results) -> Shown {
        Shown(
            hits: found.hits.map { $0.highlights["title"]?.marked() ?? "" }, tags: (found.facets["tag"] ?? []).map(\.value),
            total: found.total.count)
    }

    @Test(arguments: Store.allCases) func observedSearchFollowsWrites(_ store: Store) async throws {
        let folder = try TemporaryFolder()
        let database = try store.open(folder)
        try await database.write { db in
            try db.execute("ALTER TABLE note ADD COLUMN tags TEXT")
            try db.execute("ALTER TABLE note ADD COLUMN likes INTEGER")
            try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        }
        var search = FullTextSearch("quikc fo")
        search.highlightedColumns = ["title"]
        search.filter = "n < \(10)"
        search.facets = ["tag": .elements("tags")]
        search.popularity = FullTextSearch.Popularity("likes", pivot: 10)
        let asked = search
        var found = database.observe { db in Self.shown(try db.fullText("note_fts").search(asked)) }
            .removingDuplicates().makeAsyncIterator()
        #expect(try await found.next() == Shown(hits: [], tags: [], total: 0))
        // Each of these changes what is shown: words, a filter's column, a facet's, a signal's.
        let writes: [(SQL, Shown)] = [
            ("INSERT INTO note(id, title, n, tags) VALUES (1, 'a quick fox', 0, '[]')", Shown(hits: ["a [quick] [fox]"], tags: [], total: 1)),
            ("UPDATE note SET tags = '[\"red\"]'", Shown(hits: ["a [quick] [fox]"], tags: ["red"], total: 1)),
            ("UPDATE note SET n = 10", Shown(hits: [], tags: [], total: 0)),
            ("UPDATE note SET n = 9", Shown(hits: ["a [quick] [fox]"], tags: ["red"], total: 1)),
            ("INSERT INTO note(id, title, n) VALUES (2, 'a quick fog', 1)", Shown(hits: ["a [quick] [fog]", "a [quick] [fox]"], tags: ["red"], total: 2)),
            ("UPDATE note SET likes = 100 WHERE id = 1", Shown(hits: ["a [quick] [fox]", "a [quick] [fog]"], tags: ["red"], total: 2)),
            ("DELETE FROM note WHERE id = 1", Shown(hits: ["a [quick] [fog]"], tags: [], total: 1)),
        ]
        for (write, expected) in writes {
            try await database.write { db in try db.execute(write) }
            #expect(try await found.next() == expected, "\(write.text)")
        }
        // A write to another table, or one that was undone, shows nothing new.
        try await database.write { db in try db.execute("INSERT INTO tag VALUES ('one')") }
        _ = try? await database.write { db in
            try db.execute("DELETE FROM note")
            throw CancellationError()
        }
        try await database.write { db in try db.execute("UPDATE note SET title = 'quick foxes'") }
        #expect(try await found.next()?.hits == ["[quick] [foxes]"])
        try await database.close()
    }

    @Test(arguments: Store.allCases) func observedSearchFollowsSeveralIndexes(_ store: Store) async throws {
        let folder = try TemporaryFolder()
        let database = try store.open(folder)
        let path = folder.path("mail.db")
        let mail = try Connection(.file(path), key: .passphrase("other").quick)
        try mail.create(FTS5Table("mail_fts", columns: ["title"]))
        mail.close()
        try await database.write { db in
            try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        }
        try await database.attach(.file(path), as: "mail", key: .passphrase("other", cipher: .quick))
        var tables = database.observe { db in
            try db.search("fox", in: [db.fullText("note_fts"), db.schema("mail").fullText("mail_fts")]).hits.map(\.table)
        }
        .removingDuplicates().makeAsyncIterator()
        #expect(try await tables.next() == [])
        try await database.write { db in try db.execute("INSERT INTO mail.mail_fts VALUES ('a fox')") }
        #expect(try await tables.next() == ["mail_fts"])
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('the fox')") }
        #expect(try await tables.next() == ["note_fts", "mail_fts"])
        try await database.write { db in try db.execute("DELETE FROM mail.mail_fts") }
        #expect(try await tables.next() == ["note_fts"])
        try await database.close()
    }

    /// An interrupt ends a search that is in the middle of its rows, its facets or its signals, and leaves nothing open.
    @Test(arguments: ["filter", "facet", "signal", "several"]) func anInterruptEndsATypedSearch(_ part: String) throws {
        let db = try Connection(.memory), handle = try db.interruptHandle
        for name in ["t", "u"] {
            try db.create(FTS5Table(name, columns: ["a"]))
            for _ in 0..<50 { try db.execute("INSERT INTO \(raw: name) VALUES ('a fox')") }
        }
        try db.register(.function("newer", arguments: 0) { _ in
            handle.interrupt()
            return 1
        })
        let index = try db.fullText("t")
        var search = FullTextSearch("fox")
        switch part {
        case "facet": search.facets = ["newer": .values("newer()")]
        case "signal": search.popularity = FullTextSearch.Popularity("newer()", pivot: 1)
        default: search.filter = "newer()"
        }
        let error = #expect(throws: DatabaseError.self) {
            part == "several" ? try db.search(search, in: [index, db.fullText("u")]) : try index.search(search)
        }
        #expect(error?.code == .interrupted)
        // The connection goes on, and holds no transaction.
        #expect(try index.search("fox").hits.count == 20)
        #expect(!db.isInTransaction)
        try db.execute("DROP TABLE t")
    }
}

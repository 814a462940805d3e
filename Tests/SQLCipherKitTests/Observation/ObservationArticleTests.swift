import KitSupport
import SQLCipherKit
import Synchronization
import Testing
import TestSupport

/// The examples of the article "Observing a database", in its order.
@Suite(.timeLimit(.minutes(60))) struct ObservationArticleTests {
    @Test func observationArticleCodeWorks() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
        try await pool.write { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
            try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
        }
        @Sendable func add(_ title: String) async throws { try await pool.write { db in try db.execute("INSERT INTO note(title, body) VALUES (\(title), 'a fox')") } }

        let titles = pool.observe { db in
            try db.fetchAll(
                String.self, "SELECT title FROM note ORDER BY title")
        }
        var shown: [[String]] = []
        func show(_ titles: [String]) { shown.append(titles) }
        for try await titles in titles {
            show(titles)
            if shown.count == 3 { break }
            try await add("\(shown.count)")
        }
        #expect(shown == [[], ["1"], ["1", "2"]])

        let hits = pool
            .observe { db in
                try db.fullText("note_fts").search("fox").hits
            }
            .removingDuplicates()
        var found: [Int] = []
        for try await hits in hits {
            found.append(hits.count)
            if found.count == 2 { break }
            try await add("3")
        }
        #expect(found == [2, 3])
    }

    /// "Several loops", "Callbacks", "An explicit region", "Changes outside of the database".
    @MainActor @Test func observationArticleSharingCodeWorks() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
        try await pool.write { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)") }

        let counts = pool.observe { db in
            try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.shared()
        var label = "", failure: (any Error)?
        func show(_ error: any Error) { failure = error }
        let token = counts.start(onError: { show($0) }) { label = "\($0)" }
        // label has its text here
        #expect(label == "0" && failure == nil)
        for try await count in counts {
            if count == 1 { break }
            try await pool.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        }
        token.cancel()

        try await pool.write { db in
            try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
            try db.execute("INSERT INTO note(id, title) VALUES (7, 'a fox')")
        }
        let unread = LiveQuery(counts)
        unread.load()
        let found = LiveQuery(pool) { db, text, limit in
            try db.fullText("note_fts").search(text, limit: limit).hits
        }
        found.searchText = "fox"
        try await suspendUntil("there are values") { unread.value != nil && found.value != nil }
        #expect(unread.value == 2 && found.value?.map(\.rowID) == [7] && found.error == nil)
        unread.cancel()
        found.cancel()
        try await pool.write { db in try db.execute("DELETE FROM note WHERE id = 7") }

        let note = DatabaseTable("note")
        let region = DatabaseRegion(note, columns: ["title", "body"])
            .union(DatabaseRegion(DatabaseTable("tag")))
        let noteTitles = pool.observe(tracking: region) { db in
            try db.fetchAll(String.self, "SELECT title FROM note")
        }
        for try await titles in noteTitles {
            #expect(titles == ["x"])
            break
        }

        let uploads = Task {
            let ofNotes = DatabaseRegion(note)
            for try await changes in pool.changes(affecting: ofNotes) {
                print(changes.tables)
                return changes.tables
            }
            return []
        }
        while !Task.isCancelled {
            try await pool.write { db in
                try db.notifyChanges(in: DatabaseRegion(note))
            }
            try await Task.sleep(for: .milliseconds(5))
            if try await pool.read({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }) == 1 { break }
        }
        uploads.cancel()
        _ = try await uploads.value
    }

    @Test func observationArticleHookCodeWorks() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
        try await pool.write { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
            try db.execute("INSERT INTO note(title) VALUES ('here')")
        }
        let allCounts = pool
            .observe { db in
                try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            }
            .includingOtherProcesses(every: .milliseconds(50))
            .removingDuplicates()
        for try await count in allCounts {
            if count == 2 { break }
            let other = try Connection(.file(folder.path("notes.db")), key: .passphrase("correct horse").quick)
            try other.execute("INSERT INTO note(title) VALUES ('elsewhere')")
        }

        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(title TEXT)")
        var changed: Set<DatabaseTable> = []
        func show(_ tables: Set<DatabaseTable>) { changed = tables }
        let (count, readRegion) = try db.recordingReads { db in
            try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }
        let hook = try db.addChangeHook(affecting: readRegion) { changes in
            show(changes.tables)
        }
        try db.execute("INSERT INTO note VALUES ('x')")
        hook.remove()
        #expect(count == 0 && changed == [DatabaseTable("note")])

        try db.attach(.memory, as: "archive", key: .plaintext)
        let archive = try db.schema("archive")
        try db.execute("CREATE TABLE archive.note(title TEXT)")
        var archived = 0, counted = 0
        func showArchive() { archived += 1 }
        func showCount() { counted += 1 }
        try db.addChangeHook { changes in
            let note = DatabaseTable("note", in: archive)
            if changes.tables.contains(note) { showArchive() }
            if readRegion.isAffected(by: changes) { showCount() }
        }
        try db.execute("INSERT INTO archive.note VALUES ('x')")
        try db.execute("INSERT INTO note VALUES ('y')")
        try db.execute("INSERT INTO note VALUES ('z')")
        #expect(archived == 1 && counted == 2)
    }
}

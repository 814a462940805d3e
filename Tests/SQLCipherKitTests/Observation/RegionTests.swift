import SQLCipherKit
import Testing

@Suite struct RegionTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n INTEGER);
            CREATE TABLE tag(name TEXT PRIMARY KEY, note INTEGER) WITHOUT ROWID;
            CREATE VIEW titles AS SELECT id, title FROM note WHERE n > 1;
            INSERT INTO note(title, n) VALUES ('one', 2);
            """))
    }

    private func region(_ sql: String) throws -> String {
        try db.recordingReads { db in try db.forEach(SQL(raw: sql)) { _ in } }.1.description
    }

    @Test(arguments: [
        ("SELECT title FROM note", "note(title)"),
        ("SELECT title FROM note WHERE n > 3 ORDER BY body", "note(body,n,title)"),
        ("SELECT * FROM note", "note(body,id,n,title)"),
        ("SELECT count(*) FROM note", "note()"),
        ("SELECT 1 FROM NOTE AS n", "note()"),
        ("SELECT count(*) FROM main.note", "note()"),
        ("SELECT count(*) FROM titles", "note(id,n,title)"),
        ("WITH c AS (SELECT n FROM note) SELECT count(*) FROM c", "note(n)"),
        ("SELECT rowid FROM note", "note(id)"),
        ("SELECT title FROM titles", "note(id,n,title)"),
        ("SELECT title FROM note JOIN tag ON tag.note = note.id", "note(id,title), tag(note)"),
        ("WITH c AS (SELECT n FROM note) SELECT n FROM c", "note(n)"),
        ("SELECT name FROM tag WHERE note IN (SELECT id FROM note)", "note(id), tag(name,note)"),
        ("SELECT value FROM note, json_each(note.body)", "note(body)"),
        ("SELECT 1", ""),
        ("SELECT name FROM sqlite_schema", ""),
        ("SELECT name FROM pragma_table_info('note')", ""),
        ("PRAGMA user_version", "everything"),
        ("SELECT pageno FROM dbstat", "everything"),
    ]) func recordedRegionListsColumnsRead(sql: String, expected: String) throws {
        #expect(try region(sql) == expected)
    }

    /// A statement that was compiled before the recording reports as much as a new statement, each time.
    @Test func cachedStatementsAreRecordedEachTime() throws {
        let statement = try db.prepare("SELECT body FROM note")
        for _ in 0..<3 {
            #expect(try region("SELECT title FROM note") == "note(title)")
            let (count, region) = try db.recordingReads { _ in try statement.fetchAll(String?.self).count }
            #expect(count == 1)
            #expect(region.columns(of: DatabaseTable("note")) == ["body"])
        }
        #expect(try db.recordingReads { _ in }.1 == .empty)
    }

    @Test func nestedRecordingsCollectTheirReads() throws {
        let (inner, outer) = try db.recordingReads { db in
            _ = try db.fetchAll(Int.self, "SELECT id FROM note")
            return try db.recordingReads { db in try db.fetchAll(String.self, "SELECT name FROM tag") }.1
        }
        #expect(inner.description == "tag(name)")
        #expect(outer.description == "note(id), tag(name)")
        #expect(outer.tables == [DatabaseTable("note"), DatabaseTable("tag")])
    }

    @Test func errorEndsReadRecording() throws {
        #expect(throws: DatabaseError.self) { try db.recordingReads { try $0.execute("SELECT nothing FROM nowhere") } }
        #expect(try region("SELECT title FROM note") == "note(title)")
    }

    /// A user's authorizer goes on deciding.
    @Test func readRecordingKeepsAuthorizer() throws {
        try db.settings.setAuthorizer { $0.action == .read && $0.second == "body" ? .deny : .allow }
        #expect(try region("SELECT title FROM note") == "note(title)")
        #expect(throws: DatabaseError.self) { try region("SELECT body FROM note") }
        try db.settings.setAuthorizer(nil)
        #expect(try region("SELECT body FROM note") == "note(body)")
    }

    @Test func recordedRegionNamesAttachedDatabases() throws {
        try db.attach(.memory, as: "other", key: .plaintext)
        try db.execute("CREATE TABLE other.note(x)")
        #expect(try region("SELECT x FROM other.note") == "other.note(x)")
        #expect(try region("SELECT x, title FROM other.note, main.note") == "note(title), other.note(x)")
    }

    @Test func commitAffectsRegionOfItsTables() throws {
        try db.attach(.memory, as: "Other", key: .plaintext)
        let other = try db.schema("OTHER")
        try db.execute("CREATE TABLE other.note(title)")
        let (_, titles) = try db.recordingReads { db in try db.fetchAll(String.self, "SELECT title FROM main.note") }
        var commits: [(tables: Set<DatabaseTable>, affectsTitles: Bool)] = []
        try db.addChangeHook { changes in commits.append((changes.tables, titles.isAffected(by: changes))) }
        try db.execute("INSERT INTO tag VALUES ('a', 1)")
        try db.execute("INSERT INTO other.note VALUES ('one')")
        try db.execute("INSERT INTO main.note(title) VALUES ('two')")
        try db.execute("CREATE TABLE more(x)")
        #expect(commits.map(\.affectsTitles) == [false, false, true, true])
        // The name is SQLite's name, however the handle was requested.
        #expect(commits.prefix(3).map(\.tables) == [[DatabaseTable("tag")], [DatabaseTable("note", in: other)], [DatabaseTable("note")]])
        #expect(DatabaseTable("note", in: other) != DatabaseTable("note", in: db.main))
        #expect(DatabaseTable("note", in: db.main) == DatabaseTable("note"))
    }

    /// The full-text table itself, and the tables of its content.
    @Test func searchRegionIncludesContentTable() throws {
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
        let (_, region) = try db.recordingReads { db in
            var search = FullTextSearch(FTS5Query.phrase("one"))
            search.filter = "n > \(1)"
            search.snippet = .column("title")
            return try db.fullText("note_fts").search(search).hits
        }
        #expect(region.tables.isSuperset(of: [DatabaseTable("note_fts"), DatabaseTable("note")]))
        #expect(region.columns(of: DatabaseTable("note"))?.isSuperset(of: ["n", "title"]) == true)
        #expect(!region.isEverything)
    }
}

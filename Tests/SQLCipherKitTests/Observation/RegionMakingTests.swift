import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Regions made by hand, and their descriptions.
@Suite(.timeLimit(.minutes(60))) struct RegionMakingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    struct Note: SQLRecord {
        var id: Int64?
        var title: String?
    }

    private func connection() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n INTEGER);
            CREATE TABLE tag(name TEXT PRIMARY KEY, note INTEGER) WITHOUT ROWID;
            CREATE VIEW titles AS SELECT id, title FROM note;
            INSERT INTO note(title, n) VALUES ('one', 2);
            """))
        return db
    }

    @Test func handmadeRegionEqualsRecordedRegion() throws {
        let db = try connection()
        func recorded(_ sql: String) throws -> DatabaseRegion {
            try db.recordingReads { db in try db.forEach(SQL(raw: sql)) { _ in } }.1
        }
        let note = DatabaseTable("note"), tag = DatabaseTable("tag")
        #expect(try DatabaseRegion(note, columns: ["Title"]) == recorded("SELECT title FROM note"))
        #expect(try DatabaseRegion(note, columns: []) == recorded("SELECT count(*) FROM note"))
        #expect(
            try DatabaseRegion(note, columns: ["title"]).union(DatabaseRegion(tag, columns: ["name"]))
                == recorded("SELECT title, name FROM note, tag"))
        #expect(DatabaseRegion(note, tag) == DatabaseRegion([tag, note]))
        #expect(DatabaseRegion(note) != DatabaseRegion(note, columns: ["id", "title", "body", "n"]))
        #expect(DatabaseRegion(note, columns: ["n"]).union(DatabaseRegion(note)) == DatabaseRegion(Note.self))
        #expect(DatabaseRegion([]) == .empty)
        #expect(DatabaseRegion(note, tag).description == "note(*), tag(*)")
        #expect(DatabaseRegion(note).isWhole(note) && !DatabaseRegion(note, columns: ["n"]).isWhole(note))
        #expect(DatabaseRegion(note).columns(of: note) == [] && DatabaseRegion(note).columns(of: tag) == nil)
        var all = DatabaseRegion.fullDatabase
        all.formUnion(DatabaseRegion(note))
        #expect(all.isEverything && all.isWhole(tag))
    }

    @Test func handmadeRegionSelectsItsChanges() throws {
        let db = try connection()
        var calls: [String] = []
        let regions: [(String, DatabaseRegion)] = [
            ("title", DatabaseRegion(DatabaseTable("NOTE"), columns: ["TITLE"])),
            ("rows", DatabaseRegion(DatabaseTable("note"), columns: [])),
            ("note", DatabaseRegion(DatabaseTable("note"))), ("tag", DatabaseRegion(DatabaseTable("tag"))),
            ("id", DatabaseRegion(DatabaseTable("note"), columns: ["rowid"])), ("none", .empty), ("all", .fullDatabase),
        ]
        for (name, region) in regions { try db.addChangeHook(affecting: region) { _ in calls.append(name) } }
        func called(_ sql: String) throws -> [String] {
            calls = []
            try db.execute(SQL(raw: sql))
            return calls
        }
        #expect(try called("UPDATE note SET title = 'two'") == ["title", "note", "all"])
        #expect(try called("UPDATE note SET title = 'two'") == ["all"])
        #expect(try called("UPDATE note SET n = 3") == ["note", "all"])
        #expect(try called("UPDATE note SET id = id + 1") == ["title", "rows", "note", "id", "all"])
        #expect(try called("INSERT INTO tag VALUES ('a', 1)") == ["tag", "all"])
        #expect(try called("DELETE FROM note WHERE n > 100") == ["all"])
        #expect(try called("DROP VIEW titles").count == 7)
        // The title is another column now, by its number.
        #expect(try called("ALTER TABLE note DROP COLUMN body").count == 7)
        #expect(try called("ALTER TABLE note DROP COLUMN title").count == 7)
        #expect(try called("ALTER TABLE note ADD COLUMN title").count == 7)
        #expect(try called("UPDATE note SET n = 4") == ["note", "all"])
        #expect(try called("UPDATE note SET title = 'three'") == ["title", "note", "all"])
    }

    @Test(arguments: Store.allCases) func regionOfViewIsRefused(store: Store) async throws {
        let database = try store.open(folder)
        try await database.write { db in try db.execute("CREATE VIEW v AS SELECT title FROM note") }
        let region = DatabaseRegion(DatabaseTable("v"))
        let observation = database.observe(tracking: region) { db in try db.fetchOne(Int.self, "SELECT count(*) FROM v") }
        var counts = observation.makeAsyncIterator()
        var error = await #expect(throws: DatabaseError.self) { try await counts.next() }
        #expect(error?.reason == .invalidArgument)
        var changes = database.changes(affecting: region).makeAsyncIterator()
        error = await #expect(throws: DatabaseError.self) { try await changes.next() }
        #expect(error?.reason == .invalidArgument)
        try await database.write { db in
            let error = #expect(throws: DatabaseError.self) { try db.addChangeHook(affecting: region) { _ in } }
            #expect(error?.reason == .invalidArgument)
        }
    }

    /// Only the tables and columns in the region count, whatever the closure reads.
    @Test(arguments: Store.allCases) func observationTracksOnlyGivenRegion(store: Store) async throws {
        let database = try store.open(folder)
        let reads = Lock(0)
        var counts = database.observe(tracking: DatabaseRegion(DatabaseTable("note"), columns: ["n"])) { db in
            reads.withLock { $0 += 1 }
            return try db.fetchOne(Int.self, "SELECT count(*) + (SELECT count(*) FROM tag) FROM note") ?? 0
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try await database.write { db in try db.execute("INSERT INTO tag VALUES ('a')") }
        try await database.write { db in try db.execute("INSERT INTO note(title, n) VALUES ('x', 1)") }
        #expect(try await counts.next() == 2)
        try await database.write { db in try db.execute("UPDATE note SET title = 'y'") }
        try await database.write { db in try db.execute("UPDATE note SET n = 2") }
        #expect(try await counts.next() == 2)
        #expect(reads.withLock { $0 } == 3)
    }

    @Test(arguments: Store.allCases) func changesSequenceReportsTablesWithoutReading(store: Store) async throws {
        let database = try store.open(folder)
        let sequence = database.changes(affecting: DatabaseRegion(DatabaseTable("note"), columns: ["n"]))
        // One more observer, so that the hook is there or not.
        var counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM tag") ?? 0 }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        let (seen, see) = AsyncStream.makeStream(of: DatabaseChanges.self)
        let loop = Task { for try await changes in sequence { see.yield(changes) } }
        var elements = seen.makeAsyncIterator()
        // The loop has not begun before it reports something.
        let knock = Task {
            while !Task.isCancelled {
                try await database.write { db in try db.execute("INSERT INTO note(n) VALUES (0)") }
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        #expect(await elements.next()?.tables == [DatabaseTable("note")])
        knock.cancel()
        _ = try? await knock.value
        try await database.write { db in try db.execute("UPDATE note SET title = 'x'") }
        try await database.write { db in try db.execute("INSERT INTO tag VALUES ('a')") }
        try await database.write { db in
            try db.execute("INSERT INTO tag VALUES ('b')")
            try db.execute("UPDATE note SET n = n + 1")
        }
        while let changes = await elements.next(), changes.tables != [DatabaseTable("note"), DatabaseTable("tag")] {
            #expect(changes.tables == [DatabaseTable("note")] && !changes.isUnknown && !changes.isSchemaChanged)
        }
        try await database.close()
        await #expect(throws: DatabaseError.self) { try await loop.value }
    }

    /// A loop that comes late gets all that was changed as one element.
    @Test func pendingChangesAreCoalesced() async throws {
        let queue = try Store.memory.open(folder)
        let begun = queue.changes().makeAsyncIterator()
        let isDone = Lock(false)
        let first = Task {
            var changes = begun
            _ = try await changes.next()
            isDone.withLock { $0 = true }
            return changes
        }
        while !isDone.withLock({ $0 }) {
            try await queue.write { db in try db.execute("INSERT INTO note(n) VALUES (0)") }
            try await Task.sleep(for: .milliseconds(2))
        }
        var changes = try await first.value
        try await queue.write { db in try db.execute("INSERT INTO note(n) VALUES (0)") }
        try await queue.write { db in try db.execute("INSERT INTO tag VALUES ('x')") }
        #expect(try await changes.next()?.tables == [DatabaseTable("note"), DatabaseTable("tag")])
        let cancelled = Task { [changes] in
            var changes = changes
            return try await changes.next() == nil
        }
        cancelled.cancel()
        #expect(try await cancelled.value)
    }
}

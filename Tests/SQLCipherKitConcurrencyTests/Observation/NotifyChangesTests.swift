import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Changes that SQLite's hooks do not report: changes outside of the database, databases that are attached and detached.
@Suite(.timeLimit(.minutes(60))) struct NotifyChangesTests {
    let folder: TemporaryFolder
    let notes = DatabaseRegion(DatabaseTable("note"))

    init() throws { folder = try TemporaryFolder() }

    struct Stop: Error {}

    private func connection() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, n INTEGER); CREATE TABLE tag(name TEXT)"))
        return db
    }

    @Test func notifyChangesFollowsTheTransaction() throws {
        let db = try connection()
        var calls = 0, titles = 0
        try db.addChangeHook(affecting: notes) { changes in
            calls += 1
            #expect(changes.tables == [DatabaseTable("note")])
        }
        try db.addChangeHook(affecting: DatabaseRegion(DatabaseTable("note"), columns: ["title"])) { _ in titles += 1 }
        // At once, without a transaction.
        try db.notifyChanges(in: notes)
        #expect(calls == 1 && titles == 1)
        try db.notifyChanges(in: DatabaseRegion(DatabaseTable("note"), columns: ["n"]))
        #expect(calls == 2 && titles == 1)
        try db.notifyChanges(in: .empty)
        try db.notifyChanges(in: DatabaseRegion(DatabaseTable("tag")))
        #expect(calls == 2 && titles == 1)
        // After the commit, also if nothing was written.
        for kind in TransactionKind.allCases {
            let before = calls
            try db.transaction(kind) { db in
                try db.notifyChanges(in: notes)
                _ = try db.fetchOne(Int.self, "SELECT count(*) FROM note")
                #expect(calls == before)
            }
            #expect(calls == before + 1)
        }
        // Not at all.
        let before = calls
        #expect(throws: Stop.self) {
            try db.transaction { db in
                try db.notifyChanges(in: notes)
                throw Stop()
            }
        }
        try db.transaction { db in
            _ = try? db.savepoint { db in
                try db.notifyChanges(in: notes)
                throw Stop()
            }
            _ = try? db.savepoint { db in
                try db.notifyChanges(in: .fullDatabase)
                throw Stop()
            }
        }
        try db.execute("INSERT INTO tag VALUES ('x')")
        #expect(calls == before)
        // A savepoint that is kept.
        try db.transaction { db in try db.savepoint { db in try db.notifyChanges(in: notes) } }
        try db.savepoint { db in try db.notifyChanges(in: notes) }
        #expect(calls == before + 2)
    }

    @Test(arguments: Store.allCases) func notifyChangesUpdatesObservations(store: Store) async throws {
        let database = try store.open(folder)
        let reads = Lock(0)
        let outside = Lock(0)
        var values = database.observe { db in
            reads.withLock { $0 += 1 }
            _ = try db.fetchOne(Int.self, "SELECT count(*) FROM note")
            return outside.withLock { $0 }
        }.makeAsyncIterator()
        #expect(try await values.next() == 0)
        let notes = notes
        outside.withLock { $0 = 1 }
        try await database.write { db in try db.notifyChanges(in: notes) }
        #expect(try await values.next() == 1)
        outside.withLock { $0 = 2 }
        try await database.write { db in
            try db.execute("INSERT INTO note(title) VALUES ('x')")
            try db.notifyChanges(in: notes)
        }
        #expect(try await values.next() == 2)
        await #expect(throws: Stop.self) {
            try await database.write { db in
                try db.notifyChanges(in: notes)
                throw Stop()
            }
        }
        try await database.write { db in try db.notifyChanges(in: DatabaseRegion(DatabaseTable("tag"))) }
        outside.withLock { $0 = 3 }
        try await database.write { db in try db.notifyChanges(in: .fullDatabase) }
        #expect(try await values.next() == 3)
        #expect(reads.withLock { $0 } == 4)
    }

    @Test(arguments: Store.allCases) func notifyChangesInReadOrHookThrows(store: Store) async throws {
        let database = try store.open(folder)
        let notes = notes
        try await database.read { db in
            let error = #expect(throws: DatabaseError.self) { try db.notifyChanges(in: notes) }
            #expect(error?.reason == .misuse)
        }
        try await database.write { db in
            let token = try db.addUpdateHook { _ in
                let error = #expect(throws: DatabaseError.self) { try db.notifyChanges(in: notes) }
                #expect(error?.reason == .misuse)
            }
            try db.execute("INSERT INTO note(title) VALUES ('x')")
            token.remove()
        }
    }

    // MARK: Attaching and detaching

    @Test func attachAndDetachCallChangeHooks() throws {
        let db = try connection()
        var calls = 0
        let token = try db.addChangeHook(affecting: DatabaseRegion(DatabaseTable("tag"))) { changes in
            calls += 1
            #expect(changes.isSchemaChanged && changes.tables.isEmpty)
        }
        let other = try db.attach(.memory, as: "other", key: .plaintext)
        #expect(calls > 0)
        try db.execute("INSERT INTO note(title) VALUES ('x')")
        calls = 0
        try other.detach()
        #expect(calls == 1)
        try db.execute("ATTACH ':memory:' AS more")
        #expect(calls == 2)
        let detach = try db.prepare("DETACH more")
        try db.execute("INSERT INTO note(title) VALUES ('x')")
        #expect(calls == 2)
        try detach.execute()
        #expect(calls == 3)
        // A failed statement reports nothing, and a database that stays attached in spite of a rollback is reported.
        #expect(throws: DatabaseError.self) { try db.execute("DETACH more") }
        #expect(calls == 3)
        try db.begin()
        try db.execute("ATTACH ':memory:' AS third")
        try db.rollback()
        #expect(calls >= 4)
        token.remove()
        try db.execute("DETACH third")
    }

    @Test(arguments: Store.allCases) func attachAndDetachUpdateObservations(store: Store) async throws {
        let database = try store.open(folder)
        let path = folder.path("other.db")
        try Connection(.file(path), key: .passphrase("other").quick).execute("CREATE TABLE far(x)")
        let counts = database.observe { db in
            try db.fetchAll(String.self, "SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY name")
        }.removingDuplicates()
        var names = counts.makeAsyncIterator()
        #expect(try await names.next() == ["main"])
        let other = try await database.attach(.file(path), as: "other", key: .passphrase("other", cipher: .quick))
        #expect(try await names.next() == ["main", "other"])
        var far = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM other.far") }.makeAsyncIterator()
        #expect(try await far.next() == 0)
        try await other.detach()
        #expect(try await names.next() == ["main"])
        await #expect(throws: DatabaseError.self) { try await far.next() }
    }
}

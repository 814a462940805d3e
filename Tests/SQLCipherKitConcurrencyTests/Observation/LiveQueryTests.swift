import KitSupport
import Observation
@testable import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Live values, as a view observes them.
@MainActor @Suite(.timeLimit(.minutes(60))) struct LiveQueryTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A query that runs for a long time unless it is interrupted, but not for ever.
    nonisolated static let endless: SQL = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000000000) SELECT count(*) FROM n WHERE i < 0
        """

    /// Counts reads, and is released with the closures that hold it.
    nonisolated final class Reads: Sendable {
        private let all = Lock([String]())
        var count: Int { all.withLock { $0.count } }
        var last: String? { all.withLock { $0.last } }
        func note(_ text: String = "") { all.withLock { $0.append(text) } }
    }

    /// The drawings of a view, which reads properties, and again after one of them was set.
    @MainActor final class Screen<Value> {
        private let read: () -> Value
        private(set) var drawn: [Value] = []

        init(_ read: @escaping () -> Value) {
            self.read = read
            draw()
        }

        private func draw() {
            drawn.append(
                withObservationTracking(read) { [weak self] in
                    // The compiler cannot know it; a property that is set elsewhere would stop the test.
                    MainActor.assertIsolated()
                    Task { @MainActor in self?.draw() }
                })
        }
    }

    /// Waits for the values that a view would see.
    private func wait(_ what: String = "it is shown", _ isDone: () -> Bool) async throws {
        try await suspendUntil(what) { isDone() }
    }

    nonisolated private static func titles(_ db: Connection, _ limit: Int = .max) throws -> [String] {
        try db.fetchAll(String.self, "SELECT title FROM note ORDER BY title LIMIT \(limit)")
    }

    private func insert(_ titles: String..., in database: DatabaseWriter) async throws {
        try await database.write { db in
            for title in titles { try db.execute("INSERT INTO note(title) VALUES (\(title))") }
        }
    }

    // MARK: Values

    @Test(arguments: Store.allCases) func liveQueryPublishesEachChange(_ store: Store) async throws {
        let database = try store.open(folder), reads = Reads()
        let query = LiveQuery(database.observe { db in
            reads.note()
            return try Self.titles(db)
        })
        let screen = Screen { query.value }, loading = Screen { query.isLoading }
        #expect(query.value == nil && query.error == nil && !query.isLoading && !query.hasMore && reads.count == 0)
        query.load()
        #expect(query.isLoading && query.value == nil)
        try await wait { query.value == [] }
        #expect(!query.isLoading)
        try await insert("a", in: database)
        try await wait { query.value == ["a"] }
        // A commit that leads to another read of the same value, and a commit that leads to no read.
        var count = reads.count
        try await database.write { db in try db.execute("UPDATE note SET title = upper(title)") }
        try await wait { query.value == ["A"] }
        try await database.write { db in try db.execute("REPLACE INTO note(id, title) SELECT id, title FROM note") }
        try await wait("it is read again") { reads.count > count + 1 }
        count = reads.count
        try await database.write { db in try db.execute("INSERT INTO tag VALUES ('x')") }
        try await insert("B", in: database)
        try await wait { query.value == ["A", "B"] && screen.drawn.last == ["A", "B"] }
        #expect(reads.count == count + 1)
        #expect(screen.drawn == [nil, [], ["a"], ["A"], ["A", "B"]])
        // Loading again reads, but publishes nothing that is the same.
        query.load()
        try await wait { !query.isLoading }
        try await wait { loading.drawn.count == 5 }
        #expect(loading.drawn == [false, true, false, true, false] && screen.drawn.count == 5)
        #expect(!query.hasMore)
        query.loadMore()
        #expect(!query.isLoading)
    }

    @Test(arguments: Store.allCases) func immediateLoadSetsTheValueAtOnce(_ store: Store) async throws {
        let database = try store.open(folder)
        try await insert("a", in: database)
        let query = LiveQuery(database.observe { db in try Self.titles(db) })
        query.load(.immediate)
        #expect(query.value == ["a"] && !query.isLoading)
        try await insert("b", in: database)
        try await wait { query.value == ["a", "b"] }
    }

    @Test func liveQueryPublishesNoEqualValues() async throws {
        let database = try Store.queue.open(folder), reads = Reads()
        // An optional, which is the same if it is nil again; and rows of tuples, which are never equal unless you say how.
        let one = LiveQuery(database.observe { db in
            reads.note()
            return try db.fetchOne(String.self, "SELECT title FROM note WHERE n = 1")
        })
        let rows = LiveQuery(database.observe { db in try db.fetchAll((Int, String).self, "SELECT id, title FROM note") })
        let same = LiveQuery(
            database.observe { db in try db.fetchAll((Int, String).self, "SELECT id, title FROM note") }.removingDuplicates())
        let ones = Screen { one.value }, tuples = Screen { rows.value }, sames = Screen { same.value }
        one.load()
        rows.load()
        same.load()
        try await wait { one.value != nil && rows.value != nil && same.value != nil }
        for number in 1...3 {
            try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x'); DELETE FROM note".script) }
            try await wait { tuples.drawn.count == 2 + number }
        }
        // One value more than the others have, so that theirs would have come.
        try await database.write { db in try db.execute("INSERT INTO note(title, n) VALUES ('x', 1)") }
        try await wait { ones.drawn.last == "x" && sames.drawn.last??.count == 1 }
        #expect(ones.drawn.count == 3 && sames.drawn.count == 3 && reads.count >= 5)
        // The first result of another load is compared too.
        same.load()
        rows.load()
        let count = tuples.drawn.count
        try await wait { !same.isLoading && tuples.drawn.count > count }
        #expect(sames.drawn.count == 3)
    }

    // MARK: Parameters

    @Test(arguments: Store.allCases) func liveQueryShowsTheNewestLoad(_ store: Store) async throws {
        let database = try store.open(folder)
        try await insert("a", in: database)
        let query = LiveQuery(database.observe { _ in 0 })
        let screen = Screen { query.value }
        for number in 1...200 {
            query.load(database.observe { db in
                // Some reads take longer than later reads.
                for _ in 0..<(number % 7 == 0 ? 2000 : 1) { _ = try Self.titles(db) }
                return number
            })
            if number % 5 == 0 { await Task.yield() }
            if number % 50 == 0 { try await insert("b", in: database) }
        }
        try await wait { query.value == 200 && screen.drawn.last == 200 }
        try await insert("c", in: database)
        let numbers = screen.drawn.map { $0 ?? -1 }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count && query.error == nil)
    }

    /// A search that would run for minutes is interrupted by the next search, which needs the only connection that reads.
    @Test(arguments: [false, true]) func newLoadInterruptsOlderRead(_ isPool: Bool) async throws {
        var configuration = DatabaseConfiguration()
        configuration.pool.maximumReaders = 1
        let path = DatabaseLocation.file(folder.path("a.db")), key = try DatabaseKey.passphrase("key").quick
        let database = isPool ? try DatabasePool(path, key: key, configuration: configuration)
            : try DatabaseQueue(path, key: key, configuration: configuration)
        let reads = Reads()
        let query = LiveQuery(database.observe { db -> Int? in
            reads.note()
            return try db.fetchOne(Int.self, Self.endless)
        })
        for number in 1...5 {
            query.load()
            try await wait("it runs") { reads.count == number }
        }
        query.load(database.observe { db in try db.fetchOne(Int.self, "SELECT 7") })
        try await wait { query.value == 7 }
        #expect(query.error == nil)
        try await database.close()
    }

    // MARK: Errors

    @Test(arguments: Store.allCases) func liveQueryErrorsAreState(_ store: Store) async throws {
        let database = try store.open(folder)
        try await insert("a", in: database)
        let query = LiveQuery(database.observe { db in try Self.titles(db) })
        let errors = Screen { query.error != nil }
        query.load()
        try await wait { query.value == ["a"] }
        try await database.write { db in try db.execute("ALTER TABLE note RENAME TO former") }
        try await wait { query.error != nil }
        #expect("\(query.error.map { "\($0)" } ?? "")".contains("no such table") && query.value == ["a"] && !query.isLoading)
        query.load()
        #expect(query.isLoading && query.error != nil)
        try await wait { !query.isLoading }
        #expect(query.error != nil)
        try await database.write { db in try db.execute("ALTER TABLE former RENAME TO note") }
        try await insert("b", in: database)
        query.load()
        try await wait { query.value == ["a", "b"] }
        #expect(query.error == nil)
        try await wait { errors.drawn.last == false }
        query.load(.immediate)
        try await database.close()
        try await wait { query.error != nil }
        #expect((query.error as? DatabaseError)?.reason == .closed && query.value == ["a", "b"] && !query.isLoading)
        query.load(.immediate)
        #expect((query.error as? DatabaseError)?.reason == .closed && !query.isLoading)
    }

    @Test func liveQueryOfLockedFileReportsBusy() async throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(10)
        configuration.journalMode = .delete
        let location = DatabaseLocation.file(folder.path("a.db")), key = try DatabaseKey.passphrase("key").quick
        let queue = try DatabaseQueue(location, key: key, configuration: configuration)
        try await queue.write { db in try db.execute("CREATE TABLE note(title)") }
        let other = try Connection(location, key: key, configuration: configuration)
        try other.begin(.exclusive)
        let query = LiveQuery(queue.observe { db in try Self.titles(db) })
        query.load()
        try await wait { query.error != nil }
        #expect((query.error as? DatabaseError)?.code.primary == .busy && query.value == nil)
        try other.commit()
        query.load()
        try await wait { query.value == [] }
        #expect(query.error == nil)
    }

    // MARK: Ends

    /// With the object go its task, its closure and the objects that they hold, even during a read; nothing is read for it any
    /// more.
    @Test(arguments: Store.allCases, ["new", "waiting", "reading", "paused", "cancelled", "failed"])
    func releasedLiveQueryReadsNothing(_ store: Store, _ state: String) async throws {
        var database: DatabaseWriter? = try store.open(folder)
        var reads: Reads? = Reads()
        weak let weakDatabase = database
        weak let weakReads = reads
        var query: LiveQuery<Int?>?
        if let database, let reads {
            query = LiveQuery(database, debounce: .seconds(3600)) { db, _, _ in
                reads.note()
                if state == "failed" { throw CancellationError() }
                return try db.fetchOne(Int.self, state == "reading" ? Self.endless : "SELECT count(*) FROM note")
            }
        }
        weak let weakQuery = query
        switch state {
        case "new": break
        case "paused": query?.searchText = "a"
        case "reading":
            query?.load()
            try await wait("it runs") { reads?.count == 1 }
        case "failed":
            query?.load()
            try await wait { query?.error != nil }
        default:
            query?.load()
            try await wait { query?.value == 0 }
            if state == "cancelled" { query?.cancel() }
        }
        query = nil
        #expect(weakQuery == nil)
        let count = reads?.count
        reads = nil
        try await wait("the closure is released") { weakReads == nil }
        if let database { try await insert("a", in: database) }
        #expect(count == (["new", "paused"].contains(state) ? 0 : 1))
        database = nil
        try await wait("the database is released") { weakDatabase == nil }
    }

    @Test(arguments: Store.allCases) func cancelledLiveQueryReadsNothing(_ store: Store) async throws {
        let database = try store.open(folder), reads = Reads()
        let query = LiveQuery(database, debounce: .milliseconds(1)) { db, text, _ in
            reads.note(text)
            return try Self.titles(db) + [text]
        }
        query.load()
        try await wait { query.value == [""] }
        query.cancel()
        query.searchText = "x"
        query.cancel()
        #expect(!query.isLoading)
        // Others go on, for longer than it would have taken.
        let other = LiveQuery(database, debounce: .milliseconds(20)) { db, text, _ in try Self.titles(db) + [text] }
        for text in ["a", "b", "c"] {
            other.searchText = text
            try await insert(text, in: database)
            try await wait { other.value?.last == text && other.value?.contains(text) == true }
        }
        #expect(query.value == [""] && query.searchText == "x" && reads.count == 1)
        query.load()
        try await wait { query.value == ["a", "b", "c", "x"] }
    }

    // MARK: Typing and paging

    @Test(arguments: Store.allCases) func liveQueryFollowsTypedText(_ store: Store) async throws {
        let database = try store.open(folder), reads = Reads()
        try await insert("bakery", "bank", "fox", in: database)
        let query = LiveQuery(database, debounce: .milliseconds(200)) { db, text, _ in
            reads.note(text)
            return try db.fetchAll(String.self, "SELECT title FROM note WHERE title LIKE \(text + "%") ORDER BY 1")
        }
        let screen = Screen { query.value }, fields = Screen { query.searchText }
        query.searchText = "b"
        try await wait { query.value == ["bakery", "bank"] }
        #expect(reads.count == 1)
        // Faster than the pause: only the last text is read, and the rows stay until it is.
        for text in ["ba", "bak", "bake", "bak", "f", "fo"] {
            query.searchText = text
            #expect(query.isLoading && query.value == ["bakery", "bank"])
            // A commit between two keys brings no result of the former text.
            try await insert("back", in: database)
        }
        try await wait { query.value == ["fox"] }
        #expect(reads.last == "fo")
        try await wait { fields.drawn.last == "fo" && screen.drawn.last == ["fox"] }
        #expect(screen.drawn.count { $0 == ["fox"] } == 1 && screen.drawn.allSatisfy { $0 != ["bakery"] })
        // The same text again is no change.
        query.searchText = "fo"
        #expect(!query.isLoading)
        try await insert("foo", in: database)
        try await wait { query.value == ["foo", "fox"] }
    }

    @Test(arguments: [Duration.zero, .milliseconds(50)]) func rapidTextChangesReadOnce(_ pause: Duration) async throws {
        let database = try Store.pool.open(folder), reads = Reads()
        let query = LiveQuery(database, debounce: pause) { _, text, _ in
            reads.note(text)
            return text
        }
        for number in 0..<500 { query.searchText = "\(number)" }
        try await wait { query.value == "499" }
        #expect(reads.count == 1)
    }

    @Test func liveQueryPauseDelaysRead() async throws {
        let database = try Store.pool.open(folder), reads = Reads()
        let query = LiveQuery(database, debounce: .seconds(3600)) { _, text, _ in
            reads.note(text)
            return text
        }
        query.searchText = "a"
        let other = LiveQuery(database, debounce: .milliseconds(20)) { _, text, _ in text }
        other.searchText = "b"
        try await wait { other.value == "b" }
        #expect(query.value == nil && query.isLoading && reads.count == 0)
        // Return, or a button, need not wait.
        query.load()
        try await wait { query.value == "a" }
        #expect(reads.count == 1)
    }

    @Test(arguments: Store.allCases) func liveQueryLoadsPages(_ store: Store) async throws {
        let database = try store.open(folder), reads = Reads()
        let all = (10..<35).map { "\($0)" }
        try await database.write { db in for title in all { try db.execute("INSERT INTO note(title) VALUES (\(title))") } }
        let query = LiveQuery(database, pageSize: 10, debounce: .zero) { db, _, limit in
            reads.note("\(limit)")
            return try Self.titles(db, limit)
        }
        query.loadMore()
        #expect(!query.isLoading && !query.hasMore)
        query.load()
        try await wait { query.value == Array(all.prefix(10)) }
        #expect(query.hasMore)
        // Rows appear in bursts at the end of a list.
        for _ in 0..<20 { query.loadMore() }
        try await wait { query.value == Array(all.prefix(20)) }
        #expect(query.hasMore && reads.count == 2)
        // Rows that come and go leave no gap and nothing twice.
        try await insert("00", "01", in: database)
        try await wait { query.value == ["00", "01"] + all.prefix(18) }
        query.loadMore()
        try await database.write { db in try db.execute("DELETE FROM note WHERE title = '01' OR title = '12'") }
        let rest = ["00"] + all.filter { $0 != "12" }
        try await wait { query.value == rest }
        #expect(!query.hasMore && !query.isLoading)
        let count = reads.count
        query.loadMore()
        #expect(!query.isLoading && reads.count == count)
        // Another text begins with the first page.
        query.searchText = "x"
        try await wait { query.value == Array(rest.prefix(10)) }
        // Another observation has no pages.
        query.load(database.observe { db in try Self.titles(db) })
        try await wait { query.value == rest }
        #expect(!query.hasMore)
    }

    @Test(arguments: [0, -1, .min]) func invalidPageSizeSetsLiveQueryError(_ size: Int) async throws {
        let database = try Store.memory.open(folder)
        let query = LiveQuery(database, pageSize: size) { db, _, limit in try Self.titles(db, limit) }
        query.load()
        try await wait { query.error != nil }
        #expect((query.error as? DatabaseError)?.reason == .invalidArgument)
        query.loadMore()
        #expect(!query.isLoading)
    }

    // MARK: Several

    @Test func liveQueriesShareOneObservation() async throws {
        let database = try Store.pool.open(folder), reads = Reads()
        let titles = database.observe { db in
            reads.note()
            return try Self.titles(db)
        }.shared()
        let one = LiveQuery(titles), two = LiveQuery(titles)
        one.load()
        try await wait { one.value == [] }
        two.load()
        try await wait { two.value == [] }
        try await insert("a", in: database)
        try await wait { one.value == ["a"] && two.value == ["a"] }
        #expect(reads.count == 2)
    }

    @Test func liveQuerySeesCommitsOfOtherProcesses() async throws {
        let path = folder.path("a.db"), pool = try DatabasePool(.file(path))
        try await pool.write { db in try db.execute("CREATE TABLE note(title)") }
        let query = LiveQuery(pool.observe { db in try Self.titles(db) }.includingOtherProcesses(every: .milliseconds(10)))
        query.load()
        try await wait { query.value == [] }
        for number in 1...3 {
            _ = try Python.run(
                "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('INSERT INTO note VALUES (?)', 'x'); db.commit()", path)
            try await wait { query.value?.count == number }
        }
    }
}

extension String {
    /// Several statements.
    fileprivate var script: SQLScript { SQLScript(self) }
}

import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(60))) struct ObservationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func insert(_ title: String, _ database: DatabaseWriter) async throws {
        try await database.write { db in try db.execute("INSERT INTO note(title, n) VALUES (\(title), 0)") }
    }

    @Test(arguments: Store.allCases) func observationDeliversInitialAndChangedValues(store: Store) async throws {
        let database = try store.open(folder)
        try await insert("one", database)
        var titles = database.observe { db in try db.fetchAll(String.self, "SELECT title FROM note ORDER BY id") }.makeAsyncIterator()
        #expect(try await titles.next() == ["one"])
        try await insert("two", database)
        #expect(try await titles.next() == ["one", "two"])
        // Changes of columns that it has not read do not count, nor undone changes: the next element is the last write's.
        try await database.write { db in try db.execute("UPDATE note SET n = 5") }
        try await database.write { db in try db.execute("INSERT INTO tag VALUES ('a')") }
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await database.write { db in
                try db.execute("DELETE FROM note")
                throw Stop()
            }
        }
        try await insert("three", database)
        #expect(try await titles.next() == ["one", "two", "three"])
        // Several commits before the next look are one element.
        for title in ["4", "5", "6"] { try await insert(title, database) }
        #expect(try await titles.next()?.count == 6)
        try await database.write { db in try db.execute("ALTER TABLE note ADD COLUMN more") }
        #expect(try await titles.next()?.count == 6)
        try await database.write { db in try db.execute("DELETE FROM note") }
        #expect(try await titles.next() == [])
    }

    /// The region of the first read is not known before its end: commits to other columns meanwhile are no reason for a second
    /// read.
    @Test func firstReadIgnoresCommitsToOtherColumns() async throws {
        let database = try Store.pool.open(folder)
        try await insert("one", database)
        let reads = Lock(0)
        let entered = Latch(), leave = Latch()
        let titles = database.observe { db in
            let titles = try db.fetchAll(String.self, "SELECT title FROM note ORDER BY id")
            if reads.withLock({ $0 += 1; return $0 }) == 1 {
                entered.open()
                leave.wait()
            }
            return titles
        }
        let seen = Task {
            var seen: [[String]] = []
            for try await element in titles {
                seen.append(element)
                if element.count == 2 { break }
            }
            return seen
        }
        try await entered.opened()
        try await database.write { db in try db.execute("UPDATE note SET n = n + 1") }
        leave.open()
        try await Task.sleep(for: .milliseconds(100))
        try await insert("two", database)
        #expect(try await seen.value == [["one"], ["one", "two"]])
        #expect(reads.withLock { $0 } == 2)
    }

    /// Reads are counted: a change outside of the observed region leads to no other read.
    @Test(arguments: Store.allCases) func observationRereadsOnlyAffectedRegions(store: Store) async throws {
        let database = try store.open(folder)
        let reads = Lock(0)
        let counts = database.observe { db in
            reads.withLock { $0 += 1 }
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }
        var iterator = counts.makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        for number in 0..<20 {
            try await database.write { db in
                try db.execute("INSERT INTO tag VALUES (\("\(number)"))")
                try db.execute("UPDATE note SET title = 'x'")
            }
        }
        try await insert("one", database)
        #expect(try await iterator.next() == 1)
        #expect(reads.withLock { $0 } == 2)
    }

    /// A commit in the middle of a read, which does not see it: only this very commit leads to the next element.
    @Test func commitDuringObservedReadTriggersReread() async throws {
        let pool = try Store.pool.open(folder)
        let writes = Lock(1)
        var counts = pool.observe { db in
            let count = try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            let isTurn = writes.withLock { writes in
                defer { writes -= 1 }
                return writes > 0
            }
            if isTurn {
                let isDone = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    try? pool.write { db in try db.execute("INSERT INTO note(title) VALUES ('meanwhile')") }
                    isDone.signal()
                }
                isDone.wait()
            }
            return count
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        #expect(try await counts.next() == 1)
    }

    /// A read sees a commit, but in another log than the one that the commit was written to.
    @Test func walResetTriggersNoExtraRead() async throws {
        let pool = try Store.pool.open(folder)
        var counts = pool.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try await insert("one", pool)
        let entered = Latch(), isWaiting = Latch()
        let alone = onThread {
            try pool.barrierWriteWithoutTransaction { db in
                entered.open()
                isWaiting.wait()
                try db.execute("INSERT INTO note(title) VALUES ('two')")
                try db.main.checkpoint(.truncate)
            }
        }
        try await entered.opened()
        func next(_ iterator: DatabaseObservation<Int>.AsyncIterator) -> Task<(Int?, DatabaseObservation<Int>.AsyncIterator), any Error> {
            Task {
                var iterator = iterator
                let count = try await iterator.next()
                return (count, iterator)
            }
        }
        let second = next(counts)
        // So that the read is likely to wait for its connection; if not, there is nothing to see.
        try await Task.sleep(for: .milliseconds(50))
        isWaiting.open()
        try await alone.ended()
        let (two, later) = try await second.value
        #expect(two == 2)
        let third = next(later)
        // Time for one that must not come.
        try await Task.sleep(for: .milliseconds(50))
        try await insert("three", pool)
        #expect(try await third.value.0 == 3)
        try await pool.close()
    }

    @Test(arguments: Store.allCases) func observationFollowsFullTextSearch(store: Store) async throws {
        let database = try store.open(folder)
        try await database.write { db in
            try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        }
        var hits = database.observe { db in
            var search = FullTextSearch("fox")
            search.highlightedColumns = ["title"]
            return try db.fullText("note_fts").search(search).hits.map { $0.highlights["title"]?.description }
        }
        .removingDuplicates().makeAsyncIterator()
        #expect(try await hits.next() == [])
        try await insert("a dog", database)
        try await insert("a fox", database)
        #expect(try await hits.next() == ["a [fox]"])
        try await database.write { db in try db.execute("UPDATE note SET title = 'fox fox' WHERE title = 'a dog'") }
        #expect(try await hits.next()?.count == 2)
        try await database.write { db in try db.execute("DELETE FROM note WHERE title = 'a fox'") }
        #expect(try await hits.next()?.count == 1)
    }

    @Test(arguments: Store.allCases) func observationFollowsAttachedDatabases(store: Store) async throws {
        let database = try store.open(folder)
        let path = folder.path("other.db")
        try Connection(.file(path), key: .passphrase("other").quick).execute("CREATE TABLE far(x)")
        try await database.attach(.file(path), as: "other", key: .passphrase("other", cipher: .quick))
        var counts = database.observe { db in
            try db.fetchOne(Int.self, "SELECT (SELECT count(*) FROM other.far) * 100 + (SELECT count(*) FROM main.note)") ?? 0
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try await database.write { db in try db.execute("INSERT INTO other.far VALUES (1)") }
        #expect(try await counts.next() == 100)
        try await insert("one", database)
        #expect(try await counts.next() == 101)
        try await database.write { db in
            try db.execute("INSERT INTO other.far VALUES (1)")
            try db.execute("INSERT INTO note(title) VALUES ('two')")
        }
        var last = try await counts.next()
        // A reader may see one file's part of a commit before the other's, but never keeps it at that.
        while last != 202 { last = try await counts.next() }
        #expect(last == 202)
    }

    @Test(arguments: Store.allCases) func cancelledObservationEnds(store: Store) async throws {
        let database = try store.open(folder)
        let counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
        let (started, starter) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var seen: [Int] = []
            for try await count in counts {
                seen.append(count)
                starter.yield()
            }
            return seen
        }
        for await _ in started { break }
        task.cancel()
        #expect(try await task.value == [0])
        // The database is of use to others.
        try await insert("one", database)
        var other = counts.makeAsyncIterator()
        #expect(try await other.next() == 1)
        // A task that is cancelled already gets nothing.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var seen: [Int] = []
            for try await count in counts { seen.append(count) }
            return seen
        }
        #expect(try await late.value == [])
    }

    @Test(arguments: Store.allCases) func errorsEndObservation(store: Store) async throws {
        let database = try store.open(folder)
        var titles = database.observe { db in try db.fetchAll(String.self, "SELECT title FROM note") }.makeAsyncIterator()
        var other = database.observe { db in try db.fetchAll(String.self, "SELECT name FROM tag") }.makeAsyncIterator()
        #expect(try await titles.next() == [])
        #expect(try await other.next() == [])
        try await database.write { db in try db.execute("DROP TABLE note") }
        await #expect(throws: DatabaseError.self) { try await titles.next() }
        #expect(try await titles.next() == nil)
        #expect(try await other.next() == [])
        let (closing, done) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [other] in
            var other = other
            done.yield()
            return try await other.next()
        }
        for await _ in closing { break }
        try await database.close()
        let error = await #expect(throws: DatabaseError.self) { try await task.value }
        #expect(error?.reason == .closed)
        var late = database.observe { db in try db.fetchAll(String.self, "SELECT 1") }.makeAsyncIterator()
        await #expect(throws: DatabaseError.self) { try await late.next() }
    }

    /// Another connection, first of this process and then of another process.
    @Test(arguments: [Store.queue, .pool]) func observationSeesOtherProcesses(store: Store) async throws {
        let database = try store.open(folder)
        let counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
        var iterator = counts.includingOtherProcesses(every: .milliseconds(5)).removingDuplicates().makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("key").quick)
        try other.execute("INSERT INTO note(title) VALUES ('two')")
        #expect(try await iterator.next() == 1)
        try await insert("here", database)
        #expect(try await iterator.next() == 2)
        let path = folder.path("a.db")
        let driver = try BuildProducts.executable("FaultDriver")
        let process = try Command(driver, ["script", path, "key", "INSERT INTO note(title) VALUES ('far'), ('away')"])
        #expect(try await iterator.next() == 4)
        #expect(try process.end().status == 0)
    }

    /// The rows that are changed cost something only while they are observed.
    @Test(arguments: [Store.queue, .pool]) func endedObservationStopsTracking(store: Store) async throws {
        let database = try store.open(folder)
        do {
            var titles = database.observe { db in try db.fetchAll(String.self, "SELECT title FROM note") }.makeAsyncIterator()
            _ = try await titles.next()
        }
        try await insert("one", database)
        try await insert("two", database)
        var titles = database.observe { db in try db.fetchAll(String.self, "SELECT title FROM note") }.makeAsyncIterator()
        #expect(try await titles.next()?.count == 2)
        try await insert("three", database)
        #expect(try await titles.next()?.count == 3)
    }
}

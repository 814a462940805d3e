import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// The elements of an observation before its hook is there, and after it is gone.
@Suite(.timeLimit(.minutes(60))) struct FirstElementTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A write that holds the writer until the latch is opened, and then inserts a row.
    private func longWrite(_ database: DatabaseWriter) async throws -> (end: Latch, write: Outcomes) {
        let entered = Latch(), end = Latch()
        let write = onThread {
            try database.write { db in
                try db.execute("INSERT INTO note(title) VALUES ('first')")
                entered.open()
                end.wait()
                try db.execute("INSERT INTO note(title) VALUES ('second')")
            }
        }
        try await entered.opened()
        return (end, write)
    }

    @Test func firstElementDoesNotWaitForWrite() async throws {
        let pool = try Store.pool.open(folder)
        let reads = Lock(0)
        let (end, write) = try await longWrite(pool)
        var counts = pool.observe { db in
            reads.withLock { $0 += 1 }
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        // The hook was not there when this is committed.
        end.open()
        #expect(try await counts.next() == 2)
        try await write.ended()
        try await pool.write { db in try db.execute("UPDATE note SET n = 5") }
        try await pool.write { db in try db.execute("DELETE FROM note WHERE title = 'first'") }
        #expect(try await counts.next() == 1)
        #expect(reads.withLock { $0 } == 3)
    }

    /// A write that touches nothing of it, or nothing at all, and one that has ended before the hook is there.
    @Test func commitsBeforeTheObservationHookAreSeen() async throws {
        let pool = try Store.pool.open(folder)
        let reads = Lock(0)
        let (end, write) = try await longWrite(pool)
        let names = pool.observe { db in
            reads.withLock { $0 += 1 }
            return try db.fetchAll(String.self, "SELECT name FROM tag")
        }
        var first = names.makeAsyncIterator(), second = names.makeAsyncIterator()
        #expect(try await first.next() == [])
        #expect(try await second.next() == [])
        // Waits for the writer behind the hook, or before it.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask { try await pool.write { db in try db.execute("INSERT INTO tag VALUES (\("\(number)"))") } }
            }
            end.open()
            try await group.waitForAll()
        }
        try await write.ended()
        for var iterator in [first, second] {
            var last: [String]? = []
            while last?.count != 5 { last = try await iterator.next() }
        }
    }

    /// No second read where there was no commit.
    @Test(arguments: Store.allCases) func observationReadsOnceWithoutCommits(store: Store) async throws {
        let database = try store.open(folder)
        let reads = Lock(0)
        var counts = database.observe { db in
            reads.withLock { $0 += 1 }
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        let next = Task { [counts] in
            var counts = counts
            return try await counts.next()
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(reads.withLock { $0 } == 1)
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        #expect(try await next.value == 1)
        #expect(reads.withLock { $0 } == 2)
    }

    /// The writer has a log, the other database has none: a commit to the other database moves no log.
    @Test func observationSeesCommitsToAttachedDatabaseWithoutWAL() async throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(.file(folder.path("wal.db")), key: .passphrase("key").quick, configuration: configuration)
        try await queue.attach(.memory, as: "other", key: .plaintext)
        try await queue.write { db in
            try db.execute("CREATE TABLE note(x)")
            try db.execute("CREATE TABLE other.far(x)")
        }
        var counts = queue.observe { db in
            try db.fetchOne(Int.self, "SELECT (SELECT count(*) FROM note) + (SELECT count(*) FROM other.far)") ?? 0
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try await queue.write { db in try db.execute("INSERT INTO other.far VALUES (1)") }
        #expect(try await counts.next() == 1)
    }

    /// Whatever has closed the connection, a waiting loop gets the error.
    @Test(arguments: Store.allCases) func observationOfClosedConnectionEndsOrReconnects(store: Store) async throws {
        let database = try store.open(folder)
        let counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
        let (seen, see) = AsyncStream.makeStream(of: Int.self)
        let loop = Task { for try await count in counts { see.yield(count) } }
        var elements = seen.makeAsyncIterator()
        #expect(await elements.next() == 0)
        try? await database.barrierWriteWithoutTransaction { db in db.close() }
        do {
            // Where it was opened again, the loop goes on.
            try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
            while await elements.next() != 1 {}
            loop.cancel()
        } catch {
            await #expect(throws: DatabaseError.self) { try await loop.value }
        }
    }

    /// A copy is a loop of its own.
    @Test(arguments: Store.allCases) func copiedIteratorsObserveIndependently(store: Store) async throws {
        let database = try store.open(folder)
        var counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        let copies = (0..<4).map { _ in
            Task { [counts] in
                var counts = counts
                var last = 0
                while last != 50, let next = try await counts.next() {
                    #expect(next > last)
                    last = next
                }
                return last
            }
        }
        for _ in 0..<50 { try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") } }
        for copy in copies { #expect(try await copy.value == 50) }
        #expect(try await counts.next() == 50)
    }

    /// Each of them is taken as the nearest that makes sense: none stops the program, and none keeps it busy.
    @Test(arguments: [.zero, .seconds(-5), .seconds(Int64.max), .seconds(Int64.min), .nanoseconds(1)] as [Duration])
    func anyPollIntervalIsAccepted(interval: Duration) async throws {
        let queue = try Store.memory.open(folder)
        var counts = queue.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
            .includingOtherProcesses(every: interval).makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try await Task.sleep(for: .milliseconds(20))
        try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        #expect(try await counts.next() == 1)
    }

    @Test func removingDuplicatesUsesItsClosure() async throws {
        let queue = try Store.memory.open(folder)
        var counts = queue.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
            .removingDuplicates { $0 / 2 == $1 / 2 }.makeAsyncIterator()
        func insert() async throws { try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") } }
        #expect(try await counts.next() == 0)
        try await insert()
        let next = Task { [counts] in
            var counts = counts
            return try await counts.next()
        }
        try await Task.sleep(for: .milliseconds(20))
        try await insert()
        #expect(try await next.value == 2)
    }

    @Test(arguments: Store.allCases) func observationFetchThatWritesThrows(store: Store) async throws {
        let database = try store.open(folder)
        var wrong = database.observe { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }.makeAsyncIterator()
        let error = await #expect(throws: DatabaseError.self) { try await wrong.next() }
        #expect(error.map { .readOnly ~= $0.code } == true)
        var counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
    }
}

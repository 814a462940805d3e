import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Faults of other libraries' observations: many at a time, logs of no length, schemas, names, and cancellation.
@Suite(.timeLimit(.minutes(60))) struct ManyObservationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func count(_ database: DatabaseWriter) -> DatabaseObservation<Int> {
        database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
    }

    private final class Counter: Sendable {
        private let count = Lock(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// A hundred observations, each with a first value during a long write, and with the write's result after it.
    @Test func manyObservationsStartDuringLongWrite() async throws {
        let pool = try Store.pool.open(folder)
        let entered = Latch(), end = Latch()
        let write = onThread {
            try pool.write { db in
                try db.execute("INSERT INTO note(title) VALUES ('x')")
                entered.open()
                end.wait()
            }
        }
        try await entered.opened()
        let firsts = Counter()
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<100 {
                group.addTask { [self] in
                    var seen: [Int] = []
                    for try await value in count(pool) {
                        seen.append(value)
                        if value == 1 { break }
                        if firsts.next() == 100 { end.open() }
                    }
                    return seen
                }
            }
            for try await seen in group { #expect(seen == [0, 1]) }
        }
        try await write.ended()
    }

    /// A write-ahead log that is empty, or not there, when the observation begins.
    @Test(arguments: [CheckpointMode.truncate, nil]) func observationStartsWithEmptyOrMissingWAL(mode: CheckpointMode?) async throws {
        let first = try Store.pool.open(folder)
        if let mode { try await first.main.checkpoint(mode) }
        if mode == nil { try await first.close() }
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("key").quick)
        var values = count(pool).makeAsyncIterator()
        #expect(try await values.next() == 0)
        try await pool.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        #expect(try await values.next() == 1)
    }

    /// Names of tables and columns are the same in any case.
    @Test(arguments: Store.allCases) func observedNamesIgnoreCase(store: Store) async throws {
        let database = try store.open(folder)
        var titles = database.observe { db in try db.fetchAll(String.self, "SELECT TiTlE FROM NOTE") }.makeAsyncIterator()
        #expect(try await titles.next() == [])
        try await database.write { db in try db.execute("INSERT INTO nOtE(tItLe) VALUES ('x')") }
        #expect(try await titles.next() == ["x"])
        try await database.write { db in try db.execute("UPDATE main.Note SET TITLE = 'y'") }
        #expect(try await titles.next() == ["y"])
    }

    /// A fetch that asks whether there is a table learns of it, also on a reader that has the old schema.
    @Test(arguments: Store.allCases) func observationSeesSchemaChange(store: Store) async throws {
        let database = try store.open(folder)
        var isThere = database.observe { db in
            try db.fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'later')") ?? false
        }.makeAsyncIterator()
        #expect(try await isThere.next() == false)
        try await database.write { db in try db.execute("CREATE TABLE later(x)") }
        #expect(try await isThere.next() == true)
    }

    /// Commits to a table that mattered to no observation matter as soon as one reads it.
    @Test(.timeLimit(.minutes(1)), arguments: Store.allCases) func tableMattersOnceItIsRead(store: Store) async throws {
        let database = try store.open(folder)
        try await database.write { db in try db.execute("CREATE TABLE other(x)") }
        var values = database.observe { db in
            let notes = try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            return notes == 0 ? 0 : notes + 10 * (try db.fetchOne(Int.self, "SELECT count(*) FROM other") ?? 0)
        }.makeAsyncIterator()
        #expect(try await values.next() == 0)
        try await database.write { db in try db.execute("INSERT INTO other VALUES (1)") }
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        #expect(try await values.next() == 11)
        try await database.write { db in try db.execute("INSERT INTO other VALUES (2)") }
        #expect(try await values.next() == 21)
    }

    private final class Cancelled: Sendable {
        private let task = Lock<Task<Void, any Error>?>(nil)

        func set(_ new: Task<Void, any Error>) { task.withLock { $0 = new } }
        func cancel() { task.withLock { $0 }?.cancel() }
    }

    /// An observer of a commit may cancel the task that has committed: the commit stays, and the database goes on.
    @Test(arguments: Store.allCases) func commitHookMayCancelTheCommittingTask(store: Store) async throws {
        let database = try store.open(folder)
        let task = Cancelled()
        let go = Latch()
        let token = database.addCommitHook { task.cancel() }
        let writing = Task {
            try await go.opened()
            try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
        }
        task.set(writing)
        go.open()
        let outcome = await writing.result
        token.remove()
        let rows = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
        // Done or undone, and the caller is told which.
        switch outcome {
        case .success: #expect(rows == 1)
        case .failure(let error): #expect(error is CancellationError && rows == 0)
        }
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('y')") }
    }
}

import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Several loops over one observation.
@Suite(.timeLimit(.minutes(60))) struct SharedObservationTests {
    final class Reads: Sendable {
        let count = Lock(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    let folder: TemporaryFolder
    let reads = Reads()

    init() throws { folder = try TemporaryFolder() }

    private func counts(_ database: DatabaseWriter) -> DatabaseObservation<Int> {
        let reads = reads
        return database.observe { db in
            reads.add()
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.shared()
    }

    private func insert(_ database: DatabaseWriter) async throws {
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
    }

    @Test(arguments: Store.allCases) func sharedObservationReadsOncePerCommit(store: Store) async throws {
        let database = try store.open(folder)
        let counts = counts(database)
        let (seen, see) = AsyncStream.makeStream(of: Int.self)
        let loops = (0..<10).map { _ in
            Task { for try await count in counts { see.yield(count) } }
        }
        var elements = seen.makeAsyncIterator()
        for commit in 0..<20 {
            for _ in 0..<10 { #expect(await elements.next() == commit) }
            #expect(reads.value == commit + 1)
            try await insert(database)
        }
        for _ in 0..<10 { #expect(await elements.next() == 20) }
        // An observer that comes late reads nothing.
        var late = counts.makeAsyncIterator()
        #expect(try await late.next() == 20)
        #expect(reads.value == 21)
        // An observer that leaves does not disturb the others.
        loops[0].cancel()
        try await loops[0].value
        try await insert(database)
        for _ in 0..<9 { #expect(await elements.next() == 21) }
        #expect(try await late.next() == 21)
        #expect(reads.value == 22)
        for loop in loops { loop.cancel() }
        for loop in loops { try await loop.value }
        // A copy of the iterator goes on.
        var copy = late
        try await insert(database)
        #expect(try await late.next() == 22)
        #expect(try await copy.next() == 22)
        #expect(reads.value == 23)
    }

    @Test(arguments: Store.allCases) func sharedObservationEndsWithItsLastLoop(store: Store) async throws {
        let database = try store.open(folder)
        let counts = counts(database)
        do {
            var first = counts.makeAsyncIterator(), second = counts.makeAsyncIterator()
            #expect(try await first.next() == 0)
            #expect(try await second.next() == 0)
        }
        #expect(reads.value == 1)
        try await insert(database)
        try await Task.sleep(for: .milliseconds(20))
        #expect(reads.value == 1)
        var third = counts.makeAsyncIterator()
        #expect(try await third.next() == 1)
        #expect(reads.value == 2)
    }

    /// A loop's own earlier write is in the first element that the loop gets.
    @Test(arguments: Store.allCases) func loopJoiningAfterWriteSeesThatWrite(store: Store) async throws {
        let database = try store.open(folder)
        let counts = counts(database)
        let others = (0..<3).map { _ in Task { for try await _ in counts {} } }
        for number in 1...50 {
            try await insert(database)
            var mine = counts.makeAsyncIterator()
            #expect(try await mine.next() == number)
        }
        for other in others { other.cancel() }
    }

    @Test(arguments: Store.allCases) func sharedObservationErrorEndsAllLoops(store: Store) async throws {
        let database = try store.open(folder)
        let counts = counts(database)
        let (seen, see) = AsyncStream.makeStream(of: Int.self)
        let loops = (0..<5).map { _ in
            Task { for try await count in counts { see.yield(count) } }
        }
        var elements = seen.makeAsyncIterator()
        for _ in 0..<5 { #expect(await elements.next() == 0) }
        try await database.write { db in try db.execute("ALTER TABLE note RENAME TO other") }
        for loop in loops {
            let error = await #expect(throws: DatabaseError.self) { try await loop.value }
            #expect(error?.message.contains("no such table") == true)
        }
        #expect(reads.value == 2)
        try await database.write { db in try db.execute("ALTER TABLE other RENAME TO note") }
        var later = counts.makeAsyncIterator()
        #expect(try await later.next() == 0)
    }

    /// Loops of different paces, under load: each sees states in order, and the last state.
    @Test(arguments: Store.allCases) func slowAndFastLoopsSeeOrderedStates(store: Store) async throws {
        let database = try store.open(folder)
        let counts = counts(database).removingDuplicates()
        let end = LongTests.areOn ? 300 : 100
        let loops = (0..<8).map { number in
            Task {
                var seen: [Int] = []
                for try await count in counts {
                    seen.append(count)
                    if count == end { break }
                    if number % 4 == 1 { await Task.yield() }
                    if number % 4 == 2 { try await Task.sleep(for: .milliseconds(number)) }
                }
                return seen
            }
        }
        let visitors = Task {
            while !Task.isCancelled {
                for try await _ in counts { break }
            }
        }
        for _ in 0..<end { try await insert(database) }
        for loop in loops {
            let seen = try await loop.value
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 }, "\(seen)")
            #expect(seen.last == end)
        }
        visitors.cancel()
        _ = try? await visitors.value
    }

    @Test func closingEndsSharedObservationLoops() async throws {
        let database = try Store.pool.open(folder)
        let counts = counts(database)
        let loops = (0..<5).map { _ in Task { for try await _ in counts {} } }
        var one = counts.makeAsyncIterator()
        #expect(try await one.next() == 0)
        try await database.close()
        for loop in loops { await #expect(throws: DatabaseError.self) { try await loop.value } }
        await #expect(throws: DatabaseError.self) { try await one.next() }
        #expect(try await one.next() == nil)
    }
}

import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Observations with callbacks.
@Suite(.timeLimit(.minutes(60))) struct ObservationStartTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func counts(_ database: DatabaseWriter) -> DatabaseObservation<Int> {
        database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
    }

    private func insert(_ database: DatabaseWriter) async throws {
        try await database.write { db in try db.execute("INSERT INTO note(title) VALUES ('x')") }
    }

    @MainActor final class Screen {
        var shown: [Int] = []
        var error: (any Error)?
    }

    @MainActor private func wait(until isDone: () -> Bool) async throws {
        try await suspendUntil("it is shown") { isDone() }
    }

    @MainActor @Test(arguments: Store.allCases, [false, true])
    func startDeliversTheFirstValueAtOnce(store: Store, isShared: Bool) async throws {
        let database = try store.open(folder)
        let counts = isShared ? counts(database).shared() : counts(database)
        let screen = Screen(), second = Screen()
        var token: ObservationToken? = counts.start { screen.shown.append($0) }
        #expect(screen.shown == [0])
        let other = counts.start { second.shown.append($0) }
        #expect(second.shown == [0])
        for number in 1...30 {
            try await insert(database)
            if number % 10 == 0 { try await wait { screen.shown.last == number && second.shown.last == number } }
        }
        #expect(screen.shown.last == 30 && screen.shown == screen.shown.sorted() && Set(screen.shown).count == screen.shown.count)
        // Nothing comes after it was released.
        token = nil
        _ = token
        try await insert(database)
        try await wait { second.shown.last == 31 }
        #expect(screen.shown.last == 30)
        other.cancel()
    }

    @MainActor @Test func startDoesNotWaitForWrite() async throws {
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
        let screen = Screen()
        let token = counts(pool).start { screen.shown.append($0) }
        #expect(screen.shown == [0])
        end.open()
        try await wait { screen.shown.last == 1 }
        #expect(screen.shown == [0, 1])
        try await write.ended()
        token.cancel()
    }

    @MainActor @Test func laterStartDeliversAfterReturning() async throws {
        let queue = try Store.queue.open(folder)
        let screen = Screen()
        let token = counts(queue).start(.later) { screen.shown.append($0) }
        #expect(screen.shown == [])
        try await wait { screen.shown == [0] }
        #expect(screen.shown == [0])
        token.cancel()
    }

    @MainActor @Test(arguments: [ObservationStart.immediate, .later]) func startErrorsReachOnError(start: ObservationStart) async throws {
        let queue = try Store.queue.open(folder)
        let screen = Screen()
        let wrong = queue.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM nowhere") ?? 0 }
        let failed = wrong.start(start, onError: { screen.error = $0 }) { screen.shown.append($0) }
        if start == .immediate { #expect(screen.error != nil) }
        try await wait { screen.error != nil }
        #expect(screen.error is DatabaseError && screen.shown == [])
        failed.cancel()
        // And one that comes later.
        screen.error = nil
        let token = counts(queue).start(start, onError: { screen.error = $0 }) { screen.shown.append($0) }
        try await wait { screen.shown == [0] }
        try await queue.write { db in try db.execute("DROP TABLE note") }
        try await wait { screen.error != nil }
        #expect(screen.error is DatabaseError && screen.shown == [0])
        token.cancel()
    }

    /// A read that runs for others is given up for the one on this thread, and they get its result.
    @Test func immediateStartReplacesRunningSharedRead() async throws {
        let pool = try Store.pool.open(folder)
        let reads = Lock(0)
        let entered = Latch(), leave = Latch()
        let counts = pool.observe { db in
            if reads.withLock({ $0 += 1; return $0 }) == 1 {
                entered.open()
                leave.wait()
            }
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.shared()
        let loop = Task {
            for try await count in counts { return count }
            return -1
        }
        try await entered.opened()
        let shown = Lock<[Int]>([])
        let token = counts.start(concurrently: .immediate) { count in shown.withLock { $0.append(count) } }
        #expect(shown.withLock { $0 } == [0])
        #expect(try await loop.value == 0)
        leave.open()
        #expect(reads.withLock { $0 } == 2)
        token.cancel()
    }

    /// The observation would wait for the connection that its caller has.
    @Test(arguments: Store.allCases) func startInsideCallReportsMisuse(store: Store) throws {
        let database = try store.open(folder)
        let errors = Lock<[String]>([])
        let counts = counts(database).shared()
        let note: @Sendable (any Error) -> Void = { error in
            errors.withLock { $0.append("\((error as? DatabaseError)?.reason as Any)") }
        }
        try database.write { db in
            _ = counts.start(concurrently: .immediate, onError: note) { _ in }
        }
        try database.read { db in
            _ = counts.start(concurrently: .immediate, onError: note) { _ in }
        }
        #expect(errors.withLock { $0.count } == 2)
        #expect(errors.withLock { $0.allSatisfy { $0.contains("misuse") } })
    }

    /// Threads that begin at once read once, and each has its value when the call returns.
    @Test func concurrentStartsShareOneRead() throws {
        let pool = try Store.pool.open(folder)
        let reads = Lock(0), shown = Lock(0)
        let counts = pool.observe { db in
            reads.withLock { $0 += 1 }
            return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
        }.shared()
        let tokens = Lock<[ObservationToken]>([])
        try onThreads(8) { _ in
            let own = Lock(-1)
            let token = counts.start(concurrently: .immediate) { count in own.withLock { $0 = count } }
            if own.withLock({ $0 }) == 0 { shown.withLock { $0 += 1 } }
            tokens.withLock { $0.append(token) }
        }
        #expect(shown.withLock { $0 } == 8)
        #expect(reads.withLock { $0 } == 1)
    }

    /// A callback may end its own observation, and start another observation.
    @MainActor @Test(arguments: [false, true]) func callbackMayCancelItsOwnToken(isReleased: Bool) async throws {
        let queue = try Store.queue.open(folder)
        let counts = counts(queue).shared()
        var token: ObservationToken?
        var tokens: [ObservationToken] = []
        var shown: [Int] = [], inner: [Int] = []
        token = counts.start { count in
            shown.append(count)
            if count == 0 { tokens.append(counts.start { inner.append($0) }) }
            if count == 2 { if isReleased { token = nil } else { token?.cancel() } }
        }
        #expect(shown == [0] && inner == [0])
        for number in 1...4 {
            try await insert(queue)
            try await wait { inner.last == number }
            if number <= 2 { try await wait { shown.last == number } }
        }
        #expect(shown == [0, 1, 2] && inner == [0, 1, 2, 3, 4])
        tokens = []
    }
}

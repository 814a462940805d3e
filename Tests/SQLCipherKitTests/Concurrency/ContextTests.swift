import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A closure runs in the task that has called, wherever it runs.
@Suite struct ConcurrencyContextTests {
    enum Local {
        @TaskLocal static var value = 0
    }

    enum Call: CaseIterable {
        case read, write, barrier

        func run<R: Sendable>(_ database: DatabaseWriter, _ body: @escaping @Sendable (Connection) throws -> R) async throws -> R {
            switch self {
            case .read: try await database.read { db in try body(db) }
            case .write: try await database.write { db in try body(db) }
            case .barrier: try await database.barrierWriteWithoutTransaction { db in try body(db) }
            }
        }

        func wait<R: Sendable>(_ database: DatabaseWriter, _ body: @escaping @Sendable (Connection) throws -> R) throws -> R {
            switch self {
            case .read: try database.read { db in try body(db) }
            case .write: try database.write { db in try body(db) }
            case .barrier: try database.barrierWriteWithoutTransaction { db in try body(db) }
            }
        }
    }

    let folder: TemporaryFolder
    let databases: [DatabaseWriter]

    init() throws {
        folder = try TemporaryFolder()
        databases = [
            try DatabaseQueue(.file(folder.path("queue.db"))), try DatabaseQueue(.memory),
            try DatabasePool(.file(folder.path("pool.db")), configuration: .pool { $0.maximumReaders = 2 }),
        ]
        for database in databases { try database.write { db in try db.execute("CREATE TABLE t(x)") } }
    }

    @Test(arguments: Call.allCases) func taskLocalsReachClosures(call: Call) async throws {
        for database in databases {
            for number in 1...60 {
                let seen = try await Local.$value.withValue(number) { try await call.run(database) { _ in Local.value } }
                #expect(seen == number)
                // A task that has none gets none.
                if number % 20 == 0 { #expect(try await call.run(database) { _ in Local.value } == 0) }
            }
            let waited = try Local.$value.withValue(7) { try call.wait(database) { _ in Local.value } }
            #expect(waited == 7)
        }
    }

    @Test func taskLocalsReachQueuedClosures() async throws {
        for database in databases {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 1...200 {
                    group.addTask {
                        try await Local.$value.withValue(number) {
                            try await Call.allCases[number % 3].run(database) { db in
                                _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                                return Local.value == number
                            }
                        }
                    }
                }
                for try await isSame in group { #expect(isSame) }
            }
        }
    }

    @Test func taskLocalsReachProgressCallbacks() async throws {
        let seen = Lock<Set<Int>>([])
        let note: @Sendable () -> Void = { seen.withLock { _ = $0.insert(Local.value) } }
        for (number, database) in databases.enumerated() where number != 1 {
            try await Local.$value.withValue(5) {
                try await database.convert(to: .passphrase("one").quick) { _ in note() }
                try await database.changeKey(to: .passphrase("two").quick) { _ in note() }
                _ = try await database.main.eraseDeletedContent { _ in note() }
            }
        }
        #expect(seen.withLock { $0 } == [5])
    }

    @Test(arguments: Call.allCases) func closureSeesTaskCancellation(call: Call) async throws {
        for database in databases {
            for isWarm in [false, true] {
                if isWarm { for _ in 0..<20 { _ = try await call.run(database) { db in db.isOpen } } }
                let entered = Latch(), isCancelled = Latch(), seen = Lock<[Bool]>([])
                let task = Task {
                    try await call.run(database) { _ in
                        seen.withLock { $0.append(Task.isCancelled) }
                        entered.open()
                        isCancelled.wait()
                        seen.withLock { $0.append(Task.isCancelled) }
                        try Task.checkCancellation()
                    }
                }
                try await entered.opened()
                task.cancel()
                isCancelled.open()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(seen.withLock { $0 } == [false, true])
            }
        }
    }

    @Test(arguments: Call.allCases) func closureKeepsTaskPriority(call: Call) async throws {
        for database in databases {
            for priority in [TaskPriority.background, .high] {
                // The one that it was made with: waiting for the task raises the other.
                let task = Task.detached(priority: priority) { try await call.run(database) { _ in Task.basePriority } }
                #expect(try await task.value == priority)
            }
        }
    }

    @MainActor @Test func callReturnsToItsActor() async throws {
        for database in databases {
            for call in Call.allCases {
                let isOnThread = try await call.run(database) { db in db.isOpen }
                MainActor.assertIsolated()
                #expect(isOnThread)
            }
        }
    }

    /// A caller that waits is served on a thread of its own: Swift's may all be blocked by calls that wait behind it.
    @Test func waitingTaskNeedsNoCooperativeThread() async throws {
        for database in databases {
            let executor = PausableExecutor()
            defer { executor.stop() }
            let entered = Latch(), leave = Latch()
            let running = onThread {
                try database.write { db in
                    entered.open()
                    leave.wait()
                    try db.execute("INSERT INTO t VALUES (1)")
                }
            }
            try await entered.opened()
            let task = Task(executorPreference: executor) { try await database.write { db in try db.execute("INSERT INTO t VALUES (2)") } }
            try await Task.sleep(for: .milliseconds(30))
            executor.pause()
            leave.open()
            try await running.ended()
            // The statement comes after the task in the queue.
            try await onThread { try database.write { db in try db.execute("INSERT INTO t VALUES (3)") } }.ended()
            executor.goOn()
            try await task.value
            let values = try await database.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") }
            #expect(values == [1, 2, 3])
        }
    }
}

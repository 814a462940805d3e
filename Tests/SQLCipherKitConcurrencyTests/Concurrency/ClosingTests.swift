import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyClosingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func database(_ isPool: Bool, _ name: String = "a.db") throws -> DatabaseWriter {
        let location = DatabaseLocation.file(folder.path(name))
        let database: DatabaseWriter = try isPool ? DatabasePool(location) : DatabaseQueue(location)
        try database.write { db in try db.execute("CREATE TABLE IF NOT EXISTS t(x)") }
        return database
    }

    /// A call that runs until the latch is opened.
    private func hold(_ database: DatabaseWriter, reading: Bool = false) async throws -> (leave: Latch, call: Outcomes) {
        let entered = Latch(), leave = Latch()
        let call = onThread {
            if reading {
                try database.read { db in
                    entered.open()
                    leave.wait()
                    _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                }
            } else {
                try database.write { db in
                    entered.open()
                    leave.wait()
                    try db.execute("INSERT INTO t VALUES (1)")
                }
            }
        }
        try await entered.opened()
        return (leave, call)
    }

    @Test(arguments: [false, true], [false, true]) func closeWaitsForRunningCalls(isPool: Bool, reading: Bool) async throws {
        let database = try database(isPool)
        let (leave, call) = try await hold(database, reading: reading)
        let threads = (0..<8).map { _ in
            onThread {
                try database.close()
                // The last connection takes the log with it.
                #expect(try folder.names() == ["a.db"])
            }
        }
        let tasks = (0..<8).map { _ in Task { try await database.close() } }
        try await Task.sleep(for: .milliseconds(100))
        let ended = threads.filter(\.isEnded).count
        #expect(ended == 0)
        leave.open()
        try await call.ended()
        for thread in threads { try await thread.ended() }
        for task in tasks { try await task.value }
        try await database.close()
        #expect(!database.isOpen)
    }

    @Test(arguments: [false, true]) func closingUnderLoadLosesNoCommit(isPool: Bool) async throws {
        for round in 0..<30 {
            let database = try database(isPool, "\(round % 3).db")
            let before = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 }
            let done = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        var random = SeededGenerator(100 * round + number)
                        do {
                            switch number % 6 {
                            case 0: try await database.write { db in try db.execute("INSERT INTO t VALUES (\(number))") }
                            case 1: _ = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
                            case 2: _ = try await database.barrierWriteWithoutTransaction { db in db.isOpen }
                            case 3: try await database.close()
                            case 4: try await database.close(timeout: .milliseconds(Int64.random(in: 0...3, using: &random)))
                            default:
                                let task = Task { try await database.close() }
                                if Bool.random(using: &random) { task.cancel() }
                                try await task.value
                            }
                            return number % 6 == 0 ? 1 : 0
                        } catch let error as DatabaseError {
                            #expect(error.reason == .closed || error.reason == .timeout, "\(error)")
                        } catch is CancellationError {}
                        return 0
                    }
                }
                return try await group.reduce(0, +)
            }
            try await database.close()
            let after = try Connection(.file(folder.path("\(round % 3).db"))).fetchOne(Int.self, "SELECT count(*) FROM t")
            #expect(after == before + done)
        }
    }

    @Test(arguments: [false, true]) func timedOutCloseLeavesTheDatabaseOpen(isPool: Bool) async throws {
        let database = try database(isPool)
        for reading in [false, true] {
            let (leave, call) = try await hold(database, reading: reading)
            let write = Task { try await database.write { db in try db.execute("INSERT INTO t VALUES (2)") } }
            let waited = #expect(throws: DatabaseError.self) { try wait { try database.close(timeout: .milliseconds(30)) } }
            #expect(waited?.reason == .timeout)
            let error = await #expect(throws: DatabaseError.self) { try await database.close(timeout: .milliseconds(30)) }
            #expect(error?.reason == .timeout)
            #expect(database.isOpen)
            leave.open()
            try await call.ended()
            try await write.value
            #expect(try await database.read { db in try db.fetchOne(Int.self, "SELECT 1") } == 1)
        }
        try await database.close(timeout: .forTests)
        #expect(!database.isOpen)
    }

    /// An app that locks itself in a task that is cancelled meanwhile must not stay open, with its key in memory.
    @Test(arguments: [false, true], [false, true]) func cancelledTaskClosesDatabase(isPool: Bool, waits: Bool) async throws {
        let database = try database(isPool)
        let held = waits ? try await hold(database) : nil
        let closing = Task {
            // Cancelled before it begins, or while it waits.
            if !waits { while !Task.isCancelled { await Task.yield() } }
            try await database.close()
        }
        closing.cancel()
        held?.leave.open()
        try await held?.call.ended()
        try await closing.value
        #expect(!database.isOpen)
        let error = await #expect(throws: DatabaseError.self) { try await database.read { db in try db.fetchOne(Int.self, "SELECT 1") } }
        #expect(error?.reason == .closed)
    }

    /// Out of asynchronous code: the form that waits.
    private func wait(_ body: () throws -> Void) throws { try body() }

    /// A close that may fail refuses no calls meanwhile.
    @Test func closeWaitingForWriteDoesNotBlockReaders() async throws {
        let pool = try database(true)
        let (leave, call) = try await hold(pool)
        let closing = Task { try await pool.close(timeout: .forTests) }
        try await Task.sleep(for: .milliseconds(30))
        for _ in 0..<5 { #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0) }
        leave.open()
        try await call.ended()
        try await closing.value
    }

    /// One long read does not hold up all others behind a call that needs the database for itself.
    @Test func barrierWaitingForReadDoesNotBlockReaders() async throws {
        let pool = try database(true)
        let (leave, call) = try await hold(pool, reading: true)
        let tasks = [
            Task { try await pool.barrierWriteWithoutTransaction { db in _ = db.isOpen } },
            Task { _ = try await pool.main.checkpoint(.truncate) },
        ]
        try await Task.sleep(for: .milliseconds(30))
        for _ in 0..<5 { #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0) }
        leave.open()
        try await call.ended()
        for task in tasks { try await task.value }
    }

    /// And reads that always overlap do not hold it up for ever.
    @Test func barrierRunsDespiteOverlappingReads() async throws {
        let pool = try database(true)
        let isDone = Latch()
        let readers = (0..<3).map { number in
            onThread {
                Thread.sleep(forTimeInterval: Double(number) * 0.01)
                while !isDone.isOpened { try pool.read { _ in Thread.sleep(forTimeInterval: 0.03) } }
            }
        }
        for _ in 0..<3 { try await pool.barrierWriteWithoutTransaction { db in _ = db.isOpen } }
        isDone.open()
        for reader in readers { try await reader.ended() }
    }

    @Test(arguments: [false, true]) func aClosureCannotCloseItsConnection(isPool: Bool) async throws {
        let database = try database(isPool)
        for call in [
            { try database.read { db in db.close() } }, { try database.barrierWriteWithoutTransaction { db in db.close() } },
            {
                try database.write { db in
                    try db.execute("INSERT INTO t VALUES (1)")
                    db.close()
                    try db.execute("INSERT INTO t VALUES (2)")
                }
            },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .misuse)
        }
        #expect(database.isOpen)
        #expect(try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
    }
}

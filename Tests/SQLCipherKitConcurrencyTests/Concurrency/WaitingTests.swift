import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Calls' wait for a lock of another connection or process (https://sqlite.org/lockingv3.html), and the end of the wait.
@Suite(.serialized) struct WaitingTests {
    let folder: TemporaryFolder
    let driver: String

    init() throws {
        folder = try TemporaryFolder()
        driver = try BuildProducts.executable("FaultDriver")
    }

    private func database(_ mode: DatabaseConfiguration.JournalMode, _ name: String = "a.db") throws -> String {
        let path = folder.path(name)
        let db = try Connection(.file(path), key: .passphrase("k").quick)
        try db.main.setJournalMode(mode)
        try db.execute("CREATE TABLE t(who, number, half, padding)")
        return path
    }

    private func configuration(_ timeout: Duration) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = timeout
        return configuration
    }

    /// A pool gives its file a log when it opens, and waits for the connections that use the file just then.
    @Test(arguments: [TransactionKind.deferred, .immediate, .exclusive]) func openingPoolWaitsForLocks(kind: TransactionKind) throws {
        let path = try database(.delete)
        let begun = DispatchSemaphore(value: 0), done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            #expect(throws: Never.self) {
                let other = try Connection(.file(path), key: .passphrase("k").quick)
                try other.begin(kind)
                #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
                begun.signal()
                usleep(200_000)
                try other.commit()
            }
            done.signal()
        }
        begun.wait()
        defer { done.wait() }
        let pool = try DatabasePool(.file(path), key: .passphrase("k").quick)
        #expect(try pool.read { try $0.main.journalMode } == .wal)
    }

    /// Nothing but SQLite's own locks makes a writer wait: a process that was killed or stopped while it waited costs no other one
    /// the lock, at any timeout.
    @Test(arguments: [SIGKILL, SIGSTOP])
    func killedOrStoppedWaiterCostsNoLock(signal: Int32) throws {
        let path = try database(.wal)
        let blocker = try Connection(.file(path), key: .passphrase("k").quick)
        try blocker.execute("BEGIN IMMEDIATE")
        let waiting = try Command(driver, ["pool-shares", path, "k", "w", "60000", "0"])
        defer { kill(waiting.process.processIdentifier, SIGKILL) }
        try waiting.waitForOutput("ready")
        Thread.sleep(forTimeInterval: 0.1)
        kill(waiting.process.processIdentifier, signal)
        try blocker.execute("COMMIT")
        for timeout in [Duration.zero, .milliseconds(1), .milliseconds(50), .milliseconds(200)] {
            let writer = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(timeout))
            for number in 0..<20 { try writer.execute("INSERT INTO t VALUES ('here', \(number), 'a', NULL)") }
        }
        #expect(try blocker.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
    }

    /// A writer that never pauses leaves the lock to others after each long transaction.
    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete])
    func longTransactionsLeaveTheLockToOtherWriters(mode: DatabaseConfiguration.JournalMode) throws {
        let path = try database(mode), isDone = Latch()
        let queue = try DatabaseQueue(.file(path), key: .passphrase("k").quick, configuration: configuration(.seconds(60)))
        let long = onThread {
            while !isDone.isSet {
                try queue.write { db in
                    try db.execute("INSERT INTO t VALUES ('long', 1, 'a', NULL)")
                    usleep(50_000)
                }
            }
        }
        defer { isDone.set() }
        let others = try (0..<2).map { _ in
            let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(.seconds(5)))
            nonisolated(unsafe) let lent = db
            return onThread {
                for number in 0..<20 { try lent.execute("INSERT INTO t VALUES ('short', \(number), 'a', NULL)") }
            }
        }
        for other in others { try other.wait() }
        isDone.set()
        try long.wait()
        let short = try queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE who = 'short'") }
        #expect(short == 40)
    }

    @Test func zeroBusyTimeoutFailsAtOnce() throws {
        let path = try database(.wal)
        let one = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(.zero))
        let other = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(.zero))
        try one.execute("BEGIN IMMEDIATE")
        let time = ContinuousClock().measure {
            #expect(throws: DatabaseError.self) { try other.execute("BEGIN IMMEDIATE") }
        }
        #expect(time < (LongTests.areAlone ? .milliseconds(100) : .seconds(60)))
        try one.execute("COMMIT")
        try other.execute("BEGIN IMMEDIATE")
        try other.execute("COMMIT")
    }

    /// The time that has passed counts, not the delays that were asked for. SQLite's own wait takes up to a tenth longer.
    @Test(arguments: [100, 600]) func busyWaitEndsAtItsTimeout(milliseconds: Int) throws {
        let timeout = Duration.milliseconds(milliseconds)
        let path = try database(.wal)
        let one = try Connection(.file(path), key: .passphrase("k").quick)
        try one.execute("BEGIN IMMEDIATE")
        let other = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(timeout))
        let queue = try DatabaseQueue(.file(path), key: .passphrase("k").quick, configuration: configuration(timeout))
        let byPragma = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(.zero))
        try byPragma.execute("PRAGMA busy_timeout = \(raw: "\(milliseconds)")")
        #expect(try byPragma.settings.busyTimeout == timeout && other.settings.busyTimeout == timeout)
        let waits: [() throws -> Void] = [
            { try other.execute("BEGIN IMMEDIATE") }, { try byPragma.execute("BEGIN IMMEDIATE") },
            { try queue.write { try $0.execute("DELETE FROM t") } },
        ]
        for wait in waits {
            var reason: DatabaseError.Reason?
            let time = ContinuousClock().measure {
                do { try wait() } catch { reason = (error as? DatabaseError)?.reason }
            }
            #expect(reason == .busy)
            #expect(time >= timeout && time < (LongTests.areAlone ? timeout * 11 / 10 : .seconds(60)), "\(time)")
        }
    }

    /// The more often a writer tries, the sooner it meets the lock free beside a writer that never pauses.
    @Test func waitingWriterTriesAgainEveryMillisecond() throws {
        let path = try database(.wal)
        let one = try Connection(.file(path), key: .passphrase("k").quick)
        try one.execute("BEGIN IMMEDIATE")
        let other = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration(.milliseconds(600)))
        let attempts = Lock(0)
        try other.settings.setProgressHandler(every: 1_000_000) {
            attempts.withLock { $0 += 1 }
            return true
        }
        #expect(throws: DatabaseError.self) { try other.execute("BEGIN IMMEDIATE") }
        // A sleep may take longer than was asked for.
        #expect((LongTests.areAlone ? 300...610 : 2...610).contains(attempts.withLock { $0 }), "\(attempts.withLock { $0 })")
    }

    /// The cause of a wait: a lock that another connection has in a journal mode.
    enum Wait: String, CaseIterable, CustomStringConvertible {
        case write, writeWithoutLog, read, commit, checkpoint, attach, pragmaTimeout, busyHandler
        var description: String { rawValue }
        var mode: DatabaseConfiguration.JournalMode { [.write, .checkpoint, .pragmaTimeout, .busyHandler].contains(self) ? .wal : .delete }

        /// The statements of the other connection before.
        var holding: [SQL] {
            switch self {
            case .write, .pragmaTimeout, .busyHandler, .writeWithoutLog: ["BEGIN IMMEDIATE"]
            case .read, .attach: ["BEGIN EXCLUSIVE"]
            case .commit: ["BEGIN", "SELECT count(*) FROM t"]
            case .checkpoint: ["BEGIN", "SELECT count(*) FROM t"]
            }
        }

        func run(_ db: Connection, _ path: String) throws {
            switch self {
            case .write, .writeWithoutLog: try db.execute("BEGIN IMMEDIATE")
            case .read: _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
            case .commit: try db.execute("INSERT INTO t VALUES ('w', 1, 'a', NULL)")
            case .checkpoint:
                let result = try db.main.checkpoint(.truncate)
                if !result.isComplete { throw DatabaseError(code: .interrupted, message: "not complete") }
            case .attach: try db.attach(.file(path), as: "other", key: .passphrase("k").quick)
            case .pragmaTimeout:
                try db.execute("PRAGMA busy_timeout = 60000")
                try db.execute("BEGIN IMMEDIATE")
            case .busyHandler:
                try db.settings.setBusyHandler { _ in
                    usleep(1000)
                    return true
                }
                try db.execute("BEGIN IMMEDIATE")
            }
        }
    }

    /// The end of the wait.
    enum End: String, CaseIterable, CustomStringConvertible {
        case interruptHandle, interrupt, cancellation, timeout, suspension, progressHandler
        var description: String { rawValue }
    }

    /// Each end of a call ends each wait for a lock, long before the timeout of a minute.
    @Test(arguments: Wait.allCases, End.allCases) func everyEndEndsEveryWait(wait: Wait, end: End) async throws {
        let path = try database(wait.mode, "\(wait)-\(end).db")
        let other = try Connection(.file(path), key: .passphrase("k").quick)
        // After the others have been opened.
        func hold() throws {
            for sql in wait.holding { try other.execute(sql) }
            // A row in the log that the reader does not see.
            guard wait == .checkpoint else { return }
            try Connection(.file(path), key: .passphrase("k").quick).execute("INSERT INTO t VALUES ('w', 1, 'a', NULL)")
        }
        let minute = configuration(.seconds(60)), clock = ContinuousClock(), start = clock.now
        let own = wait == .attach ? try database(.wal, "own-\(wait)-\(end).db") : path
        var thrown: (any Error)?
        if end == .interruptHandle || end == .progressHandler {
            let db = try Connection(.file(own), key: .passphrase("k").quick, configuration: minute)
            try hold()
            let handle = try db.interruptHandle, isDone = Latch()
            let stop = clock.now + .milliseconds(30)
            if end == .progressHandler { try db.settings.setProgressHandler(every: 1000) { ContinuousClock().now < stop } }
            let interrupting = Thread {
                while end == .interruptHandle, !isDone.isSet {
                    usleep(20_000)
                    handle.interrupt()
                }
            }
            interrupting.start()
            do { try wait.run(db, path) } catch { thrown = error }
            isDone.set()
        } else {
            let queue = try DatabaseQueue(.file(own), key: .passphrase("k").quick, configuration: minute)
            try hold()
            let isRunning = Latch()
            let call = Task {
                try await queue.barrierWriteWithoutTransaction(timeout: end == .timeout ? .milliseconds(50) : nil) { db in
                    isRunning.set()
                    try wait.run(db, path)
                }
            }
            while !isRunning.isSet { try await Task.sleep(for: .milliseconds(1)) }
            let ended = Task { await call.result }
            switch end {
            case .interrupt:
                let isDone = Latch()
                Task {
                    _ = await ended.value
                    isDone.set()
                }
                while !isDone.isSet {
                    queue.interrupt()
                    try await Task.sleep(for: .milliseconds(20))
                }
            case .cancellation: call.cancel()
            case .suspension: try await onThread { try queue.suspend(timeout: .seconds(30)) }.ended()
            case .timeout, .interruptHandle, .progressHandler: break
            }
            if case .failure(let error) = await ended.value { thrown = error }
        }
        let error = try #require(thrown)
        #expect(clock.now - start < .seconds(30))
        switch end {
        case .cancellation: #expect(error is CancellationError, "\(error)")
        case .timeout: #expect((error as? DatabaseError)?.reason == .timeout, "\(error)")
        case .suspension: #expect((error as? DatabaseError)?.reason == .suspended, "\(error)")
        case .interrupt, .interruptHandle, .progressHandler: #expect((error as? DatabaseError)?.code == .interrupted, "\(error)")
        }
        try other.execute("ROLLBACK")
    }
}

/// A flag between threads.
private final class Latch: Sendable {
    private let value = Lock(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}

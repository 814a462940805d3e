import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Writers in several processes take turns (https://sqlite.org/lockingv3.html says what SQLite's locks do by themselves).
@Suite(.serialized) struct TurnTests {
    let folder: TemporaryFolder
    let driver: String

    init() throws {
        folder = try TemporaryFolder()
        driver = try BuildProducts.executable("FaultDriver")
    }

    /// What one process did.
    private struct Share: CustomStringConvertible {
        let rows: Int, busy: Int, worst: Double, most: Double
        var description: String { "\(rows) rows, \(busy) busy, at most \(Int(worst)) ms, 99 % in \(Int(most)) ms" }
    }

    private func database(_ mode: DatabaseConfiguration.JournalMode) throws -> String {
        let path = folder.path("a.db")
        let db = try Connection(.file(path), key: .passphrase("k").quick)
        try db.main.setJournalMode(mode)
        try db.execute("CREATE TABLE t(who, number, half, padding)")
        return path
    }

    /// Runs processes that write for some time, with these pauses in microseconds.
    private func run(
        _ path: String, _ action: String = "pool-turns", milliseconds: Int, pauses: [Int]
    ) throws -> [Share] {
        let writers = try pauses.enumerated().map { index, pause in
            try Command(driver, [action, path, "k", "w\(index)", "\(milliseconds)", "\(pause)"])
        }
        return try writers.map { writer in
            let outcome = try writer.end()
            let words = outcome.output.split(separator: "\n").map { $0.split(separator: " ").compactMap { Double($0) } }
                .first { $0.count == 4 }
            let found = try #require(words, "\(outcome.output) \(outcome.errors)")
            return Share(rows: Int(found[0]), busy: Int(found[1]), worst: found[2], most: found[3])
        }
    }

    /// Four equal pools get about the same.
    @Test func equalPoolsGetSimilarSharesOfWrites() throws {
        let shares = try run(database(.wal), milliseconds: LongTests.areOn ? 10_000 : 3_000, pauses: [0, 0, 0, 0])
        let mean = shares.map(\.rows).reduce(0, +) / shares.count
        #expect(shares.allSatisfy { $0.busy == 0 && $0.rows * 2 >= mean }, "\(shares)")
    }

    /// A pool gives its file a log when it opens, and waits for who uses the file just then.
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

    /// Who writes now and then is not kept waiting by one that never pauses.
    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete])
    func occasionalWriterIsNotStarved(mode: DatabaseConfiguration.JournalMode) throws {
        let path = try database(mode)
        let action = mode == .wal ? "pool-turns" : "pool-turns-by-queue"
        let shares = try run(path, action, milliseconds: LongTests.areOn ? 10_000 : 2_000, pauses: [0, 20_000])
        #expect(try Connection(.file(path), key: .passphrase("k").quick).main.journalMode == mode)
        #expect(shares.allSatisfy { $0.busy == 0 && $0.rows > 10 }, "\(shares)")
        // In a full gate, other tests have the processors.
        #expect(shares[1].most < (LongTests.areAlone ? 250 : 1_000), "\(shares)")
    }

    /// Who waits has the turn without a pause: without a log, SQLite's unlocking after each attempt releases all locks of the file.
    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete])
    func waitingWriterKeepsItsTurnBetweenAttempts(mode: DatabaseConfiguration.JournalMode) throws {
        let path = try database(mode)
        let holder = try Command(driver, ["hold", path, "k", "BEGIN IMMEDIATE"])
        defer { kill(holder.process.processIdentifier, SIGKILL) }
        try holder.waitForOutput("ready")
        let action = mode == .wal ? "pool-turns" : "pool-turns-by-queue"
        let waiting = try Command(driver, [action, path, "k", "w", "60000", "0"])
        defer { kill(waiting.process.processIdentifier, SIGKILL) }
        let file = open(path, O_RDWR)
        defer { close(file) }
        // The byte of Engine/turns.h.
        func isHeld() -> Bool {
            var lock = flock()
            (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 0x4000_0000 + 1024, 1)
            return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
        }
        try waitUntil("a writer has the turn") { isHeld() }
        let held = (0..<300).count { _ in
            usleep(500)
            return isHeld()
        }
        #expect(held > 200)
    }

    /// Who has the turn is killed, or stopped: the others go on.
    @Test(arguments: [SIGKILL, SIGSTOP])
    func turnOfKilledOrStoppedWriterEnds(signal: Int32) throws {
        let path = try database(.wal)
        let blocker = try Connection(.file(path), key: .passphrase("k").quick)
        try blocker.execute("BEGIN IMMEDIATE")
        let waiting = try Command(driver, ["pool-turns", path, "k", "w", "60000", "0"])
        try waiting.waitForOutput("ready")
        Thread.sleep(forTimeInterval: 0.3)
        kill(waiting.process.processIdentifier, signal)
        try blocker.execute("COMMIT")
        let clock = ContinuousClock()
        let first = try clock.measure { try blocker.execute("INSERT INTO t VALUES ('here', 0, 'a', NULL)") }
        // What happens at other files changes nothing.
        let other = try Connection(.file(folder.path("other.db")), key: .passphrase("k").quick)
        try other.execute("CREATE TABLE t(number)")
        let next = try clock.measure {
            for number in 1...200 {
                try blocker.execute("INSERT INTO t VALUES ('here', \(number), 'a', NULL)")
                try other.execute("INSERT INTO t VALUES (\(number))")
            }
        }
        #expect(!LongTests.areAlone || first < .seconds(2) && next < .seconds(10), "\(first), \(next)")
        kill(waiting.process.processIdentifier, SIGKILL)
        _ = try waiting.end()
        #expect(try blocker.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
    }

    /// A program that takes no turns, as SQLite's own shell, gets in as it would without them.
    @Test func zeroBusyTimeoutFailsAtOnce() throws {
        let path = try database(.wal)
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        let one = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        let other = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        try one.execute("BEGIN IMMEDIATE")
        let time = ContinuousClock().measure {
            #expect(throws: DatabaseError.self) { try other.execute("BEGIN IMMEDIATE") }
        }
        #expect(time < (LongTests.areAlone ? .milliseconds(100) : .seconds(60)))
        try one.execute("COMMIT")
        try other.execute("BEGIN IMMEDIATE")
        try other.execute("COMMIT")
    }

    /// The timeout is what was asked for.
    @Test func busyWaitEndsAtItsTimeout() throws {
        let path = try database(.wal)
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(600)
        let one = try Connection(.file(path), key: .passphrase("k").quick)
        try one.execute("BEGIN IMMEDIATE")
        let other = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        let pool = try DatabaseQueue(.file(path), key: .passphrase("k").quick, configuration: configuration)
        let waits: [() throws -> Void] = [
            { try other.execute("BEGIN IMMEDIATE") }, { try pool.write { try $0.execute("DELETE FROM t") } },
        ]
        for wait in waits {
            let time = ContinuousClock().measure { #expect(throws: DatabaseError.self) { try wait() } }
            #expect(time >= .milliseconds(400) && time < .seconds(60), "\(time)")
        }
    }
}

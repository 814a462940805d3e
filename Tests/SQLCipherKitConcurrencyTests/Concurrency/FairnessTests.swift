import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyFairnessTests {
    let folder: TemporaryFolder
    let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: .pool { $0.maximumReaders = 2 })
        try pool.write { db in try db.execute("CREATE TABLE t(thread INTEGER, n INTEGER)") }
    }

    @Test func hundredsOfWaitingTasksAreAllServed() async throws {
        let entered = Latch(), leave = Latch()
        let holders = [
            onThread { [pool] in
                try pool.write { _ in
                    entered.open()
                    leave.wait()
                }
            },
            onThread { [pool] in try pool.read { _ in leave.wait() } }, onThread { [pool] in try pool.read { _ in leave.wait() } },
        ]
        try await entered.opened()
        let writes = (0..<200).map { number in Task { [pool] in try await pool.write { db in try db.execute("INSERT INTO t VALUES (1, \(number))") } } }
        let reads = (0..<200).map { _ in Task { [pool] in try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } } }
        // All of Swift's threads are there for other tasks.
        for _ in 0..<100 {
            let value = await Task.detached { 7 }.value
            #expect(value == 7)
        }
        leave.open()
        for task in writes { try await task.value }
        for task in reads { _ = try await task.value }
        for holder in holders { try await holder.ended() }
        #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 200)
    }

    @Test func sequentialWritesCommitInOrder() async throws {
        for number in 0..<50 { try await pool.write { db in try db.execute("INSERT INTO t VALUES (0, \(number))") } }
        #expect(try await pool.read { db in try db.fetchAll(Int.self, "SELECT n FROM t ORDER BY rowid") } == Array(0..<50))
    }

    @Test func busyThreadsGetSimilarNumbersOfWrites() throws {
        let start = Latch()
        let pool = pool
        let threads = (0..<4).map { number in
            onThread {
                start.wait()
                while true {
                    let isDone = try pool.write { db in
                        let total = try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
                        if total < 400 { try db.execute("INSERT INTO t VALUES (\(number), \(total))") }
                        return total >= 400
                    }
                    if isDone { return }
                }
            }
        }
        start.open()
        for thread in threads { try thread.wait() }
        let parts: [(Int, Int)] = try pool.read { db in try db.fetchAll("SELECT thread, count(*) FROM t GROUP BY thread") }
        #expect(parts.count == 4)
        for part in parts { #expect(part.1 > 30, "\(parts)") }
    }

    @Test func longReadsDoNotBlockTheCooperativePool() async throws {
        // More reads at once than Swift has threads, each waiting for all the others: they would never meet there.
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: .pool { $0.maximumReaders = count })
        // So that there is an open reader, which a task may use at once.
        _ = try await pool.read { db in try db.fetchOne(Int.self, "SELECT 1") }
        let meeting = Meeting(count)
        let tasks = (0..<count).map { _ in Task { try await pool.read { _ in meeting.arrive() } } }
        for task in tasks { #expect(try await task.value) }
    }

    /// Where threads wait until as many are there.
    private final class Meeting: @unchecked Sendable {
        // Sendable: `missing` is touched under the condition's lock only.
        private let condition = NSCondition()
        private var missing: Int

        init(_ count: Int) { missing = count }

        func arrive() -> Bool {
            condition.withLock {
                missing -= 1
                condition.broadcast()
                while missing > 0 { guard condition.wait(until: Date(timeIntervalSinceNow: 300)) else { return false } }
                return true
            }
        }
    }
}

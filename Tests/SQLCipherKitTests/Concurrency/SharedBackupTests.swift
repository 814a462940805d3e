import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Backing up and restoring a queue's or a pool's database.
@Suite struct SharedBackupTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 3, count: 32))
    }

    private func makePool() throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try pool.write { db in
            try db.execute("CREATE TABLE t(x, y)")
            for number in 0..<3000 { try db.execute("INSERT INTO t VALUES (\(number), zeroblob(300))") }
        }
        return pool
    }

    private func count(_ pool: DatabasePool) async throws -> Int {
        try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 }
    }

    private final class Steps: Sendable {
        private let count = Lock(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Reads and writes go on during a backup, and reads during a restoration.
    @Test func readsAndWritesContinueDuringBackup() async throws {
        let pool = try makePool(), path = folder.path("b.db"), other = folder.path("c.db")
        var options = Schema.BackupOptions()
        options.pagesPerStep = 20
        let steps = Steps()
        try await pool.main.backup(toFileAt: path, options: options) { _ in
            if steps.next() == 2 { try pool.insertFromThread() }
        }
        #expect(steps.next() > 3)
        #expect(try await count(pool) == 3001)
        let newKey = try DatabaseKey.raw([UInt8](repeating: 4, count: 32))
        try await pool.main.backup(toFileAt: other, key: newKey)
        try await pool.main.restore(fromFileAt: path, options: options) { step in
            let count = try pool.countFromThread()
            if step.fractionCompleted < 1 { #expect(count == 3001) }
        }
        #expect(try await count(pool) == 3000)
        try await pool.main.restore(fromFileAt: other, key: newKey)
        #expect(try await count(pool) == 3001)
        await #expect(throws: DatabaseError.self) { try await pool.main.backup(toFileAt: other) }
        try await pool.main.backup(toFileAt: folder.path("d.db"))
    }

    /// Given up, they leave everything as it was.
    @Test func cancelledBackupAndRestoreChangeNothing() async throws {
        let pool = try makePool(), path = folder.path("b.db")
        try await pool.main.backup(toFileAt: path)
        try await pool.write { db in try db.execute("DELETE FROM t WHERE x >= 1000") }
        var options = Schema.BackupOptions()
        options.pagesPerStep = 1
        options.pause = .milliseconds(50)
        let slow = options, target = folder.path("c.db")
        let lateBackup = await #expect(throws: DatabaseError.self) {
            try await pool.main.backup(toFileAt: target, options: slow, timeout: .milliseconds(200))
        }
        let lateRestore = await #expect(throws: DatabaseError.self) {
            try await pool.main.restore(fromFileAt: path, options: slow, timeout: .milliseconds(200))
        }
        #expect(lateBackup?.reason == .timeout && lateRestore?.reason == .timeout)
        for restores in [false, true] {
            let task = Task {
                if restores {
                    try await pool.main.restore(fromFileAt: path, options: slow)
                } else {
                    try await pool.main.backup(toFileAt: target, options: slow)
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try await count(pool) == 1000)
        let isIntact = try await pool.read { db in try db.main.verify().problems.isEmpty }
        #expect(isIntact)
    }
}

extension DatabasePool {
    /// On a thread of its own, as the caller's has a connection.
    private func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
        nonisolated(unsafe) var result: Result<R, any Error>?
        let done = DispatchSemaphore(value: 0)
        Thread {
            result = Result { try body() }
            done.signal()
        }.start()
        done.wait()
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    fileprivate func insertFromThread() throws {
        try onThread { try self.write { db in try db.execute("INSERT INTO t(x) VALUES (-1)") } }
    }

    fileprivate func countFromThread() throws -> Int {
        try onThread { try self.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 } }
    }
}

import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The calls that take long or wait for others: each can be given up, by a timeout and, but for closing, by its task, while it
/// waits and while it works. Then nothing has changed, and the database goes on.
@Suite struct ConcurrencyLongCallTests {
    let folder: TemporaryFolder
    private static let key = Result { try DatabaseKey.passphrase("one").quick }
    private static let rows = 300

    init() throws { folder = try TemporaryFolder() }

    /// A call, in both its forms.
    struct LongCall: Sendable, CustomStringConvertible {
        let description: String
        /// True if the call tells its progress.
        let isRewriting: Bool
        let wait: @Sendable (Subject, Duration?, DatabaseProgress.Handler?) throws -> Void
        let run: @Sendable (Subject, Duration?, sending DatabaseProgress.Handler?) async throws -> Void
    }

    /// A database with another database attached to it, and a backup of it in its folder.
    struct Subject: Sendable {
        let database: DatabaseWriter
        let kept: SharedSchema
        let folder: TemporaryFolder
    }

    private static func newKey() throws -> DatabaseKey { try .passphrase("two").quick }

    private static var inSteps: Schema.BackupOptions {
        var options = Schema.BackupOptions()
        options.pagesPerStep = 16
        return options
    }

    static let calls: [LongCall] = [
        LongCall(description: "changeKey", isRewriting: true) { subject, timeout, progress in
            try subject.database.changeKey(to: try newKey(), timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.changeKey(to: try newKey(), timeout: timeout, progress: progress)
        },
        LongCall(description: "changeKey by a new file", isRewriting: true) { subject, timeout, progress in
            try subject.database.changeKey(to: try newKey(), mode: .newFile, timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.changeKey(to: try newKey(), mode: .newFile, timeout: timeout, progress: progress)
        },
        LongCall(description: "convert", isRewriting: true) { subject, timeout, progress in
            try subject.database.convert(to: .plaintext, timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.convert(to: .plaintext, timeout: timeout, progress: progress)
        },
        LongCall(description: "erase", isRewriting: true) { subject, timeout, progress in
            try subject.database.main.eraseDeletedContent(timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.main.eraseDeletedContent(timeout: timeout, progress: progress)
        },
        LongCall(description: "residue", isRewriting: true) { subject, timeout, progress in
            _ = try subject.database.main.findRemnants(of: ["needle"], timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            _ = try await subject.database.main.findRemnants(of: ["needle"], timeout: timeout, progress: progress)
        },
        LongCall(description: "backup", isRewriting: true) { subject, timeout, progress in
            try subject.database.main.backup(
                toFileAt: subject.folder.path("copy.db"), options: inSteps, timeout: timeout, progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.main.backup(
                toFileAt: subject.folder.path("copy.db"), options: inSteps, timeout: timeout, progress: progress)
        },
        LongCall(description: "restore", isRewriting: true) { subject, timeout, progress in
            try subject.database.main.restore(
                fromFileAt: subject.folder.path("backup.db"), key: try key.get(), options: inSteps, timeout: timeout,
                progress: progress)
        } run: { subject, timeout, progress in
            try await subject.database.main.restore(
                fromFileAt: subject.folder.path("backup.db"), key: try key.get(), options: inSteps, timeout: timeout,
                progress: progress)
        },
        LongCall(description: "attach", isRewriting: false) { subject, timeout, _ in
            try subject.database.attach(.file(subject.folder.path("other.db")), as: "other", key: nil, timeout: timeout)
        } run: { subject, timeout, _ in
            try await subject.database.attach(.file(subject.folder.path("other.db")), as: "other", key: nil, timeout: timeout)
        },
        LongCall(description: "detach", isRewriting: false) { subject, timeout, _ in
            try subject.kept.detach(timeout: timeout)
        } run: { subject, timeout, _ in
            try await subject.kept.detach(timeout: timeout)
        },
        LongCall(description: "checkpoint", isRewriting: false) { subject, timeout, _ in
            try subject.database.main.checkpoint(.truncate, timeout: timeout)
        } run: { subject, timeout, _ in
            try await subject.database.main.checkpoint(.truncate, timeout: timeout)
        },
        LongCall(description: "barrier", isRewriting: false) { subject, timeout, _ in
            try subject.database.barrierWriteWithoutTransaction(timeout: timeout) { db in try db.execute("DELETE FROM t") }
        } run: { subject, timeout, _ in
            try await subject.database.barrierWriteWithoutTransaction(timeout: timeout) { db in try db.execute("DELETE FROM t") }
        },
        LongCall(description: "close", isRewriting: false) { subject, timeout, _ in
            try subject.database.close(timeout: timeout)
        } run: { subject, timeout, _ in
            try await subject.database.close(timeout: timeout)
        },
    ]

    private func subject(_ isPool: Bool) throws -> Subject {
        let location = DatabaseLocation.file(folder.path("a.db")), key = try Self.key.get()
        let database: DatabaseWriter = try isPool ? DatabasePool(location, key: key) : DatabaseQueue(location, key: key)
        try database.write { db in
            try db.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, y BLOB)")
            for number in 0..<Self.rows { try db.execute("INSERT INTO t VALUES (\(number), zeroblob(3000))") }
        }
        try database.main.backup(toFileAt: folder.path("backup.db"))
        let kept = try database.attach(.file(folder.path("kept.db")), as: "kept", key: nil)
        return Subject(database: database, kept: kept, folder: folder)
    }

    /// Nothing has changed, and the database goes on.
    private func requireUnchanged(_ database: DatabaseWriter, _ call: LongCall, _ way: String) throws {
        #expect(database.isOpen, "\(call), \(way)")
        let content = try database.read { db in
            (try db.fetchOne(Int.self, "SELECT count(*) FROM t"), try db.schemas().map(\.name).filter { $0 != "temp" })
        }
        #expect(content.0 == Self.rows && content.1 == ["main", "kept"], "\(call), \(way): \(content)")
        try database.write { db in try db.execute("UPDATE t SET y = zeroblob(3000) WHERE x = 1") }
        let other = try Connection(.file(folder.path("a.db")), key: try Self.key.get())
        #expect(try other.fetchOne(Int.self, "SELECT count(*) FROM t") == Self.rows, "\(call), \(way)")
        other.close()
        let names = try folder.names().filter { !$0.hasPrefix("a.db") && !$0.hasPrefix("kept.db") && !$0.hasPrefix("other.db") }
        #expect(names == ["backup.db"], "\(call), \(way)")
    }

    // A backup is a read: a pool's does not wait.
    @Test(arguments: calls.filter { $0.description != "backup" }, [false, true])
    func waitingLongCallTimesOutOrCancels(call: LongCall, isPool: Bool) async throws {
        let subject = try subject(isPool), database = subject.database
        let entered = Latch(), leave = Latch()
        let holder = onThread {
            try database.writeWithoutTransaction { _ in
                entered.open()
                leave.wait()
            }
        }
        try await entered.opened()
        let late = Recorded()
        let waiting = onThread { late.error = Result { try call.wait(subject, .milliseconds(20), nil) }.failure }
        try await waiting.ended()
        #expect((late.error as? DatabaseError)?.reason == .timeout, "\(late.error.map { "\($0)" } ?? "no error")")
        let error = await #expect(throws: DatabaseError.self) { try await call.run(subject, .milliseconds(20), nil) }
        #expect(error?.reason == .timeout)
        let task = Task { try await call.run(subject, nil, nil) }
        try await Task.sleep(for: .milliseconds(20))
        // While it waits it keeps no read away, unless it closes the pool.
        if isPool, call.description != "close" {
            let count = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
            #expect(count == Self.rows)
        }
        task.cancel()
        if ["close", "detach"].contains(call.description) {
            // A cancelled task cleans up too, once the call before it has ended.
            leave.open()
            try await holder.ended()
            try await task.value
            if call.description == "close" {
                let closed = #expect(throws: DatabaseError.self) { try database.read { _ in } }
                #expect(closed?.reason == .closed)
            } else {
                let names = try await database.read { db in try db.schemas().map(\.name) }
                #expect(!names.contains("kept"))
            }
            return
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        leave.open()
        try await holder.ended()
        try requireUnchanged(database, call, "waiting")
    }

    @Test(arguments: calls.filter(\.isRewriting), [false, true])
    func runningLongCallTimesOutOrCancels(call: LongCall, isPool: Bool) async throws {
        let subject = try subject(isPool), database = subject.database
        let steps = Recorded()
        let late = onThread {
            steps.error = Result {
                try call.wait(subject, .milliseconds(600)) { _ in
                    steps.count += 1
                    Thread.sleep(forTimeInterval: 0.65)
                }
            }.failure
        }
        try await late.ended()
        #expect((steps.error as? DatabaseError)?.reason == .timeout, "\(steps.error.map { "\($0)" } ?? "no error")")
        #expect(steps.count == 1)
        try requireUnchanged(database, call, "timeout")
        let begun = Latch(), cancelled = Latch()
        let task = Task {
            try await call.run(subject, nil) { _ in
                begun.open()
                cancelled.wait()
            }
        }
        try await begun.opened()
        task.cancel()
        cancelled.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        try requireUnchanged(database, call, "cancelled")
        // Not given up, it does its work.
        try await call.run(subject, .seconds(600), nil)
        #expect(try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == Self.rows)
    }

    /// Suspended in the midst of its work, it is given up where that is safe: nothing has changed, no setting either.
    @Test(arguments: calls.filter(\.isRewriting), [false, true])
    func suspendingDatabaseEndsRunningLongCall(call: LongCall, isPool: Bool) async throws {
        let subject = try subject(isPool), database = subject.database
        func settings() throws -> [SQLValue?] {
            try database.read { db in
                try ["journal_mode", "synchronous"].map { try db.fetchOne(SQLValue.self, SQL(raw: "PRAGMA main.\($0)")) }
            }
        }
        let before = try settings()
        let begun = Latch(), ended = Recorded()
        let working = onThread {
            ended.error = Result {
                try call.wait(subject, nil) { _ in
                    begun.open()
                    try waitUntil("the database is suspended") { database.isSuspended }
                    // Until it was told, too.
                    Thread.sleep(forTimeInterval: 0.1)
                }
            }.failure
        }
        // On a thread: a task may come to its turn when all is over.
        let suspending = onThread {
            begun.wait()
            try database.suspend()
        }
        try await working.ended()
        try await suspending.ended()
        #expect((ended.error as? DatabaseError)?.reason == .suspended, "\(ended.error.map { "\($0)" } ?? "no error")")
        database.resume()
        let after = try settings()
        #expect(after == before)
        try requireUnchanged(database, call, "suspended")
    }

    private final class Recorded: @unchecked Sendable {
        // Sendable: touched by one thread, and after it has ended.
        var error: (any Error)?
        var count = 0
    }
}

extension Result {
    fileprivate var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}

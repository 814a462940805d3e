import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Every time that a caller can give is taken or refused: none traps, and none keeps a processor busy.
@Suite struct DurationTests {
    static let longest: [Duration] = [
        .seconds(Int64.max), .seconds(1 << 62), Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
        .seconds(3600),
    ]
    static let none: [Duration] = [.zero, .seconds(-1), .seconds(Int64.min), Duration(secondsComponent: .min, attosecondsComponent: 0)]
    static let shortest: [Duration] = [Duration(secondsComponent: 0, attosecondsComponent: 1), .nanoseconds(1)]
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func database(_ isPool: Bool, _ configuration: DatabaseConfiguration = DatabaseConfiguration()) throws -> DatabaseWriter {
        let location = DatabaseLocation.file(folder.path("a.db"))
        return try isPool ? DatabasePool(location, configuration: configuration) : DatabaseQueue(location, configuration: configuration)
    }

    @Test(arguments: [false, true]) func timeoutAcceptsAnyDuration(isPool: Bool) async throws {
        let database = try database(isPool)
        for timeout in Self.longest {
            for _ in 0..<3 {
                #expect(try await database.read(timeout: timeout) { db in db.isOpen })
                #expect(try await database.write(timeout: timeout) { db in db.isOpen })
                #expect(try await database.barrierWriteWithoutTransaction(timeout: timeout) { db in db.isOpen })
            }
            try sync(database, timeout)
        }
        for timeout in Self.none {
            let error = await #expect(throws: DatabaseError.self) { try await database.read(timeout: timeout) { db in db.isOpen } }
            #expect(error?.reason == .timeout)
            let waited = #expect(throws: DatabaseError.self) { try sync(database, timeout) }
            #expect(waited?.reason == .timeout)
        }
        for timeout in Self.shortest {
            do { try sync(database, timeout) } catch let error as DatabaseError { #expect(error.reason == .timeout) }
        }
    }

    private func sync(_ database: DatabaseWriter, _ timeout: Duration) throws {
        #expect(try database.read(timeout: timeout) { db in db.isOpen })
        #expect(try database.write(timeout: timeout) { db in db.isOpen })
        #expect(try database.barrierWriteWithoutTransaction(timeout: timeout) { db in db.isOpen })
    }

    @Test func configurationAcceptsAnyDuration() throws {
        for time in Self.longest + Self.none + Self.shortest {
            var configuration = DatabaseConfiguration.pool { $0.readerIdleTime = time }
            configuration.busyTimeout = time
            let pool = try database(true, configuration)
            #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT 1") } == 1)
            try pool.write { db in try db.settings.setBusyTimeout(time) }
            let copy = folder.path("copy.db")
            try pool.barrierWriteWithoutTransaction { db in
                var options = Schema.BackupOptions()
                // A longest pause would be one.
                options.pause = min(time, .milliseconds(1))
                options.replacesFile = true
                try db.main.backup(toFileAt: copy, options: options)
            }
        }
    }

    @Test func cancellationEndsBackupPause() async throws {
        let path = folder.path("a.db"), copy = folder.path("copy.db")
        let task = Task.detached {
            let db = try Connection(.file(path))
            try db.execute("CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n")
            var options = Schema.BackupOptions()
            (options.pagesPerStep, options.pause) = (1, .seconds(Int64.max))
            try db.main.backup(toFileAt: copy, options: options)
        }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
    }

    @Test(arguments: [.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max)] as [Duration])
    func observationPollingAcceptsAnyInterval(interval: Duration) async throws {
        let database = try database(true)
        let task = Task {
            var iterator = database.observe { db in try db.fetchOne(Int.self, "SELECT 1") }
                .includingOtherProcesses(every: interval).makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(try await task.value == 1)
    }
}

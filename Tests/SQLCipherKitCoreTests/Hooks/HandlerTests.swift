import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct HandlerTests {
    struct Refusal: Error, Equatable {}
    static let endless: SQL = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Connection { try Connection(.file(folder.path("a.db"))) }

    /// Checks and salvage run within limits, and end as other work does.
    @Test func workWithinLimitsAsksProgressHandler() throws {
        let db = try Connection(.memory), count: SQL = """
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT count(*) FROM n
            """
        for limits in [ResourceLimits(), .none] {
            var calls = 0
            try db.settings.setProgressHandler {
                calls += 1
                return calls < 3
            }
            let error = #expect(throws: DatabaseError.self) { try db.limited(to: limits) { try db.fetchOne(Int.self, count) } }
            #expect(error?.code == .interrupted && calls == 3)
            try db.settings.setProgressHandler { throw CancellationError() }
            #expect(throws: (any Error).self) { try db.limited(to: limits) { try db.fetchOne(Int.self, count) } }
            try db.settings.setProgressHandler { true }
            #expect(try db.limited(to: limits) { try db.fetchOne(Int.self, count) } == 20000)
        }
    }

    @Test func busyTimeoutIsClampedAndWaits() throws {
        let db = try open()
        #expect(try db.settings.busyTimeout == .seconds(5))
        #expect(try db.settings.setBusyTimeout(.milliseconds(30)) == .milliseconds(30))
        #expect(try db.settings.setBusyTimeout(.microseconds(10)) == .milliseconds(1))
        #expect(try db.settings.setBusyTimeout(.seconds(-3)) == .zero)
        #expect(try db.settings.setBusyTimeout(.seconds(1 << 40)) == .milliseconds(Int32.max))
        let other = try open()
        try other.begin(.exclusive)
        try db.settings.setBusyTimeout(.milliseconds(60))
        let clock = ContinuousClock()
        let time = try clock.measure {
            let error = #expect(throws: DatabaseError.self) { try db.begin() }
            #expect(error?.reason == .busy)
            try other.rollback()
        }
        #expect(time >= .milliseconds(50))
        try db.begin()
    }

    @Test func busyHandlerRetriesUntilItReturnsFalse() throws {
        let db = try open(), other = try open()
        var attempts: [Int] = []
        try db.settings.setBusyHandler { attempt in
            attempts.append(attempt)
            return attempt < 3
        }
        try other.begin(.exclusive)
        let error = #expect(throws: DatabaseError.self) { try db.begin() }
        #expect(error?.reason == .busy)
        #expect(attempts == [0, 1, 2, 3])
        try db.settings.setBusyHandler { _ in
            #expect(throws: DatabaseError.self) { try db.execute("SELECT 1") }
            try? other.rollback()
            return true
        }
        try db.begin()
        try db.rollback()
        try db.settings.setBusyHandler(nil)
        #expect(try db.settings.busyTimeout == .seconds(5))
    }

    @Test func interruptFromAnotherThreadStopsTheStatement() throws {
        let db = try open()
        let handle = try db.interruptHandle
        let isOver = DispatchSemaphore(value: 0), hasEnded = DispatchSemaphore(value: 0)
        // A thread, as a task might wait for ever for one of the few that tests run on.
        Thread.detachNewThread {
            // The statement may not have begun yet: an interrupt before it would be lost.
            repeat { handle.interrupt() } while isOver.wait(timeout: .now() + .milliseconds(5)) == .timedOut
            hasEnded.signal()
        }
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, Self.endless) }
        isOver.signal()
        hasEnded.wait()
        #expect(error.map { .interrupted ~= $0.code } == true)
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
        handle.interrupt()
        #expect(try db.fetchOne(Int.self, "SELECT 2") == 2)
        db.close()
        handle.interrupt()
        #expect(throws: DatabaseError.self) { try db.interruptHandle }
    }

    /// T30: an interrupted write to a full-text index is rolled back, and the connection goes on.
    @Test func fts5WriteIsRolledBackByInterrupt() throws {
        let db = try open()
        try db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
        let handle = try db.interruptHandle
        try db.register(.function("stop") { (i: Int) in
            if i == 500 { handle.interrupt() }
            return "word\(i) and more"
        })
        let error = #expect(throws: DatabaseError.self) {
            try db.transaction { db in
                try db.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO f SELECT stop(i) FROM n")
            }
        }
        #expect(error.map { .interrupted ~= $0.code } == true)
        #expect(!db.isInTransaction)
        try db.execute("INSERT INTO f VALUES ('fresh words')")
        #expect(try db.fetchAll(String.self, "SELECT x FROM f WHERE f MATCH 'words OR word7'") == ["fresh words"])
        try db.execute("INSERT INTO f(f) VALUES ('integrity-check')")
    }

    @Test func progressHandlerStopsTheStatement() throws {
        let db = try open()
        var calls = 0
        try db.settings.setProgressHandler(every: 1000) {
            calls += 1
            return calls < 5
        }
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, Self.endless) }
        #expect(error.map { .interrupted ~= $0.code } == true)
        #expect(calls == 5)
        try db.settings.setProgressHandler(every: 1000) { throw Refusal() }
        let thrown = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, Self.endless) }
        #expect(thrown?.underlyingError as? Refusal == Refusal())
        #expect(thrown?.reason == .callback)
        try db.settings.setProgressHandler(nil)
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
        #expect(throws: DatabaseError.self) { try db.settings.setProgressHandler(every: 0) { true } }
    }
}

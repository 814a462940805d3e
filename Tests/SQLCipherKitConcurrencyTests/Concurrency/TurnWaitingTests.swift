import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Calls' wait for other calls of the same queue, pool or snapshot, and the end of the wait. The table in the article "Concurrency
/// in depth" says the same. `WaitingTests` has the waits for locks.
@Suite struct TurnWaitingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The call that waits: the queue or the writer has another call, or all readers are in use, or one that must not be.
    enum Wait: String, CaseIterable, CustomStringConvertible {
        case queue, write, read, snapshotRead, barrier, attach, checkpoint, close
        var description: String { rawValue }
    }

    /// The end of the wait. A synchronous call has no task that could be canceled.
    enum End: String, CaseIterable, CustomStringConvertible {
        case cancellation, timeout, synchronousTimeout, closing, synchronousClosing, suspension, synchronousSuspension
        var description: String { rawValue }
        var isSynchronous: Bool { rawValue.hasPrefix("synchronous") }
        var timeout: Duration? { [.timeout, .synchronousTimeout].contains(self) ? .milliseconds(100) : nil }

        func ends(_ wait: Wait) -> Bool { wait != .close || timeout != nil }
    }

    private struct Place: Sendable {
        let wait: Wait, database: DatabaseWriter, snapshot: DatabaseSnapshot?, other: String

        init(_ wait: Wait, _ folder: TemporaryFolder) throws {
            let file = DatabaseLocation.file(folder.path("a.db")), configuration = DatabaseConfiguration.pool { $0.maximumReaders = 1 }
            (self.wait, other) = (wait, folder.path("b.db"))
            if wait == .queue {
                (database, snapshot) = (try DatabaseQueue(file), nil)
            } else {
                let pool = try DatabasePool(file, configuration: configuration)
                try pool.write { db in try db.execute("CREATE TABLE t(x)") }
                (database, snapshot) = (pool, wait == .snapshotRead ? try pool.snapshot() : nil)
            }
        }

        /// Has what the call waits for while `body` runs.
        func hold(_ body: () -> Void) throws {
            switch wait {
            case .queue, .write: try database.write { _ in body() }
            case .read, .barrier, .attach, .checkpoint, .close: try database.read { _ in body() }
            case .snapshotRead: try snapshot?.read { _ in body() }
            }
        }

        func call(_ timeout: Duration?) throws {
            switch wait {
            case .queue, .write: try database.write(timeout: timeout) { _ in }
            case .read: try database.read(timeout: timeout) { _ in }
            case .snapshotRead: try snapshot?.read(timeout: timeout) { _ in }
            case .barrier: try database.barrierWriteWithoutTransaction(timeout: timeout) { _ in }
            case .attach: _ = try database.attach(.file(other), as: "other", key: nil, timeout: timeout)
            case .checkpoint: _ = try database.main.checkpoint(.truncate, timeout: timeout)
            case .close: try database.close(timeout: timeout)
            }
        }

        func call(_ timeout: Duration?) async throws {
            switch wait {
            case .queue, .write: try await database.write(timeout: timeout) { _ in }
            case .read: try await database.read(timeout: timeout) { _ in }
            case .snapshotRead: try await snapshot?.read(timeout: timeout) { _ in }
            case .barrier: try await database.barrierWriteWithoutTransaction(timeout: timeout) { _ in }
            case .attach: _ = try await database.attach(.file(other), as: "other", key: nil, timeout: timeout)
            case .checkpoint: _ = try await database.main.checkpoint(.truncate, timeout: timeout)
            case .close: try await database.close(timeout: timeout)
            }
        }
    }

    /// Each end ends each wait while the other call runs, but a call that closes waits for as long as its timeout allows. What
    /// `interrupt()` ends is running statements and their waits, and no wait for a turn.
    @Test(arguments: Wait.allCases, End.allCases) func everyEndEndsEveryWaitForATurn(wait: Wait, end: End) async throws {
        let place = try Place(wait, folder), entered = Latch(), leave = Latch(), isDone = Latch()
        let holder = onThread {
            try place.hold {
                entered.open()
                leave.wait()
            }
        }
        defer { leave.open() }
        try await entered.opened()
        let call = Task {
            defer { isDone.open() }
            if end.isSynchronous {
                try await onThread { try place.call(end.timeout) }.ended()
            } else {
                try await place.call(end.timeout)
            }
        }
        for _ in 0..<5 {
            place.database.interrupt()
            try await Task.sleep(for: .milliseconds(5))
        }
        if end.timeout == nil { #expect(!isDone.isOpened) }
        var ending: Outcomes?, closing: Task<Void, any Error>?
        switch end {
        case .cancellation: call.cancel()
        case .timeout, .synchronousTimeout: break
        case .synchronousClosing: ending = onThread { try place.database.close() }
        case .closing: closing = Task { try await place.database.close() }
        case .suspension, .synchronousSuspension:
            // The other call has no statement that could be ended.
            ending = onThread { try? place.database.suspend(timeout: .milliseconds(50)) }
        }
        if end.ends(wait) {
            try await suspendUntil("the wait has ended", atMost: .seconds(60)) { isDone.isOpened }
            #expect(!holder.isEnded)
        } else {
            try await Task.sleep(for: .milliseconds(50))
            #expect(!isDone.isOpened)
        }
        leave.open()
        var thrown: (any Error)?
        if case .failure(let error) = await call.result { thrown = error }
        let reason = (thrown as? DatabaseError)?.reason
        if !end.ends(wait) {
            #expect(thrown == nil, "\(String(describing: thrown))")
        } else {
            switch end {
            case .cancellation: #expect(thrown is CancellationError, "\(String(describing: thrown))")
            case .timeout, .synchronousTimeout: #expect(reason == .timeout, "\(String(describing: thrown))")
            case _ where wait == .snapshotRead: #expect(reason == .snapshotLost, "\(String(describing: thrown))")
            case .closing, .synchronousClosing: #expect(reason == .closed, "\(String(describing: thrown))")
            case .suspension, .synchronousSuspension: #expect(reason == .suspended, "\(String(describing: thrown))")
            }
        }
        try? await holder.ended()
        try await ending?.ended()
        try await closing?.value
        place.database.resume()
        try await place.database.close()
    }
}

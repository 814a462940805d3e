import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync
import StoreSupport
import Synchronization
import Testing
import TestSupport

/// Calls' wait for a store that does not answer, and the end of the wait. The table in the article "Concurrency in depth" says the
/// same.
@Suite struct StoreWaitingTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    let store = SilentStore()

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    /// A store that answers no call until it is told to refuse them all. A canceled call ends.
    final class SilentStore: ObjectStore {
        private let state = Mutex((calls: 0, refuses: false))
        var refuses: Bool { state.withLock { $0.refuses } }
        func refuse() { state.withLock { $0.refuses = true } }

        private func wait() async throws -> Never {
            state.withLock { $0.calls += 1 }
            while !refuses { try await Task.sleep(for: .milliseconds(2)) }
            throw StoreFault("refused")
        }

        func asked() async throws { try await suspendUntil("the store is asked") { state.withLock { $0.calls > 0 } } }
        func list(prefix: String) async throws -> [StoredObject.Info] { try await wait() }
        func get(_ name: String) async throws -> StoredObject? { try await wait() }
        func delete(_ name: String) async throws { try await wait() }
        func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? { try await wait() }
    }

    enum End: CaseIterable { case cancellation, timeout, stop }

    /// The wait of `waitUntilStored` ends while the store's call goes on.
    /// `stop()` waits for that call, unless its own task is cancelled.
    @Test(arguments: End.allCases) func everyEndEndsTheWaitUntilStored(end: End) async throws {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        let wait = Task { try await replica.waitUntilStored(timeout: end == .timeout ? .milliseconds(100) : nil) }
        try await store.asked()
        switch end {
        case .cancellation: wait.cancel()
        case .timeout: break
        case .stop:
            let stopping = Task {
                await replica.stop()
                return ContinuousClock.now
            }
            try await Task.sleep(for: .milliseconds(100))
            let refused = ContinuousClock.now
            store.refuse()
            #expect(await stopping.value >= refused)
        }
        switch (end, await wait.result) {
        case (.cancellation, .failure(let error)): #expect(error is CancellationError, "\(error)")
        case (.timeout, .failure(let error)): #expect((error as? DatabaseError)?.reason == .timeout, "\(error)")
        case (.stop, .failure(let error)): #expect((error as? DatabaseError)?.reason == .closed, "\(error)")
        case (_, .success(let position)): Issue.record("stored: \(position)")
        }
        #expect(store.refuses == (end == .stop))
        store.refuse()
        await replica.stop()
        try await pool.close()
    }

    /// A cancelled task ends the replica as well, which then cancels the store's call.
    @Test(arguments: [false, true]) func cancellationEndsTheWaitOfStop(isEarly: Bool) async throws {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try await pool.write { db in try db.execute("CREATE TABLE t(x)") }
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await store.asked()
        let stopping = Task {
            if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
            await replica.stop()
        }
        if !isEarly {
            try await Task.sleep(for: .milliseconds(50))
            stopping.cancel()
        }
        // If the call does not end, neither do the tests: the store answers at last, so that they say why.
        let answer = Task {
            try await Task.sleep(for: .seconds(20))
            store.refuse()
        }
        await stopping.value
        answer.cancel()
        #expect(!store.refuses)
        #expect(await replica.currentStatus.isEnded)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored() }
        try await pool.close()
    }

    enum Call: CaseIterable { case synchronize, restore, generations }

    /// The task's cancellation reaches the store, whose call ends.
    @Test(arguments: Call.allCases) func cancellationEndsTheWaitForAStore(call: Call) async throws {
        let queue = try DatabaseQueue(.file(folder.path("a.db")), key: key), (store, key) = (store, key), copy = folder.path("b.db")
        try await queue.write { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, x)") }
        let log = try await SharedChangeLog(queue, tables: ["note"], localPeer: "a")
        let wait = Task {
            switch call {
            case .synchronize: _ = try await log.synchronize(with: ChangeStore(store, key: key))
            case .restore: _ = try await Replicator.restoreIfMissing(copy, from: store, key: key)
            case .generations: _ = try await Replicator.generations(in: store, key: key)
            }
        }
        try await store.asked()
        wait.cancel()
        let error = await #expect(throws: (any Error).self) { try await wait.value }
        #expect(error is CancellationError, "\(String(describing: error))")
        #expect(!store.refuses)
        try await queue.close()
    }
}

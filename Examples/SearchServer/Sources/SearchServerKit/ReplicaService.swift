import Logging
import ServiceLifecycle
import SQLCipherKit
import SQLCipherKitReplication

/// Replicates while the server runs. Services end in the opposite order, so this one ends when the last request is answered.
struct ReplicaService: Service {
    let replica: Replicator
    let database: DatabasePool
    let logger: Logger

    func run() async throws {
        async let _ = logger.logErrors { await replica.currentStatus.error }
        // If another server takes over the store, this throws, and the program ends: what it writes would not be stored any more.
        do { try await cancelWhenGracefulShutdown { try await replica.waitUntilEnded() } } catch is CancellationError {}
        do { try await replica.waitUntilStored(timeout: .seconds(20)) } catch {
            logger.error("The last commits are in the database's file alone, until the next start: \(error)")
        }
        await replica.stop()
        try await database.close()
    }
}

/// Follows the store while the server runs.
struct FollowerService: Service {
    let follower: ReplicaFollower
    let logger: Logger

    func run() async throws {
        async let _ = logger.logErrors { await follower.currentStatus.error }
        try? await gracefulShutdown()
        await follower.stop()
        try await follower.database.close()
    }
}

extension Logger {
    /// Logs an error when it begins and when it has passed, until the task is cancelled.
    fileprivate func logErrors(of error: @Sendable () async -> (any Error)?) async {
        var known: String?
        while !Task.isCancelled {
            let text = await error().map { "\($0)" }
            if let text, text != known { self.error("The store: \(text)") }
            if text == nil, known != nil { notice("The store is back.") }
            known = text
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

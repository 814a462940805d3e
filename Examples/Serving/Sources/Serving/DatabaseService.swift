import Logging
import ServiceLifecycle
import SQLCipherKit
import SQLCipherKitReplication

/// Replicates while the server runs. Services end in the opposite order, so this one ends when the last request is answered: then
/// it stores what is left, and closes the database.
public struct DatabaseService: Service {
    private let replica: Replicator?
    private let logger: Logger
    private let close: @Sendable () async throws -> Void

    public init(replica: Replicator?, logger: Logger, close: @escaping @Sendable () async throws -> Void) {
        (self.replica, self.logger, self.close) = (replica, logger, close)
    }

    public func run() async throws {
        if let replica {
            async let _ = logger.logErrors { await replica.currentStatus.error }
            // If another server takes over the store, this throws, and the program ends: what it writes would not be stored any
            // more.
            do { try await cancelWhenGracefulShutdown { try await replica.waitUntilEnded() } } catch is CancellationError {}
            do { try await replica.waitUntilStored(timeout: .seconds(20)) } catch {
                logger.error("The last commits are in the database's file alone, until the next start: \(error)")
            }
            await replica.stop()
        } else {
            try? await gracefulShutdown()
        }
        try await close()
    }
}

extension Logger {
    /// Logs an error of the store when it begins and when it has passed, until the task is cancelled.
    public func logErrors(of error: @Sendable () async -> (any Error)?) async {
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

import Logging
import ServiceLifecycle
import Serving
import SQLCipherKitReplication

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

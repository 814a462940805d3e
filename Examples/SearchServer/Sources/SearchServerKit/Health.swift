import Foundation
import Hummingbird
import SQLCipherKit
import SQLCipherKitReplication

/// The answer of `/health`. It names no paths or hosts, and has no errors: those are in the log.
struct Health: ResponseCodable {
    enum Role: String, Codable { case primary, follower }

    var role: Role
    /// The newest state in the store, or the state of the copy.
    var position: String?
    /// For how long the store has not had all commits, or the copy not all that is in the store. Missing before the first time.
    var secondsBehind: Double?
    /// The number of commits that the copy lacks.
    var commitsBehind: Int?
    var isReplicating: Bool

    init(_ status: Replicator.Status) {
        role = .primary
        position = status.stored?.description
        secondsBehind = status.upToDateAt.map { -$0.timeIntervalSinceNow }
        isReplicating = status.error == nil && !status.isEnded
    }

    init(_ status: ReplicaFollower.Status) {
        role = .follower
        position = status.position.description
        secondsBehind = status.upToDateAt.map { -$0.timeIntervalSinceNow }
        commitsBehind = status.commitsBehind
        isReplicating = status.error == nil
    }

    /// A balancer leaves out a follower that is a minute behind. A primary answers while its store is away.
    var status: HTTPResponse.Status {
        role == .primary || secondsBehind.map { $0 < 60 } == true ? .ok : .serviceUnavailable
    }
}

extension Router {
    func addHealth(_ health: @escaping @Sendable () async -> Health) {
        get("health") { _, _ in
            let health = await health()
            return EditedResponse(status: health.status, headers: [.cacheControl: "no-store"], response: health)
        }
    }
}

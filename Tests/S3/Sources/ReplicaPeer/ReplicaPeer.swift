import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// `ReplicaPeer writer|follower|check FOLDER ENDPOINT`: a program on a host of its own, for
/// scripts/workshop/lib/replica_network.py.
///
/// The writer commits and replicates, and notes the acknowledged commits in `stored`. The follower notes in `followed` where it is,
/// and in `found` what must not be. Both run until they are killed. `check` restores, and compares.
@main struct ReplicaPeer {
    let folder: String
    let store: S3Store
    let database = ProofDatabase(seed: 1)

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else {
            print("usage: ReplicaPeer writer|follower|check FOLDER ENDPOINT")
            exit(2)
        }
        var store = try S3Store(
            bucket: "replicas", prefix: "network/", region: "us-east-1", endpoint: arguments[3],
            credentials: S3Credentials(accessKey: "test", secretKey: "secret"))
        // Short, as lines are cut for seconds.
        (store.attempts, store.timeout) = (2, .seconds(2))
        let peer = ReplicaPeer(folder: arguments[2], store: store)
        switch arguments[1] {
        case "writer": try await peer.write()
        case "follower": try await peer.follow()
        default: try await peer.check()
        }
    }

    private func write() async throws {
        let pool = try DatabasePool(.file(folder + "/a.db"), key: ProofDatabase.key)
        var options = Replicator.Options()
        options.interval = .milliseconds(20)
        options.objectSize = 1 << 16
        options.checkpointSize = 200_000
        let replica = try await Replicator(of: pool, in: store, options: options)
        while true {
            let last = try await pool.write { db in try database.commit(db) }
            try await Task.sleep(for: .milliseconds(10))
            guard last % 7 == 0 else { continue }
            do {
                // Commits go on while the store is away.
                try await replica.waitUntilStored(timeout: .seconds(2))
                try note("stored", "\(last)")
            } catch {
                guard await !replica.currentStatus.isEnded else { throw error }
                print("commit \(last): \(error)")
                fflush(nil)
            }
        }
    }

    private func follow() async throws {
        let follower = try await ReplicaFollower(
            at: folder + "/copy.db", following: store, key: ProofDatabase.key, every: .milliseconds(100))
        var former = 0
        while true {
            try await Task.sleep(for: .milliseconds(20))
            do {
                let commit = try await follower.reader.read { db in try database.check(db) }
                guard commit >= former else { throw Finding("the follower goes from commit \(former) back to \(commit)") }
                if commit > former { try note("followed", "\(commit)") }
                former = commit
            } catch {
                try note("found", "\(error)")
                throw error
            }
        }
    }

    private func check() async throws {
        let path = folder + "/restored.db"
        try await Replicator.restore(to: path, from: store, key: ProofDatabase.key)
        let db = try Connection(.file(path), key: ProofDatabase.key)
        print(try database.check(db))
    }

    /// Replaces the content of a file, in one step.
    private func note(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name), options: .atomic)
    }
}

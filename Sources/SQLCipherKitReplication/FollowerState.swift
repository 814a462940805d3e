import Foundation
import SQLCipherKitCore

/// How far a follower's database has come, in a file beside it.
struct FollowerState: Codable {
    /// The database has at least this state.
    var generation: UInt64
    var place: ReplicaReader.Place
    /// A state that the database may have already: nothing before it may become visible any more.
    var intent: ReplicaPosition?

    /// The identities of the sections that the copy has followed, the present one last: a former one is not followed again.
    var sections: [[UInt8]]?

    /// A copy of which nothing is known: its content is replaced.
    static func unknown(following sections: [[UInt8]]? = nil) -> FollowerState {
        let place = ReplicaReader.Place(frames: 0, commits: 0, predecessor: [])
        return FollowerState(generation: 0, place: place, sections: sections.map { $0.suffix(64) })
    }

    var position: ReplicaPosition { ReplicaPosition(generation: generation, commit: place.commits) }

    static func path(for database: String) -> String { database + "-replica" }

    static func read(for database: String) -> FollowerState? {
        guard let bytes = FileManager.default.contents(atPath: path(for: database)) else { return nil }
        return try? JSONDecoder().decode(FollowerState.self, from: bytes)
    }

    /// Restores the newest state to a new copy.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file that no follower has made.
    static func restore(_ path: String, from store: any ReplicaStore, _ key: Encryption) async throws -> FollowerState {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "there is a file \(path) already, which no follower has made",
                path: path)
        }
        // If the process ends between the two, the copy has no known state, and the next follower replaces its content.
        try unknown().write(for: path)
        do {
            let (plan, place, section) = try await ReplicaRestore.start(path, store, key, .newest, false, nil)
            let state = FollowerState(generation: plan.generation.number, place: place, sections: [section])
            try state.write(for: path)
            return state
        } catch {
            if !FileManager.default.fileExists(atPath: path) { unlink(Self.path(for: path)) }
            throw error
        }
    }

    /// Writes it so that a crash leaves either this or the former state.
    func write(for database: String) throws {
        let path = Self.path(for: database), new = path + "~"
        let bytes = [UInt8](try JSONEncoder().encode(self))
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        let isWritten = Foundation.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        guard close(descriptor) == 0, isWritten, rename(new, path) == 0 else { throw Self.failure(path) }
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = fsync(folder)
        close(folder)
    }

    private static func failure(_ path: String) -> DatabaseError {
        DatabaseError(code: .ioError, message: "\(path) cannot be written: \(String(cString: strerror(errno)))", path: path)
    }
}

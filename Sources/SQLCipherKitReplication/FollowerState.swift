import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// How far a follower's database has come, in a file beside it.
struct FollowerState: Codable {
    /// What a reader has seen of a replica. It accepts only what continues it.
    struct Held: Codable {
        /// The identities of the sections that were followed, the present one last.
        var sections: [[UInt8]] = []
        var place = ChainPlace.none
        /// The terms before that of the place.
        var ancestry: [ChainPlace] = []
        /// The number of the generation there: later ones have greater numbers.
        var generation: UInt32 = 0

        /// Makes sure that it is in a history.
        /// - Parameters:
        ///   - end: the end of the history, and `opening` how its last term began.
        /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked``.
        func require(in end: ChainPlace, _ opening: TermOpening) throws {
            guard place.term == end.term else { return try opening.require(place, known: ancestry) }
            if place.link > end.link { throw DatabaseError.rolledBackReplica("it lacks the last commits that are here") }
            if place.link == end.link, place.tag != end.tag {
                throw DatabaseError.forkedReplica("its last commits are not those here")
            }
        }
    }

    /// The database has at least this state.
    var generation: UInt32
    var place: ReplicaReader.Place
    /// A state that the database may have already: nothing before it may become visible any more.
    var intent: Replica.Position?
    var held: Held

    /// A copy of which nothing is known: its content is replaced.
    static func unknown(holding held: Held = Held()) -> FollowerState {
        FollowerState(generation: 0, place: ReplicaReader.Place(frames: 0, commits: 0, predecessor: []), held: held)
    }

    var position: Replica.Position { Replica.Position(generation: UInt64(generation), commit: place.commits) }

    static func path(for database: String) -> String { database + "-replica" }

    /// - Returns: nil if no follower has made the copy.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read, or is damaged.
    static func read(for database: String) throws(DatabaseError) -> FollowerState? {
        let path = path(for: database)
        guard let bytes = try OwnFile.contents(of: path) else { return nil }
        do { return try JSONDecoder().decode(FollowerState.self, from: Data(bytes)) } catch {
            throw DatabaseFile.cannotOpen(path, "it is damaged: remove it and the copy, and follow again")
        }
    }

    /// Takes the lock that one follower of a copy has at a time.
    /// - Throws: ``DatabaseError/Reason/busy`` while another one has it.
    static func lock(_ database: String) throws -> OwnFile {
        if let lock = OwnFile.locked(path(for: database) + "-lock") { return lock }
        guard errno == EWOULDBLOCK else { throw AtomicFile.failure(.cannotOpen, "the lock of the copy cannot be made", database) }
        throw DatabaseError(
            code: .busy, reason: .busy, message: "another follower has the copy \(database)", path: database)
    }

    /// Restores the newest state to a new copy.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file that no follower has made.
    static func restore(_ path: String, from store: CheckedStore, _ key: Encryption) async throws -> FollowerState {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "there is a file \(path) already, which no follower has made",
                path: path)
        }
        // A state without a copy counts for nothing.
        let former = try OwnFile.contents(of: Self.path(for: path))
        do {
            var state = unknown()
            try await Replica.start(path, store, key, .newest, false, nil, recordEvery: .seconds(5)) { found, reader in
                // A copy of a history that has ended could not go on to the one that has begun.
                if (try? found.held.require(in: reader.tail.end, reader.opening)) == nil {
                    throw DatabaseError.damagedReplica("the first snapshot of the history that has begun is not complete")
                }
                state = found
                try state.write(for: path)
            }
            return state
        } catch {
            // What has taken the name in the meantime is no copy.
            if let former { try? OwnFile.replace(Self.path(for: path), with: former) } else { unlink(Self.path(for: path)) }
            if !FileManager.default.fileExists(atPath: path) { unlink(Self.path(for: path) + "-lock") }
            throw error
        }
    }

    /// Writes it so that a crash leaves either this or the former state.
    func write(for database: String) throws {
        try OwnFile.replace(Self.path(for: database), with: [UInt8](try JSONEncoder().encode(self)))
    }
}

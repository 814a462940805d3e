import Foundation
import SQLCipherKit

/// Restores a database from a store.
public enum ReplicaRestore {
    /// Restores a state to a new file, which gets its name when every page is authentic and the structure is intact.
    ///
    /// ```swift
    /// let position = try await ReplicaRestore.restore(to: "notes.db", from: FolderStore("/backup/notes"), key: key)
    /// ```
    /// - Parameters:
    ///   - path: the file's path.
    ///   - store: where the replica is.
    ///   - key: how the database is encrypted, or was at that time.
    ///   - moment: the state. Default: the newest.
    ///   - replacing: whether a file of that name is replaced; no connection may have it open. Default: false.
    ///   - progress: called from time to time with the bytes that were read and the bytes to read; throw to cancel.
    /// - Returns: the state that was restored.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens, or anything in it was
    ///   changed or is missing; ``DatabaseError/Reason/invalidArgument`` if the store does not have that state;
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/conversionFailed``; errors of the store. No file gets the name
    ///   then, and a file that was to be replaced is unchanged.
    @discardableResult
    public static func restore(
        to path: String, from store: any ReplicaStore, key: Encryption, at moment: ReplicaMoment = .newest, replacing: Bool = false,
        progress: (@Sendable (_ done: Int, _ total: Int) throws -> Void)? = nil
    ) async throws -> ReplicaPosition {
        try await withTaskExecutorPreference(BlockingExecutor.shared) {
            try await start(path, store, key, moment, replacing, progress).plan.position
        }
    }

    /// Restores, and says where the log continues.
    static func start(
        _ path: String, _ store: any ReplicaStore, _ key: Encryption, _ moment: ReplicaMoment, _ replacing: Bool,
        _ progress: (@Sendable (Int, Int) throws -> Void)?
    ) async throws -> (plan: ReplicaReader.Plan, place: ReplicaReader.Place, section: [UInt8]) {
        var reader = try await ReplicaReader(store, key: key)
        var attempts = 0
        while true {
            do { return try await run(path, reader, key, moment, replacing, progress) } catch let missing as ReplicaReader.Missing {
                // Upkeep may have replaced it since the manifest was read.
                attempts += 1
                if attempts == 5 { throw DatabaseError.damagedReplica("the object \(missing.name) is missing") }
                try await reader.update()
            }
        }
    }

    private static func run(
        _ path: String, _ reader: ReplicaReader, _ key: Encryption, _ moment: ReplicaMoment, _ replacing: Bool,
        _ progress: (@Sendable (Int, Int) throws -> Void)?
    ) async throws -> (plan: ReplicaReader.Plan, place: ReplicaReader.Place, section: [UInt8]) {
        let plan = try await reader.plan(for: moment), pageSize = plan.generation.pageSize, total = plan.bytes
        let file = try RestoredFile(at: path, replacing: replacing)
        var pages = plan.snapshot.pages, done = 0, reported = 0
        func wrote() throws {
            done += pageSize
            guard done - reported >= 1 << 20 else { return }
            reported = done
            try Task.checkCancellation()
            try progress?(min(done, total), total)
        }
        try await reader.readSnapshot(plan.snapshot, of: plan.generation.number) { page, bytes in
            try file.write(bytes, at: (Int(page) - 1) * pageSize)
            try wrote()
        }
        let place = try await reader.readLog(of: plan.generation, from: plan.start, upTo: plan.commit) { frame, bytes in
            try file.write(bytes, at: (Int(frame.page) - 1) * pageSize)
            if frame.size != 0 { pages = frame.size }
            try wrote()
        }
        try file.truncate(to: Int(pages) * pageSize)
        try progress?(total, total)
        try file.publish(key: key, replacing: replacing)
        return (plan, place, reader.section)
    }
}

/// The states of one generation that can be restored.
public struct ReplicaRange: Hashable, Sendable {
    /// The first and the last state. Each commit between them can be restored.
    public let first: ReplicaPosition, last: ReplicaPosition
    /// When the first snapshot and the last commit were stored, by the clock of the machine that stored them.
    public let firstTime: Date, lastTime: Date
    /// The size of the objects in bytes.
    public let size: Int
}

extension ReplicaRestore {
    /// What can be restored from a store, from the oldest generation to the newest.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens; errors of the store.
    public static func ranges(in store: any ReplicaStore, key: Encryption) async throws -> [ReplicaRange] {
        try await ReplicaReader(store, key: key).contents.generations.compactMap { generation in
            guard let first = generation.snapshots.first else { return nil }
            return ReplicaRange(
                first: ReplicaPosition(generation: generation.number, commit: first.commits),
                last: ReplicaPosition(generation: generation.number, commit: generation.commits),
                firstTime: Date(timeIntervalSince1970: Double(first.time) / 1000),
                lastTime: Date(timeIntervalSince1970: Double(max(first.time, generation.latest)) / 1000),
                size: generation.snapshots.reduce(0) { $0 + $1.size } + generation.log.reduce(0) { $0 + $1.size })
        }
    }
}

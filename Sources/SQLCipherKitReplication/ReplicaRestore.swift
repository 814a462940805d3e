import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

extension Replica {
    /// Restores a state to a new file, which gets its name when every page is authentic and the structure is intact.
    ///
    /// If that is interrupted, what was read stays in files beside it, encrypted, with the suffixes `-restoring` and
    /// `-restoring-state`. The next call for the same name goes on from there if it restores the same replica to the same or a
    /// later state of the generation, and begins from scratch otherwise. But if it asks for the newest state, and the store no
    /// longer has what was seen there, it throws.
    ///
    /// ```swift
    /// let position = try await Replica.restore(to: "notes.db", from: FolderStore("/backup/notes"), key: key)
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
    ///   changed or is missing; ``DatabaseError/Reason/replicaRolledBack`` and ``DatabaseError/Reason/replicaForked`` if an
    ///   interrupted call has seen what the store lacks; ``DatabaseError/Reason/invalidArgument`` if the store does not have that
    ///   state;
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/conversionFailed``; errors of the store. No file gets the name
    ///   then, and a file that was to be replaced is unchanged.
    @discardableResult
    public static func restore(
        to path: String, from store: any ReplicaStore, key: Encryption, at moment: Moment = .newest, replacing: Bool = false,
        progress: (@Sendable (RewriteProgress) throws -> Void)? = nil
    ) async throws -> Position {
        try await restored(path, CheckedStore(store), key, moment, replacing, progress)
    }

    static func restored(
        _ path: String, _ store: CheckedStore, _ key: Encryption, _ moment: Moment, _ replacing: Bool,
        _ progress: (@Sendable (RewriteProgress) throws -> Void)?, recordEvery interval: Duration = .seconds(5)
    ) async throws -> Position {
        try await withTaskExecutorPreference(BlockingExecutor.shared) {
            try await start(path, store, key, moment, replacing, progress, recordEvery: interval) { _, _ in }
        }
    }

    /// The same, with the time after which progress is recorded. Tests set it.
    @discardableResult
    package static func restore(
        to path: String, from store: any ReplicaStore, key: Encryption, at moment: Moment, replacing: Bool,
        recordEvery interval: Duration
    ) async throws -> Position {
        try await restored(path, CheckedStore(store), key, moment, replacing, nil, recordEvery: interval)
    }

    /// - Parameter announce: is told what the file holds before it has its name, and from where.
    @discardableResult
    static func start(
        _ path: String, _ store: CheckedStore, _ key: Encryption, _ moment: Moment, _ replacing: Bool,
        _ progress: (@Sendable (RewriteProgress) throws -> Void)?, recordEvery interval: Duration,
        _ announce: (FollowerState, ReplicaReader) throws -> Void
    ) async throws -> Position {
        let path = try DatabaseFile.newPath(path, of: "the restored database")
        var reader = try await ReplicaReader(store, key: key, needsState: true), attempts = 0
        while true {
            var goesOn = false
            do {
                return try await run(path, reader, key, moment, replacing, progress, interval, announce, &goesOn)
            } catch let error as DatabaseError where error.underlyingError is ReplicaReader.Missing {
                // Upkeep may have removed it since the head was read.
                attempts += 1
                if attempts == 5 { throw error }
                try await reader.update()
            } catch let error as DatabaseError {
                // Something has changed the pages of an earlier restore: that was found, and they are gone.
                guard goesOn, RestoredFile.isDamage(error) else { throw error }
            }
        }
    }

    private static func run(
        _ path: String, _ reader: ReplicaReader, _ key: Encryption, _ moment: Moment, _ replacing: Bool,
        _ report: (@Sendable (RewriteProgress) throws -> Void)?, _ recordInterval: Duration,
        _ announce: (FollowerState, ReplicaReader) throws -> Void, _ goesOn: inout Bool
    ) async throws -> Position {
        guard let sealKey = reader.key else { throw DatabaseError.damagedReplica("there is no key") }
        let plan = try await reader.plan(for: moment), pageSize = plan.pageSize
        let file = try RestoredFile(at: path, replacing: replacing)
        var progress = RestoreProgress(plan, holding: reader.held)
        let known = try file.record.flatMap { try RestoreProgress($0, with: sealKey) }
        if let known, try known.isPart(of: reader, moment, path), known.leads(to: plan) {
            (progress, progress.held) = (known, reader.held)
            goesOn = true
            // Before there is a page of a later commit.
            if progress.target < plan.commit {
                progress.target = plan.commit
                try file.record(progress.sealed(with: sealKey))
            }
        } else if file.record != nil {
            try file.begin()
        }
        let total = progress.total(of: plan)
        var done = progress.bytes, reported = done, recorded = ContinuousClock.now
        func wrote() throws {
            done += pageSize
            guard done - reported >= 1 << 20 else { return }
            reported = done
            try Task.checkCancellation()
            try report?(RewriteProgress(done: min(done, total), total: total))
        }
        func record() throws {
            guard .now - recorded >= recordInterval else { return }
            progress.bytes = done
            try file.record(progress.sealed(with: sealKey))
            recorded = .now
        }
        if let place = progress.snapshotPlace {
            try await reader.readSnapshot(plan.snapshot, from: place) { page, bytes in
                try file.write(bytes, at: (Int(page) - 1) * pageSize)
                try wrote()
            } checkpoint: { place in
                progress.snapshotPlace = place
                try record()
            }
            progress.snapshotPlace = nil
        }
        let log = plan.log.filter { $0.entry.end >= progress.place.frames }
        progress.place = try await reader.readLog(
            log, of: plan.generation, pageSize: pageSize, from: progress.place, upTo: plan.commit
        ) { frame, bytes in
            try file.write(bytes, at: (Int(frame.page) - 1) * pageSize)
            if frame.size != 0 { progress.pages = frame.size }
            try wrote()
        } checkpoint: { place in
            progress.place = place
            try record()
        }
        try file.truncate(to: Int(progress.pages) * pageSize)
        try report?(RewriteProgress(done: total, total: total))
        let held = reader.held(by: plan)
        try announce(FollowerState(generation: plan.generation, place: progress.place, held: held), reader)
        // An earlier state begins another history, should a replica go on with it. So does what is left in a store that has gone
        // back, until its writer has stored again what is missing.
        var isNewest = false
        if case .newest = moment { isNewest = plan.generation >= reader.opening.first }
        try await ReplicaMemory(of: path, section: reader.section).replace(with: file.pagesPath, holding: isNewest ? [held] : []) {
            try await file.publish(key: key, replacing: replacing)
        }
        return plan.position
    }
}

extension Replica {
    /// The states of one generation that can be restored.
    public struct Generation: Hashable, Sendable {
        /// The first and the last state. Each commit between them can be restored.
        public let first: Position, last: Position
        /// When the first snapshot and the last commit were stored, by the clock of the machine that stored them.
        public let firstTime: Date, lastTime: Date
        /// The size of the objects in bytes.
        public let size: Int
    }
}

extension Replica {
    /// What can be restored from a store, from the oldest generation to the newest.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens; errors of the store.
    public static func generations(in store: any ReplicaStore, key: Encryption) async throws -> [Generation] {
        try await ReplicaReader(CheckedStore(store), key: key, needsState: true).generations()
    }
}

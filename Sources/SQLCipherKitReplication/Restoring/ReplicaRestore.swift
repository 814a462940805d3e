import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles

extension Replicator {
    /// Restores a state to a new file. The file gets its name only when every page is authentic and the structure is intact.
    ///
    /// If the call is interrupted, the pages read so far stay in files beside the new file, encrypted, with the suffixes
    /// `-restoring` and `-restoring-state`. The next call for the same name continues from there if it restores the same replica to
    /// the same or a later state of the generation, and begins from scratch otherwise. A call for the newest state throws if the
    /// store no longer has the state that the interrupted call saw.
    ///
    /// ```swift
    /// let position = try await Replicator.restore(to: "notes.db", from: FolderStore("/backup/notes"), key: key)
    /// ```
    /// - Parameters:
    ///   - path: the file's path.
    ///   - store: where the replica is.
    ///   - key: the database's key at the time of the state.
    ///   - moment: the state. Default: the newest.
    ///   - replacing: whether a file of that name is replaced. No connection may have it open, and it may have neither a journal
    ///     nor a write-ahead log with content, which SQLite would read as a part of the new file. Default: false.
    ///   - progress: called from time to time with the bytes that were read and the bytes to read; throw to cancel.
    /// - Returns: the state that was restored.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens, or if an object was
    ///   changed or is missing; ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked`` if an
    ///   interrupted call has seen a state that the store lacks; ``DatabaseError/Reason/invalidArgument`` if the store lacks the
    ///   state; ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/conversionFailed``; errors of the store. Then no file
    ///   gets the name, and a file that was to be replaced is unchanged.
    @discardableResult
    public static func restore(
        to path: String, from store: any ObjectStore, key: DatabaseKey, at moment: RestorePoint = .newest, replacing: Bool = false,
        progress: (@Sendable (DatabaseProgress) throws -> Void)? = nil
    ) async throws -> Position {
        try await restored(path, CheckedStore(store), key, moment, replacing, progress)
    }

    private static func restored(
        _ path: String, _ store: CheckedStore, _ key: DatabaseKey, _ moment: RestorePoint, _ replacing: Bool,
        _ progress: (@Sendable (DatabaseProgress) throws -> Void)?, recordEvery interval: Duration = .seconds(5)
    ) async throws -> Position {
        try await withTaskExecutorPreference(BlockingExecutor.shared) {
            try await start(path, store, key, moment, replacing, progress, recordEvery: interval) { _, _, _ in }
        }
    }

    /// Restores a state, and records the progress after a given time. Tests set the time.
    @discardableResult
    package static func restore(
        to path: String, from store: any ObjectStore, key: DatabaseKey, at moment: RestorePoint, replacing: Bool,
        recordEvery interval: Duration
    ) async throws -> Position {
        try await restored(path, CheckedStore(store), key, moment, replacing, nil, recordEvery: interval)
    }

    /// - Parameter announce: gets the place of the file's content, and its replica, before the file has its name.
    @discardableResult
    static func start(
        _ path: String, _ store: CheckedStore, _ key: DatabaseKey, _ moment: RestorePoint, _ replacing: Bool,
        _ progress: (@Sendable (DatabaseProgress) throws -> Void)?, recordEvery interval: Duration,
        _ announce: (HeldPlace, ReplicaReader.Place, ReplicaReader) throws -> Void
    ) async throws -> Position {
        let path = try Paths.file(path, of: "the restored database")
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
                // The check found that the pages of an earlier restore were changed, and removed the pages.
                guard goesOn, RestoredFile.isDamage(error) else { throw error }
            }
        }
    }

    private static func run(
        _ path: String, _ reader: ReplicaReader, _ key: DatabaseKey, _ moment: RestorePoint, _ replacing: Bool,
        _ report: (@Sendable (DatabaseProgress) throws -> Void)?, _ recordInterval: Duration,
        _ announce: (HeldPlace, ReplicaReader.Place, ReplicaReader) throws -> Void, _ goesOn: inout Bool
    ) async throws -> Position {
        guard let sealKey = reader.key else { throw DatabaseError.damagedReplica("the key opens no section") }
        let plan = try await reader.plan(for: moment), pageSize = plan.pageSize
        let file = try RestoredFile(at: path, replacing: replacing)
        var progress = RestoreProgress(plan, holding: reader.held)
        let known = try file.record.flatMap { try RestoreProgress($0, with: sealKey) }
        if let known, try known.isPart(of: reader, moment, path), known.leads(to: plan) {
            (progress, progress.held) = (known, reader.held)
            goesOn = true
            // This must be recorded before a page of a later commit is written.
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
            try report?(DatabaseProgress(done: min(done, total), total: total))
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
        try report?(DatabaseProgress(done: total, total: total))
        let held = reader.held(by: plan)
        try announce(held, progress.place, reader)
        // If a replica continues from an earlier state, it begins another history. So does the rest of a store in an older state,
        // until the writer has stored the missing objects again.
        var isNewest = false
        if case .newest = moment { isNewest = plan.generation >= reader.opening.first }
        try await ReplicaMemory(of: path, section: reader.section).replace(with: file.pagesPath, holding: isNewest ? [held] : []) {
            try await file.publish(key: key, replacing: replacing)
        }
        return plan.position
    }
}

extension Replicator {
    /// The restorable states of one generation.
    public struct Generation: Hashable, Sendable {
        /// The first and the last state. Each commit between them can be restored.
        public let first: Position, last: Position
        /// The times when the first snapshot and the last commit were stored, by the clock of the machine that stored them.
        public let firstTime: Date, lastTime: Date
        /// The size of the objects in bytes.
        public let size: Int
    }
}

extension Replicator {
    /// Returns the generations that can be restored from a store, the oldest first.
    /// - Parameters:
    ///   - store: where the replica is.
    ///   - key: the database's key, or a former key.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the store has no replica that the key opens; errors of the store.
    public static func generations(in store: any ObjectStore, key: DatabaseKey) async throws -> [Generation] {
        try await ReplicaReader(CheckedStore(store), key: key, needsState: true).generations()
    }
}

extension Replicator {
    /// Restores the newest state if there is no database at `path` and the store has a replica: the first step of a server that
    /// starts in the same way on every machine.
    ///
    /// ```swift
    /// try await Replicator.restoreIfMissing("notes.db", from: store, key: key)
    /// let pool = try DatabasePool(.file("notes.db"), key: key)
    /// let replica = try await Replicator(of: pool, in: store)
    /// ```
    /// A store without a replica is not an error, nor is a store whose first snapshot was never completed: the program then creates
    /// the database. But a replica that the key does not open is an error, and so are objects without a head: otherwise, an empty
    /// database would replace the replicated database.
    /// - Parameters: as for ``restore(to:from:key:at:replacing:progress:)``.
    /// - Returns: the state that was restored; nil if there is a file at `path`, or nothing to restore.
    /// - Throws: the errors of ``restore(to:from:key:at:replacing:progress:)``.
    @discardableResult
    public static func restoreIfMissing(
        _ path: String, from store: any ObjectStore, key: DatabaseKey,
        progress: (@Sendable (DatabaseProgress) throws -> Void)? = nil
    ) async throws -> Position? {
        let path = try Paths.file(path, of: "the restored database")
        if FileManager.default.fileExists(atPath: path) { return nil }
        let store = CheckedStore(store)
        guard let (head, _) = try await ReplicaHead.read(store) else {
            guard try await !store.list(prefix: "").contains(where: { ReplicaHead.isObject($0.name) }) else {
                throw DatabaseError.damagedReplica("the store has objects of a replica, but no head")
            }
            return nil
        }
        // The states that this machine has stored or restored before must be there.
        for section in head.sections.suffix(1) {
            guard let held = try ReplicaMemory(of: path, section: section.id).read().first else { continue }
            _ = try await ReplicaReader(store, key: key, holding: held)
        }
        // Without a complete snapshot, no state can be lost. With several keys, a former key may open a section.
        if head.sections.count == 1, try await ReplicaReader(store, key: key).generations().isEmpty { return nil }
        return try await restored(path, store, key, .newest, false, progress)
    }
}

/// The progress of a restore, so that another restore can continue with the pages that are there.
/// The progress is sealed with the key of the replica. All pages up to it were authentic when they were written, and are checked
/// again when the file is complete.
private struct RestoreProgress: Codable {
    private static let magic = Array("SQLCipherKit restore 2".utf8)

    /// The place of the replica that was seen.
    var held: HeldPlace
    let generation: UInt32
    let pageSize: Int
    /// The identity of the snapshot: its term, its number, and the tag before it.
    let snapshot: [UInt8]
    /// The place in the snapshot; nil if all of it is there.
    var snapshotPlace: ReplicaReader.SnapshotPlace?
    /// The place in the log. It may be within a block.
    var place: ReplicaReader.Place
    /// The number of pages that the database has there.
    var pages: UInt32
    /// The last commit that any page may come from: no earlier commit can be restored with these pages.
    @NotedNumber var target: UInt64
    /// The number of bytes that were read.
    @NotedNumber var bytes = 0

    init(_ plan: ReplicaReader.Plan, holding held: HeldPlace) {
        (self.held, generation, pageSize) = (held, plan.generation, plan.pageSize)
        (snapshot, place, pages, target) = (plan.snapshot.identity, plan.start, plan.snapshot.pages, plan.commit)
        snapshotPlace = ReplicaReader.SnapshotPlace(tag: plan.snapshot.predecessor)
    }

    /// - Returns: nil if the record belongs to another restore, or was changed.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the sealed content is not a record of this form.
    init?(_ record: [UInt8], with key: ReplicaKey) throws {
        do {
            guard let progress: Self = try key.open(note: record, as: Self.magic) else { return nil }
            self = progress
        } catch {
            throw DatabaseError.damagedReplica(
                "the note of an interrupted restore has an unknown form: remove the file whose name ends in -restoring-state"
            )
        }
    }

    func sealed(with key: ReplicaKey) throws -> [UInt8] { try key.seal(note: self, as: Self.magic) }

    /// Returns whether the place that was seen is in the replica's history. If not, a state that is named by time or position may
    /// still be restored, without the pages.
    /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked`` for the newest state: there
    ///   was a newer state, or another history.
    func isPart(of reader: ReplicaReader, _ moment: Replicator.RestorePoint, _ path: String) throws -> Bool {
        guard held.sections.last == reader.section else { return false }
        do { try held.require(in: reader.held.place, reader.opening) } catch let error as DatabaseError {
            guard case .newest = moment else { return false }
            throw DatabaseError(
                code: error.code, reason: error.reason,
                message: error.message + ". To restore the store's state anyway, remove \(path)-restoring-state", path: path)
        }
        return true
    }

    /// Returns whether the pages are a part of the state of the plan. The tags of the log show whether the log continues the pages.
    func leads(to plan: ReplicaReader.Plan) -> Bool {
        guard plan.generation == generation, plan.pageSize == pageSize, plan.commit >= target else { return false }
        if snapshotPlace != nil { return plan.snapshot.identity == snapshot }
        // A later snapshot needs less of the log.
        return plan.snapshot.identity == snapshot || place.frames >= plan.snapshot.first
    }

    /// The number of bytes that are read for the plan, including bytes that were read already.
    func total(of plan: ReplicaReader.Plan) -> Int {
        let left = snapshotPlace.map { plan.snapshot.size - $0.bytes } ?? 0
        return plan.log.reduce(bytes + left) { $0 + ($1.entry.end > place.frames ? $1.entry.size : 0) }
    }
}

private extension ReplicaIndex.SnapshotEntry {
    var identity: [UInt8] {
        var bytes = term + predecessor
        bytes.append(varint: number)
        return bytes
    }
}

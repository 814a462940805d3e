import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A local copy of a replicated database, for reading, that follows the store.
///
/// ```swift
/// let follower = try await ReplicaFollower(at: "copy.db", following: FolderStore("/backup/notes"), key: key)
/// for try await titles in follower.database.observe({ db in try db.fetchAll(String.self, "SELECT title FROM note") }) { … }
/// ```
/// The copy moves from one commit to a later one, in one transaction, so a read never sees half of a commit. A page that is not
/// authentic is never written. Only the follower may write to the copy: what another program changes there is lost or damages it.
public actor ReplicaFollower {
    /// What a follower is doing.
    public struct Status: Sendable {
        /// The state of the copy.
        public var position: ReplicaPosition
        /// The newest state that was seen in the store.
        public var newest: ReplicaPosition
        /// When the newest state that the copy has was stored, by the clock of the machine that stored it.
        public var storedAt: Date
        /// When the copy last had the newest state that was in the store.
        public var upToDateAt: Date?
        /// The error of the last attempt; nil if it succeeded. The follower tries again.
        public var error: (any Error)?

        /// How many commits the copy is behind, as far as is known; nil if the store has begun a new generation.
        public var commitsBehind: Int? {
            position.generation == newest.generation ? Int(newest.commit) - Int(position.commit) : nil
        }
    }

    /// The copy. Use it for reading and observing only; ``reader`` cannot write.
    public nonisolated let database: DatabasePool
    /// Read-only access to the copy.
    public nonisolated var reader: DatabaseReader { database.reader }

    let path: String
    /// The key that was given last.
    var encryption: Encryption
    var replica: ReplicaReader
    var state: FollowerState
    var status: Status
    private var loop: Task<Void, Never>?
    var isBusy = false

    /// Restores the newest state, unless there is a copy at `path` already, and begins to follow.
    /// - Parameters:
    ///   - path: the path of the copy. Its position is in a file beside it, with the suffix `-replica`.
    ///   - store: where the replica is.
    ///   - key: how the database is encrypted.
    ///   - interval: how often the store is asked, at least every 10 milliseconds. Default: one second.
    ///   - configuration: how the copy is opened.
    /// - Throws: as ``ReplicaRestore/restore(to:from:key:at:replacing:progress:)``; ``DatabaseError/Reason/cannotOpen`` if there is
    ///   a file at `path` that no follower has made; ``DatabaseError/Reason/replicaKeyChanged`` if the copy has another key: then
    ///   start with that key and call ``changeKey(to:)``, or remove the copy; any error of opening the copy.
    public init(
        at path: String, following store: any ReplicaStore, key: Encryption, every interval: Duration = .seconds(1),
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) async throws {
        self.path = path
        let interval = interval.betweenPolls
        if let known = FollowerState.read(for: path), FileManager.default.fileExists(atPath: path) {
            state = known
        } else {
            state = try await withTaskExecutorPreference(BlockingExecutor.shared) {
                try await FollowerState.restore(path, from: store, key)
            }
        }
        replica = try await ReplicaReader(store, key: key)
        database = try await BlockingExecutor.run {
            var configuration = configuration
            configuration.access = .readWrite
            do { return try DatabasePool(.file(path), key: key, configuration: configuration) } catch let error as DatabaseError {
                guard error.reason == .wrongKeyOrNotADatabase else { throw error }
                throw DatabaseError.changedReplicaKey(
                    "the copy \(path) has another key. Follow with that one and then change it, or remove the copy")
            }
        }
        encryption = key
        status = Status(position: state.position, newest: state.position, storedAt: .distantPast)
        loop = Task(executorPreference: BlockingExecutor.shared) { [weak self] in
            while !Task.isCancelled {
                guard await self?.turn() == true else { return }
                try? await Task.sleep(for: interval)
            }
        }
    }

    deinit { loop?.cancel() }

    /// What the follower is doing.
    public var currentStatus: Status { status }

    /// Brings the copy to the newest state in the store, at once.
    /// - Returns: the state that the copy has now.
    /// - Throws: errors of the store; ``DatabaseError/Reason/replicaDamaged``; ``DatabaseError/Reason/replicaKeyChanged`` if the
    ///   newest states need another key; any error of writing to the copy.
    @discardableResult
    public func catchUp() async throws -> ReplicaPosition {
        while isBusy { try await Task.sleep(for: .milliseconds(2)) }
        isBusy = true
        defer { isBusy = false }
        try await advance()
        if replica.isSuperseded {
            throw DatabaseError.changedReplicaKey("the copy has the last state with its key, and changeKey(to:) goes on")
        }
        return state.position
    }

    /// Stops following. The copy stays as it is, and open.
    public func stop() async {
        loop?.cancel()
        await loop?.value
    }

    private func turn() async -> Bool {
        do {
            try await catchUp()
            status.error = nil
        } catch { status.error = error }
        return !Task.isCancelled
    }

    func advance() async throws {
        var attempts = 0
        while true {
            do {
                var updated = replica
                try await updated.update()
                replica = updated
                while try await step() {}
                status.upToDateAt = Date()
                return
            } catch let missing as ReplicaReader.Missing {
                // Upkeep has replaced it since the manifest was read.
                attempts += 1
                if attempts == 5 { throw DatabaseError.damagedReplica("the object \(missing.name) is missing") }
            }
        }
    }

    /// Moves the copy forward, as far as the memory for one transaction allows.
    /// - Returns: whether there may be more.
    private func step() async throws -> Bool {
        guard let newest = replica.contents.newest else { return false }
        status.newest = ReplicaPosition(generation: newest.number, commit: newest.commits)
        guard try await followSection(newest.pageSize) else { return false }
        let isSame = newest.number == state.generation && state.intent.map { $0.generation == newest.number } ?? true
        // The store went back, or a former writer's manifest was seen: wait for it to catch up.
        if status.newest < max(state.position, state.intent ?? state.position) { return false }
        let hasLog = newest.log.first.map { $0.first <= state.place.frames } ?? true
        guard isSame, hasLog || state.place.commits == newest.commits else {
            try await replace(with: try await replica.plan(for: .newest))
            return true
        }
        guard state.place.commits < newest.commits || state.intent != nil else {
            note(newest)
            return false
        }
        let least = max(state.intent?.commit ?? 0, state.place.commits)
        var last = newest.commits, size = 0
        for entry in newest.log where entry.commits > least {
            size += entry.size
            if size > 32 << 20 {
                last = entry.commits
                break
            }
        }
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: newest.pageSize)
        let place = try await replica.readLog(of: newest, from: state.place, upTo: last) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, newest.number, place)
        note(newest)
        return true
    }

    /// Writes all pages of a state over the copy, in one transaction.
    private func replace(with plan: ReplicaReader.Plan) async throws {
        try await requirePages(of: plan.generation.pageSize)
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: plan.generation.pageSize)
        spool.pageCount = plan.snapshot.pages
        try await replica.readSnapshot(plan.snapshot, of: plan.generation.number) { page, bytes in try spool.add(page, bytes) }
        let place = try await replica.readLog(of: plan.generation, from: plan.start, upTo: plan.commit) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, plan.generation.number, place)
        note(plan.generation)
    }

    private func write(_ spool: PageSpool, _ generation: UInt64, _ place: ReplicaReader.Place) async throws {
        // Whether the transaction is committed is known only afterwards.
        state.intent = ReplicaPosition(generation: generation, commit: place.commits)
        try state.write(for: path)
        if spool.pageCount > 0 {
            let box = Box(spool: spool)
            try await database.write { db in try box.spool.replay(into: db) }
        }
        state = FollowerState(generation: generation, place: place, sections: state.sections)
        try state.write(for: path)
        status.position = state.position
    }

    private struct Box: @unchecked Sendable {
        // Sendable: the one call that it is made for ends before the spool is used again.
        let spool: PageSpool
    }

    private func note(_ generation: ReplicaContents.Generation) {
        let entry = generation.log.last { $0.commits <= state.place.commits }
        status.storedAt = Date(timeIntervalSince1970: Double(entry?.latest ?? generation.latest) / 1000)
    }
}

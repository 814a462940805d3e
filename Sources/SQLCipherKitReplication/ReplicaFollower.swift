import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// A local copy of a replicated database, for reading, that follows the store.
///
/// ```swift
/// let follower = try await ReplicaFollower(at: "copy.db", following: FolderStore("/backup/notes"), key: key)
/// for try await titles in follower.database.observe({ db in try db.fetchAll(String.self, "SELECT title FROM note") }) { … }
/// ```
/// The copy moves from one commit to a later one, in one transaction, so a read never sees half of a commit. A page that is not
/// authentic is never written. Only the follower may write to the copy: what another program changes there is lost or damages it.
/// One follower at a time has a copy.
///
/// The copy never goes back, and never changes to another history: if the store shows one, ``catchUp()`` throws
/// ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked``, which the status has too, and the copy
/// stays as it is.
public actor ReplicaFollower {
    /// What a follower is doing.
    public struct Status: Sendable {
        /// The state of the copy.
        public var position: Replica.Position
        /// The newest state that was seen in the store.
        public var newest: Replica.Position
        /// When the newest state that the copy has was stored, by the clock of the machine that stored it.
        public var storedAt: Date
        /// When the copy last had the newest state that was in the store.
        public var upToDateAt: Date?
        /// The error of the last attempt; nil if it succeeded. The follower tries again.
        public var error: DatabaseError?

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
    /// Keeps other followers from the copy.
    private var lock: OwnFile?
    /// The number of looks without a new head, so that most of them cost one request.
    private var quietLooks = 0
    /// Whether the copy may lack something of what was seen: after a start, or in the middle of much.
    private var isBehind = true

    /// Restores the newest state, unless there is a copy at `path` already, and begins to follow.
    /// - Parameters:
    ///   - path: the path of the copy. Its position is in a file beside it, with the suffix `-replica`.
    ///   - store: where the replica is.
    ///   - key: how the database is encrypted.
    ///   - interval: how often the store is asked, at least every 10 milliseconds. Default: one second.
    ///   - configuration: how the copy is opened.
    /// - Throws: as ``Replica/restore(to:from:key:at:replacing:progress:)``; ``DatabaseError/Reason/busy`` while another
    ///   follower has the copy; ``DatabaseError/Reason/cannotOpen`` if there is a file at `path` that no follower has made;
    ///   ``DatabaseError/Reason/replicaRolledBack`` and ``DatabaseError/Reason/replicaForked`` if the store lacks what it has;
    ///   ``DatabaseError/Reason/replicaKeyChanged`` if the copy has another key: then start with that key and call
    ///   ``changeKey(to:)``, or remove the copy; any error of opening the copy.
    public init(
        at path: String, following store: any ReplicaStore, key: Encryption, every interval: Duration = .seconds(1),
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) async throws {
        let path = try DatabaseFile.newPath(path, of: "the copy")
        self.path = path
        let interval = interval.betweenPolls, store = CheckedStore(store), lock = try FollowerState.lock(path)
        self.lock = lock
        if let known = try FollowerState.read(for: path), FileManager.default.fileExists(atPath: path) {
            state = known
        } else {
            state = try await withTaskExecutorPreference(BlockingExecutor.shared) {
                try await FollowerState.restore(path, from: store, key)
            }
        }
        replica = try await ReplicaReader(store, key: key, holding: state.held)
        database = try await BlockingExecutor.run {
            var configuration = configuration
            configuration.access = .readWrite
            do throws(DatabaseError) {
                return try DatabasePool(.file(path), key: key, configuration: configuration)
            } catch {
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
    ///   newest states need another key; ``DatabaseError/Reason/replicaRolledBack`` if the store lacks what the copy has;
    ///   ``DatabaseError/Reason/replicaForked`` if its history is another one; any error of writing to the copy.
    @discardableResult
    public func catchUp() async throws -> Replica.Position { try await catchUp(lookingAtHead: true) }

    private func catchUp(lookingAtHead: Bool) async throws -> Replica.Position {
        while isBusy { try await Task.sleep(for: .milliseconds(2)) }
        isBusy = true
        defer { isBusy = false }
        try await advance(lookingAtHead: lookingAtHead)
        if replica.isSuperseded {
            throw DatabaseError.changedReplicaKey("the copy has the last state with its key, and changeKey(to:) goes on")
        }
        return state.position
    }

    /// Stops following. The copy stays as it is, and open.
    public func stop() async {
        loop?.cancel()
        await loop?.value
        lock = nil
    }

    private func turn() async -> Bool {
        do {
            quietLooks += 1
            // A new head, as after a change of the key, is noticed a little later than what is new in the chain.
            let looksAtHead = quietLooks >= 10 || status.error != nil || replica.isSuperseded
            if looksAtHead { quietLooks = 0 }
            _ = try await catchUp(lookingAtHead: looksAtHead)
            status.error = nil
        } catch { status.error = DatabaseError(thrownBy: "the follower", error) }
        return !Task.isCancelled
    }

    func advance(lookingAtHead: Bool = true) async throws {
        var attempts = 0, looksAtHead = lookingAtHead
        while true {
            do {
                var reader = replica
                // What was missed for long is in the index by now.
                if !looksAtHead { try await reader.extend(isPartial: true) }
                if looksAtHead || reader.tail.isClosed || !reader.tail.isWhole { try await reader.update() }
                replica = reader
                while try await step() {}
                status.upToDateAt = Date()
                return
            } catch let error as DatabaseError where error.underlyingError is ReplicaReader.Missing {
                // Upkeep has removed it since the head was read.
                (attempts, looksAtHead) = (attempts + 1, true)
                if attempts == 5 { throw error }
            }
        }
    }

    /// Moves the copy forward, as far as the memory for one transaction allows.
    /// - Returns: whether there may be more.
    private func step() async throws -> Bool {
        if !isBehind, state.generation > 0, state.held.place == replica.tail.end, state.intent == nil {
            note()
            return false
        }
        guard try await followSection() else { return false }
        let log = state.generation == 0 ? nil : try await replica.log(from: state.place, of: state.generation)
        guard let log, state.intent.map({ $0.generation == UInt64(state.generation) }) ?? true else { return try await replace() }
        status.newest = Replica.Position(generation: UInt64(state.generation), commit: log.commit)
        guard log.commit >= max(state.intent?.commit ?? 0, state.place.commits) else {
            throw DatabaseError.rolledBackReplica("it lacks the last commits that are here")
        }
        let least = max(state.intent?.commit ?? 0, state.place.commits)
        var last = log.commit, size = 0
        for part in log.parts where part.entry.commits > least {
            size += part.entry.size
            if size > 32 << 20 {
                last = part.entry.commits
                break
            }
        }
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: log.pageSize)
        let place = try await replica.readLog(
            log.parts, of: state.generation, pageSize: log.pageSize, from: state.place, upTo: last
        ) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, state.generation, place, replica.held)
        isBehind = last < log.commit
        note()
        return isBehind
    }

    /// Writes all pages of the newest state over the copy, in one transaction.
    /// - Returns: false if that is the state that the copy has.
    private func replace() async throws -> Bool {
        let plan = try await replica.plan(for: .newest)
        status.newest = plan.position
        // A generation that is not complete yet is waited for.
        if plan.position <= state.position, state.intent == nil { return false }
        guard plan.position >= max(state.position, state.intent ?? state.position) else {
            throw DatabaseError.rolledBackReplica("it lacks the last commits that are here")
        }
        try await requirePages(of: plan.pageSize)
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: plan.pageSize)
        spool.pageCount = plan.snapshot.pages
        try await replica.readSnapshot(plan.snapshot) { page, bytes in try spool.add(page, bytes) }
        let place = try await replica.readLog(
            plan.log, of: plan.generation, pageSize: plan.pageSize, from: plan.start, upTo: plan.commit
        ) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, plan.generation, place, replica.held(by: plan))
        isBehind = false
        note()
        return false
    }

    private func write(
        _ spool: PageSpool, _ generation: UInt32, _ place: ReplicaReader.Place, _ held: FollowerState.Held
    ) async throws {
        // Whether the transaction is committed is known only afterwards.
        state.intent = Replica.Position(generation: UInt64(generation), commit: place.commits)
        // From now on the copy may have what was seen, and follows nothing else.
        state.held = held
        try state.write(for: path)
        if spool.pageCount > 0 {
            let box = Box(spool: spool)
            try await database.write { db in try box.spool.replay(into: db) }
        }
        state = FollowerState(generation: generation, place: place, held: held)
        try state.write(for: path)
        status.position = state.position
    }

    private struct Box: @unchecked Sendable {
        // Sendable: the one call that it is made for ends before the spool is used again.
        let spool: PageSpool
    }

    private func note() {
        status.newest = max(status.newest, state.position)
        let time = replica.tail.latest?.time ?? replica.contents.latest
        status.storedAt = Date(timeIntervalSince1970: Double(time) / 1000)
    }
}

import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Keeps a copy of an encrypted database in a store, up to date within a second, and never decrypted.
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: key)
/// let replica = try await Replica(following: pool, in: FolderStore("/backup/notes"))
/// try await pool.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// try await replica.waitUntilStored()
/// ```
/// The replica reads committed pages from the database's write-ahead log, encrypted as they are there, and stores them as sealed
/// objects. It sees the commits of all processes, and keeps each of them from overwriting what it has not read yet. It also decides
/// when the log starts from the beginning. See <doc:Replication> for the format, and for what is lost when.
///
/// There can be one writer for each store. When a second one begins, the first ends with
/// ``DatabaseError/Reason/replicaFenced``. On a store that cannot keep two writers apart, a replica ends with
/// ``DatabaseError/Reason/storeUnsupported``.
public actor Replica {
    let store: CheckedStore
    let options: Options
    private let location: DatabaseLocation
    let encryption: Encryption
    private let pool: DatabasePool?

    var source: ReplicaSource?
    /// The head in the store, as far as is known, with its version.
    var head = ReplicaHead()
    var version: String?
    /// The content of the section, with changes that the store's head may not have yet.
    var contents = ReplicaContents()
    /// The identity of the term, and where those before it have ended.
    var term: [UInt8] = []
    var ancestry: [ChainPlace] = []
    /// All terms that are known to have begun before another writer could, its own included.
    var formerTerms: Set<[UInt8]> = []
    /// The first generation whose states come after all of that, and whether the store has gone back before it.
    var firstGeneration: UInt32 = 0, isHealing = false
    /// Whether the term has begun a history where there is another one, and with it a generation.
    var beginsHistory = false
    var names = ReplicaNames([])
    var clock: ChainClock
    var isClaimed = false
    /// Whether `contents` or `head` has changed since the head was stored.
    var isChanged = false
    /// A head and a link whose storing has begun.
    var pending: PendingHead?
    var pendingLink: PendingLink?
    /// What the next head names, and a store that has gone back since it was stored lacks.
    var unproven: [UnprovenObject] = []
    /// Blocks that were read and are not stored yet.
    var queue: [SealedBlock] = []
    /// Blocks that are in links of their own, to be stored as one object as well.
    var tail: [SealedBlock] = []
    /// The number of the last snapshot or page of the term.
    var counter: UInt64 = 0
    /// What this replica had stored when the store went back, and the least number of the next generation.
    var ownPlace: ChainPlace?
    var least: UInt32 = 0
    /// How often something else was found in the store than what was stored, one time after the other.
    var sightings = 0
    /// Whether the database's file was replaced, and has to be opened again.
    var isReplaced = false
    var needsGeneration = true
    var snapshot: SnapshotRun?
    /// When the log could last not be made to start from the beginning.
    var failedRestart: ContinuousClock.Instant?
    /// The bytes of the log that the last step has stored.
    var shippedSize = 0
    /// When the log was last looked at, and how many bytes a second it grew before.
    var lookedAt: ContinuousClock.Instant?, rate = 0.0
    /// The number of requests that may be made at once, and when that was counted.
    var credit = 8.0, creditedAt: ContinuousClock.Instant?
    /// Those that were counted already, with a link.
    var prepaid = 0.0

    var lastSweep: ContinuousClock.Instant?
    /// Whether a head was stored in this turn: the store has not gone back.
    var isHeadProven = false
    /// Links that were joined.
    var removals: [Removal] = []
    /// When entries were last taken out of the index.
    var retiredAt: ContinuousClock.Instant?
    /// The oldest pages of the index, and those that the last walk has come through.
    var pages: [[UInt8]: [ReplicaIndex.Entry]] = [:], passedPages: [ReplicaIndex.PageEntry] = []
    /// Whether there may be objects of sections that were taken out of the head.
    var hasUnlistedSections = true, listedNothingSince: ContinuousClock.Instant?

    private var loop: Task<Void, Never>?
    private var watch: Task<Void, Never>?
    private var nap: Task<Void, Never>?
    private var waiters: [Waiter] = []
    private var endWaiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var nextWaiter = 0
    private var isStopping = false
    /// Whether the pool leaves the size of the log to the replica.
    private var holdsLog = false
    private var status = Status()

    struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Position, any Error>
        /// Whether a look at the log has begun since the call.
        var isServed = false
    }

    /// Starts to replicate the database of a pool.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database; ``DatabaseError/Reason/misuse`` for one without a
    ///   write-ahead log; ``DatabaseError/Reason/invalidArgument`` for options out of range; and any error of opening the database.
    ///   A store that cannot be reached is no error: see ``currentStatus``.
    public init(following pool: DatabasePool, in store: any ReplicaStore, options: Options = Options()) async throws {
        let (location, key) = try await BlockingExecutor.run { try pool.replicationSource() }
        try self.init(location, key, pool, store, options)
        try await start()
    }

    /// Starts to replicate a database that this or another process uses.
    /// - Throws: as ``init(following:in:options:)``.
    public init(
        of location: DatabaseLocation, key: Encryption, in store: any ReplicaStore, options: Options = Options()
    ) async throws {
        try self.init(location, key, nil, store, options)
        try await start()
    }

    private init(
        _ location: DatabaseLocation, _ key: Encryption, _ pool: DatabasePool?, _ store: any ReplicaStore, _ options: Options
    ) throws {
        guard (1 << 16...1 << 28).contains(options.objectSize), options.logSize > 0, options.largestLog > 0 else {
            throw DatabaseError.invalidArgument("an object of a replica has from 64 KiB to 256 MiB, and a log more than 0 bytes")
        }
        (self.location, encryption, self.pool, self.options) = (location, key, pool, options.bounded)
        self.store = CheckedStore(store)
        clock = ChainClock(retention: options.bounded.retention)
    }

    private func start() async throws {
        let (location, key, keepsLog) = (location, encryption, options.keepsLog)
        let box = try await BlockingExecutor.run { Box(value: try ReplicaSource(location, key, keepsLog: keepsLog)) }
        source = box.value
        do { try source?.start() } catch {
            source?.close()
            throw error
        }
        followHold()
        watchLog()
        loop = Task(executorPreference: BlockingExecutor.shared) { [weak self] in
            while let self, await self.turn() { await self.rest() }
        }
    }

    /// Looks for checkpoints of other programs from now on.
    func watchLog() {
        watch?.cancel()
        guard let holds = source?.holds else { return }
        let patience = options.patience
        watch = Task(executorPreference: BlockingExecutor.shared) { [weak self] in
            await holds.watch(patience: patience) { [weak self] in await self?.letCheckpointGoOn() }
        }
    }

    /// The pool leaves the size of the log to this replica as long as that holds it.
    func followHold() {
        let isHeld = source?.holds.isHolding ?? false
        if isHeld, !holdsLog { pool?.holdLog() }
        if !isHeld, holdsLog { pool?.releaseLog() }
        holdsLog = isHeld
    }

    func openSource() throws -> ReplicaSource { try ReplicaSource(location, encryption, keepsLog: options.keepsLog) }

    private struct Box: @unchecked Sendable {
        // Sendable: the value is made in one place and then used by the actor alone.
        let value: ReplicaSource
    }

    deinit {
        loop?.cancel()
        watch?.cancel()
        if holdsLog { pool?.releaseLog() }
    }

    /// What the replica is doing.
    public var currentStatus: Status { status }

    /// Waits until all commits so far are in the store and can be restored from there. For the first time that takes a snapshot.
    /// - Parameter timeout: how long to wait. Default: nil, no limit.
    /// - Returns: the state that is in the store.
    /// - Throws: ``DatabaseError/Reason/timeout``, with the last error of the store as the underlying one;
    ///   ``DatabaseError/Reason/replicaFenced``; ``DatabaseError/Reason/storeUnsupported``; ``DatabaseError/Reason/closed`` after
    ///   ``stop()``; `CancellationError`.
    @discardableResult
    public func waitUntilStored(timeout: Duration? = nil) async throws -> Position {
        if status.isEnded || isStopping { throw endError }
        try Task.checkCancellation()
        nextWaiter += 1
        let number = nextWaiter
        let alarm = timeout.map { timeout in
            Task { [weak self] in
                try await Task.sleep(for: timeout.bounded)
                await self?.endWait(number) { status in
                    DatabaseError(
                        code: .busy, reason: .timeout, message: "the commits were not stored in time", underlying: status.error)
                }
            }
        }
        defer { alarm?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiters.append(Waiter(number: number, continuation: continuation))
                nap?.cancel()
            }
        } onCancel: {
            Task { await self.endWait(number) { _ in CancellationError() } }
        }
    }

    private func endWait(_ number: Int, _ error: (Status) -> any Error) {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
        waiters.remove(at: index).continuation.resume(throwing: error(status))
    }

    /// Stores what was committed so far, if the store can be reached, and ends. The database's log is then free again. Each call
    /// returns when the replica has ended.
    public func stop() async {
        isStopping = true
        nap?.cancel()
        await loop?.value
        // The pool's writer closes last. If it is busy for long, the next replica begins with a snapshot.
        if options.keepsLog { try? await pool?.write(timeout: .seconds(5)) { db in try db.keepLogOnClose() } }
    }

    /// Waits until the replica has ended. A server that learns in this way that another writer has taken over the store can stop:
    /// what it commits is no longer stored.
    ///
    /// The replica notices another writer when it next stores something. Temporary errors of the store do not end it. A call that
    /// is cancelled throws `CancellationError`, and the replica goes on.
    /// - Throws: ``DatabaseError/Reason/replicaFenced`` if another writer has taken over, and
    ///   ``DatabaseError/Reason/storeUnsupported``. After ``stop()`` the call returns.
    public func waitUntilEnded() async throws {
        if !status.isEnded {
            nextWaiter += 1
            let number = nextWaiter
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { endWaiters[number] = $0 }
            } onCancel: {
                Task { await self.cancelEndWait(number) }
            }
        }
        if let finalError { throw finalError }
    }

    private func cancelEndWait(_ number: Int) {
        endWaiters.removeValue(forKey: number)?.resume(throwing: CancellationError())
    }

    // MARK: The loop

    /// - Returns: whether there will be another turn.
    private func turn() async -> Bool {
        let isLast = isStopping
        do {
            try reopen()
            try await step()
            status.error = nil
        } catch {
            status.error = DatabaseError(thrownBy: "the replica", error)
            if finalError != nil { return end() }
            do { try letGoOfLargeLog() } catch { needsGeneration = true }
        }
        if Task.isCancelled || isLast { return end() }
        return true
    }

    private func end() -> Bool {
        watch?.cancel()
        try? remember(isDurable: true)
        source?.close()
        source = nil
        followHold()
        status.isEnded = true
        let error = endError
        for waiter in waiters { waiter.continuation.resume(throwing: error) }
        waiters = []
        for waiter in endWaiters.values { waiter.resume() }
        endWaiters = [:]
        return false
    }

    /// The error after which no later attempt can succeed.
    private var finalError: DatabaseError? {
        let reasons: [DatabaseError.Reason] = [.storeUnsupported, .replicaFenced, .replicaForked]
        return status.error.flatMap { reasons.contains($0.reason) ? $0 : nil }
    }

    private var endError: DatabaseError {
        if let finalError { return finalError }
        return DatabaseError(code: .misuse, reason: .closed, message: "the replica was stopped", underlying: status.error)
    }

    private func rest() async {
        if isStopping || waiters.contains(where: { !$0.isServed }) && status.error == nil { return }
        // While a snapshot is being stored there is always something to do.
        if status.error == nil, let snapshot, !snapshot.isRead { return }
        var interval = status.error == nil ? options.interval : max(options.interval, .milliseconds(100))
        // So that the log does not become larger than it should.
        if let source, status.error == nil, failedRestart == nil, rate > 0 {
            let room = Double(max(0, options.logSize - source.readSize))
            interval = min(interval, max(.milliseconds(10), .seconds(room / rate)))
        }
        let nap = Task { _ = try? await Task.sleep(for: interval) }
        self.nap = nap
        await nap.value
    }

    /// Whether something is to be stored at once.
    var isWanted: Bool { isStopping || !waiters.isEmpty }

    /// Marks the calls that wait: the look at the log that begins now includes their commits.
    func serveWaiters() {
        for index in waiters.indices { waiters[index].isServed = true }
    }

    /// Called when everything that was in the log at the last look is in the store.
    func isUpToDate() {
        status.upToDateAt = options.now()
        // Callers that have waited find no former error.
        status.error = nil
        guard contents.snapshot != nil else { return }
        let position = Position(generation: UInt64(contents.generation), commit: contents.commits)
        status.stored = position
        waiters.removeAll { waiter in
            guard waiter.isServed else { return false }
            waiter.continuation.resume(returning: position)
            return true
        }
    }

    func count(_ path: WritableKeyPath<Status, Int>, _ number: Int) { status[keyPath: path] += number }
}

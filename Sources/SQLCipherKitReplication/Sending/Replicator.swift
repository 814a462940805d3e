import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles

/// Keeps a copy of an encrypted database in a store, up to date within seconds, and never decrypted.
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: key)
/// let replica = try await Replicator(of: pool, in: FolderStore("/backup/notes"))
/// try await pool.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// try await replica.waitUntilStored()
/// ```
/// The replica reads committed pages from the database's write-ahead log, still encrypted, and stores them as sealed objects. It
/// sees the commits of all processes, and keeps each process from overwriting pages of the log that the replica has not read yet.
/// It also decides when the log starts from the beginning. See <doc:ReplicationFormat> for the format, and <doc:ReplicationFaults>
/// for losses.
///
/// A store can have one writer. When a second writer begins, the first ends with ``DatabaseError/Reason/replicaFenced``. On a store
/// that cannot keep two writers apart, a replica ends with ``DatabaseError/Reason/storeUnsupported``.
public actor Replicator {
    private let store: CheckedStore
    private let options: Options
    private let location: DatabaseLocation
    /// Nil once it has ended, so that no key stays in memory.
    private var encryption: DatabaseKey?
    private let pool: DatabasePool?

    private var loop: Task<Void, Never>?
    private var watch: Task<Void, Never>?
    private var nap: Task<Void, Never>?
    private var waiters: [Waiter] = []
    private var endWaiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var nextWaiter = 0
    private var isStopping = false
    private var status = Status()

    // MARK: The database

    private var source: ReplicaSource?
    /// True if the pool leaves the size of the log to the replica.
    private var holdsLog = false
    /// True if the database's file was replaced, and has to be opened again.
    private var isReplaced = false
    /// When the log could last not be made to start from the beginning.
    private var failedRestart: ContinuousClock.Instant?
    /// The bytes of the log that the last step has stored.
    private var shippedSize = 0
    /// When the log was last looked at, and how many bytes a second it grew before.
    private var lookedAt: ContinuousClock.Instant?, rate = 0.0

    // MARK: The term

    /// The identity of the term, and the ends of the earlier terms.
    private var term: [UInt8] = []
    private var ancestry: [ChainPlace] = []
    /// All terms that are known to have begun before another writer could begin a term, including this replica's term.
    private var formerTerms: Set<[UInt8]> = []
    /// The first generation whose states come after these terms, and whether the store has returned to a state before that
    /// generation.
    private var firstGeneration: UInt32 = 0, isHealing = false
    /// True if the term has begun a history, and a generation, in a store with another history.
    private var beginsHistory = false
    private var names = ReplicaNames([])
    private var clock: ChainClock
    private var isClaimed = false
    /// The number of the last snapshot or page of the term.
    private var counter: UInt64 = 0
    /// This replica's last stored place when the store returned to an older state, and the least number of the next generation.
    private var ownPlace: ChainPlace?
    private var least: UInt32 = 0
    /// The number of consecutive times that the store had other content than this replica stored.
    private var sightings = 0

    // MARK: What is stored

    /// The head in the store, as far as is known, with its version.
    private var head = ReplicaHead()
    private var version: String?
    /// The content of the section, with changes that the store's head may not have yet.
    private var contents = ReplicaContents()
    /// True if `contents` or `head` has changed since the head was stored.
    private var isChanged = false
    /// True if a head was stored in this turn, which proves that the store has not returned to an older state.
    private var isHeadProven = false
    /// A head and a link whose storing has begun.
    private var pending: PendingHead?
    private var pendingLink: PendingLink?
    /// The objects that the next head names. A store that has returned to an older state lacks them.
    private var unproven: [UnprovenObject] = []
    /// The links since the head, from the first link that is not proven to have existed when the next link was stored.
    private var links: [UnprovenObject] = []
    /// True if the head is not proven in this way; true if the last object was stored after the last look at the log.
    private var isHeadUnproven = false, isLastNew = false
    /// Blocks that were read and are not stored yet.
    private var queue: [SealedBlock] = []
    /// Blocks that are in links of their own, to be stored as one object as well.
    private var tail: [SealedBlock] = []
    private var needsGeneration = true
    private var snapshot: SnapshotRun?
    private var budget: RequestBudget
    private let upkeep: ReplicaUpkeep

    private struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Position, any Error>
        /// True if a look at the log has begun since the call.
        var isServed = false
    }

    /// Starts to replicate the database of a pool.
    /// - Parameters:
    ///   - pool: the pool, with an encrypted database in write-ahead logging mode.
    ///   - store: the place for the replica.
    ///   - options: the intervals, the retention and the limits.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database; ``DatabaseError/Reason/misuse`` for a database
    ///   without a write-ahead log; ``DatabaseError/Reason/invalidArgument`` for options out of range; and any error of opening the
    ///   database. An unreachable store is not an error: see ``currentStatus``.
    public init(of pool: DatabasePool, in store: any ObjectStore, options: Options = Options()) async throws {
        let (location, key) = try await BlockingExecutor.run { try pool.replicationSource() }
        try self.init(location, key, pool, store, options)
        try await start()
    }

    /// Starts to replicate a database that this or another process uses.
    /// - Parameters:
    ///   - location: the file of the database.
    ///   - key: the database's key.
    ///   - store: the place for the replica.
    ///   - options: the intervals, the retention and the limits.
    /// - Throws: the errors of ``init(of:in:options:)``.
    public init(
        of location: DatabaseLocation, key: DatabaseKey, in store: any ObjectStore, options: Options = Options()
    ) async throws {
        try self.init(location, key, nil, store, options)
        try await start()
    }

    private init(
        _ location: DatabaseLocation, _ key: DatabaseKey, _ pool: DatabasePool?, _ store: any ObjectStore, _ options: Options
    ) throws {
        guard (1 << 16...1 << 28).contains(options.objectSize), options.checkpointSize > 0, options.maximumWALSize > 0 else {
            throw DatabaseError.invalidArgument("objectSize is 64 KiB to 256 MiB; checkpointSize and maximumWALSize are above 0")
        }
        (self.location, encryption, self.pool, self.options) = (location, key, pool, options.bounded)
        self.store = CheckedStore(store)
        clock = ChainClock(retention: options.bounded.retention)
        budget = RequestBudget(fanOut: options.fanOut)
        upkeep = ReplicaUpkeep(self.store, options.bounded)
    }

    private func start() async throws {
        let (location, key, keepsLog) = (location, try key, options.persistsWAL)
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
    private func watchLog() {
        watch?.cancel()
        guard let holds = source?.holds else { return }
        let patience = options.patience
        watch = Task(executorPreference: BlockingExecutor.shared) { [weak self] in
            await holds.watch(patience: patience) { [weak self] in await self?.letCheckpointGoOn() }
        }
    }

    /// Lets the pool leave the size of the log to this replica while the replica holds the log.
    private func followHold() {
        let isHeld = source?.holds.isHolding ?? false
        if isHeld, !holdsLog { pool?.holdLog() }
        if !isHeld, holdsLog { pool?.releaseLog() }
        holdsLog = isHeld
    }

    private var key: DatabaseKey {
        get throws {
            guard let encryption else { throw endError }
            return encryption
        }
    }

    private func openSource() throws -> ReplicaSource { try ReplicaSource(location, key, keepsLog: options.persistsWAL) }

    private struct Box: @unchecked Sendable {
        // Sendable: the value is made in one place and then used by the actor alone.
        let value: ReplicaSource
    }

    deinit {
        loop?.cancel()
        watch?.cancel()
        if holdsLog { pool?.releaseLog() }
    }

    /// The state of the replica.
    public var currentStatus: Status { status }

    /// Waits until all commits so far are in the store and can be restored from there. The first call of a new replica waits for a
    /// snapshot.
    ///
    /// A store that was restored from a backup of itself lacks the objects that this replica has stored since then. The call
    /// notices that, and waits until a snapshot has replaced the missing objects. For this test, the call makes a second request
    /// for each object of the log.
    /// - Parameter timeout: how long to wait. Default: nil, no limit.
    /// - Returns: the state that is in the store.
    /// - Throws: ``DatabaseError/Reason/timeout``, with the last error of the store as the underlying error;
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

    /// Stores the commits so far, if the store can be reached, and ends. The replica then no longer holds the database's log, and
    /// has no key in memory. Each call returns when the replica has ended.
    ///
    /// The call waits for a store that does not answer. If the task is cancelled, before or during the call, the store's calls are
    /// cancelled, and what is not stored yet is left for the next replica of the database.
    public func stop() async {
        isStopping = true
        nap?.cancel()
        let loop = loop
        await withTaskCancellationHandler { await loop?.value } onCancel: { loop?.cancel() }
        // The pool's writer closes last. If it is busy for long, the next replica begins with a snapshot.
        guard options.persistsWAL, let pool else { return }
        // In a separate task, because the task that stops the replica may be cancelled.
        _ = await Task { try? await pool.write(timeout: .seconds(5)) { db in try db.keepLogOnClose() } }.value
    }

    /// Waits until the replica has ended. A server that learns in this way that another writer has taken over the store can stop:
    /// its later commits are not stored.
    ///
    /// The replica notices another writer when it next stores an object. Temporary errors of the store do not end the replica. A
    /// cancelled call throws `CancellationError`, and the replica continues.
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
        try? remember()
        source?.close()
        (source, encryption) = (nil, nil)
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
        // This keeps the log from exceeding its limit.
        if let source, status.error == nil, failedRestart == nil, rate > 0 {
            let room = Double(max(0, options.checkpointSize - source.readSize))
            interval = min(interval, max(.milliseconds(10), .seconds(room / rate)))
        }
        let nap = Task { _ = try? await Task.sleep(for: interval) }
        self.nap = nap
        await nap.value
    }

    /// True if something is to be stored at once.
    private var isWanted: Bool { isStopping || !waiters.isEmpty }

    /// Marks the calls that wait: the look at the log that begins now includes their commits.
    private func serveWaiters() {
        isLastNew = false
        for index in waiters.indices { waiters[index].isServed = true }
    }

    /// Called when everything that was in the log at the last look is in the store.
    private func isUpToDate() {
        status.upToDateAt = options.now()
        // After the wait, callers do not see a former error.
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

    private func count(_ path: WritableKeyPath<Status, Int>, _ number: Int) { status[keyPath: path] += number }
}

// MARK: Shipping

/// A turn: looks at the log, stores new commits, then continues a snapshot and the upkeep.
extension Replicator {
    /// A block that was read from the log and sealed.
    private struct SealedBlock {
        let block: ReplicaBlock
        let bytes: [UInt8]
        let mark: LogMark

        var tag: [UInt8] { Array(bytes.suffix(ReplicaKey.tagCount)) }
    }

    private func step() async throws {
        guard source != nil else { return }
        try requireSameFile()
        if !isClaimed { try await claim() }
        (shippedSize, isHeadProven, isLastNew) = (0, false, false)
        try await finishPendingLink()
        try await finishPendingHead()
        guard mayStore else { return }
        let look = ContinuousClock.now, sinceLastLook = look - (lookedAt ?? look)
        lookedAt = look
        do {
            if needsGeneration { try await beginGeneration() }
            try await ship()
            rate = sinceLastLook > .zero ? Double(shippedSize) / (sinceLastLook / .seconds(1)) : 0
            try await continueSnapshot()
            try await restartLargeLog()
        } catch is ReplicaSource.Gap {
            // The frames read so far are stored: they continue the generation. Later frames are lost as separate commits.
            needsGeneration = true
            source?.release()
            throw DatabaseError(
                code: .busy, reason: .snapshotLost,
                message: "another program restarted the database's log in spite of its locks")
        }
        try await maintain()
    }

    /// True if it is time to store new commits. The number of requests is limited in the long run, unless a caller waits, or so
    /// much is new that objects are large.
    private var mayStore: Bool {
        let hasRequest = budget.allowsRequest(every: options.interval * 2)
        let sinceLook = lookedAt.map { (.now - $0) / .seconds(1) } ?? 0
        return hasRequest || isWanted || snapshot != nil || needsGeneration || rate * sinceLook > Double(options.objectSize / 8)
    }

    /// Stores an object of the chain or the index, or the head.
    /// - Returns: its version; nil if the condition does not hold.
    private func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        count(\.puts, 1)
        budget.payForRequest()
        return try await store.put(name, bytes, if: condition)
    }

    /// Begins with a snapshot, because the log in the store cannot be continued.
    private func beginGeneration() async throws {
        guard let source else { return }
        // Not while the store cannot be reached: each attempt would begin another generation.
        if tail.isEmpty { _ = try await store.get(ReplicaHead.name) }
        try await joinTail()
        try source.start()
        followHold()
        queue = []
        if !beginsHistory { contents.generation = try HeldPlace.generation(after: max(least, contents.generation)) }
        beginsHistory = false
        (contents.frames, contents.commits, contents.snapshot, contents.logged) = (0, 0, nil, 0)
        (contents.pageSize, contents.mark, contents.latest) = (source.pageSize, source.position, options.time)
        // A snapshot has pages that no link has. So the generation itself is a link: a state with that link is at another place.
        var block = ReplicaBlock(
            kind: .log, generation: contents.generation, first: 0, pageSize: source.pageSize, predecessor: contents.place.tag,
            time: options.time, age: clock.age, commits: 0)
        source.position.append(to: &block.record)
        let sealed = SealedBlock(block: block, bytes: try block.sealed(with: source.key), mark: source.position)
        pendingLink = PendingLink(bytes: sealed.bytes, block: sealed, isJoined: false)
        needsGeneration = false
        try beginSnapshot(after: sealed.tag)
        try await finishPendingLink()
        // If this process ends, the next writer removes the objects that the head names.
        try await storeHead()
    }

    /// Stores everything up to the log's present end.
    private func ship() async throws {
        guard let source else { return }
        if source.target == nil {
            serveWaiters()
            snapshot?.beginLook()
            _ = try source.begin()
        }
        while true {
            // This happens before more links are stored, so that few links follow a head.
            if isChanged { try await storeHead() }
            if queue.isEmpty, !source.isAtTarget { try readBlock() }
            guard !queue.isEmpty else { break }
            try await storeBlock(queue.removeFirst())
        }
        // The log may have been given up in the meantime.
        if needsGeneration { return }
        if let snapshot, snapshot.willBeComplete {
            try await joinTail()
            complete(snapshot)
        }
        if isChanged { try await storeHead() }
        if needsGeneration { return }
        source.settle()
        if contents.snapshot != nil, waiters.contains(where: \.isServed) { try await proveLinks() }
        isUpToDate()
    }

    /// Reads a block from the log to the end of the queue.
    private func readBlock() throws {
        guard let source else { return }
        let before = queue.last ?? pendingLink?.block
        var block = ReplicaBlock(
            kind: .log, generation: contents.generation, first: before?.block.end ?? contents.frames, pageSize: source.pageSize,
            predecessor: before?.tag ?? contents.place.tag, time: options.time, age: clock.age,
            commits: before?.block.endCommits ?? contents.commits)
        // An object stays within its size together with the blocks that it may be joined with.
        let joined = (tail + queue).reduce(0) { $0 + $1.bytes.count }
        try source.read(into: &block, limit: max(options.objectSize / 2, options.objectSize - joined))
        guard !block.frames.isEmpty else { return }
        source.position.append(to: &block.record)
        let bytes = try block.sealed(with: source.key)
        block.pages = []
        queue.append(SealedBlock(block: block, bytes: bytes, mark: source.position))
    }

    // MARK: Links

    /// A link whose storing has begun. Whatever happens, the same bytes are stored under its number.
    private struct PendingLink {
        let bytes: [UInt8]
        /// The new block in the link.
        let block: SealedBlock?
        /// True if the link also has the kept blocks.
        let isJoined: Bool
    }

    /// The size from which blocks are joined. A restore reads the whole object that has the end of the state, and this should add
    /// little to the snapshot and the log before the object.
    private var joinedSize: Int {
        guard let snapshot = contents.snapshot else { return options.objectSize / 2 }
        return min(options.objectSize / 2, max(1 << 17, (snapshot.size + Int(clamping: contents.logged)) / 16))
    }

    /// Stores a block as the next link. If enough blocks were kept, the link has these blocks too.
    private func storeBlock(_ block: SealedBlock) async throws {
        let size = tail.reduce(block.bytes.count) { $0 + $1.bytes.count }
        let isJoined = tail.count + 1 >= options.fanOut || size >= joinedSize
        pendingLink = PendingLink(
            bytes: isJoined ? (tail + [block]).flatMap(\.bytes) : block.bytes, block: block, isJoined: isJoined)
        try await finishPendingLink()
    }

    /// Joins the kept blocks into one object, so that the index has all blocks.
    private func joinTail() async throws {
        guard !tail.isEmpty else { return }
        pendingLink = PendingLink(bytes: tail.flatMap(\.bytes), block: nil, isJoined: true)
        try await finishPendingLink()
    }

    private func finishPendingLink() async throws {
        guard let link = pendingLink else { return }
        let number = contents.place.link, name = names.link(number, of: term)
        budget.payForLink(isWanted: isWanted)
        // The process may end, or the power fail, before it knows that the link was stored. If the file cannot be written, storing
        // the head reports it.
        try? remember()
        if try await put(name, link.bytes, if: .isAbsent) == nil { try await judgeLink(name, link.bytes) }
        (pendingLink, sightings, isLastNew) = (nil, 0, true)
        let object = UnprovenObject(name, link.bytes, after: contents.place.tag)
        links.append(object)
        if link.isJoined {
            budget.payForHead(after: tail.count + 1, isWanted: isWanted)
            unproven.append(object)
        }
        contents.place.link += 1
        if let block = link.block { apply(block) }
        guard link.isJoined else {
            if let block = link.block { tail.append(block) }
            return
        }
        count(\.joinedBytes, tail.reduce(0) { $0 + $1.bytes.count })
        let blocks = tail + (link.block.map { [$0] } ?? [])
        upkeep.noteJoined(number - UInt64(tail.count)..<number)
        contents.index.append(
            .log(
                ReplicaIndex.LogEntry(
                    term: term, link: number, blocks: blocks.map { ($0.block, $0.tag) }, size: link.bytes.count)))
        (tail, isChanged) = ([], true)
    }

    private func apply(_ block: SealedBlock) {
        count(\.walBytes, block.bytes.count)
        count(\.pages, block.block.frames.count)
        shippedSize += block.bytes.count
        (contents.frames, contents.commits) = (block.block.end, block.block.endCommits)
        (contents.place.tag, contents.mark, contents.latest) = (block.tag, block.mark, block.block.time)
        contents.logged += UInt64(block.bytes.count)
    }

    /// Lets the database's log start from the beginning when it is large.
    private func restartLargeLog() async throws {
        guard let source, !needsGeneration, source.readSize >= options.checkpointSize else { return }
        if snapshot?.needsLog == true { return }
        if let failedRestart, .now - failedRestart < .seconds(1) { return }
        failedRestart = .now
        guard source.moveLog() else { return }
        // Commits made meanwhile are stored first, so that writers wait only for the little that is left.
        for _ in 0..<4 {
            let before = shippedSize
            try await ship()
            if shippedSize - before <= options.objectSize / 16 { break }
        }
        if needsGeneration { return }
        guard source.moveLog() else { return }
        let hasRestarted = try source.restartLog(largestFile: 4 * options.checkpointSize) {
            guard source.leftSize <= Self.largestRest else { return false }
            try readBlock()
            return source.isAtTarget
        }
        if hasRestarted { failedRestart = nil }
    }

    /// The most bytes that may be read while writers wait.
    private static let largestRest = 1 << 20

    /// Gives up the log when it has become too large while the store could not be reached.
    private func letGoOfLargeLog() throws {
        guard let source, source.holds.isHolding, try source.logSize() > options.maximumWALSize else { return }
        letGo()
    }

    /// Gives up the log: states of commits before the next snapshot cannot be restored.
    private func letGo() {
        source?.release()
        followHold()
        (queue, snapshot, needsGeneration) = ([], nil, true)
    }
}

// MARK: Snapshots

/// Storing snapshots.
extension Replicator {
    /// Begins a snapshot. Everything up to the source's position must have been read, and nothing may be queued.
    private func beginSnapshot(after tag: [UInt8]) throws {
        guard let source else { return }
        // The file may end earlier than the database, and so does a part then.
        let parts = 2 + Int(source.position.pages) / max(1, options.objectSize / source.pageSize)
        guard parts <= ReplicaIndex.mostObjects else {
            throw DatabaseError.invalidArgument(
                "a snapshot of \(source.position.pages) pages would have \(parts) objects, more than \(ReplicaIndex.mostObjects): "
                    + "increase Replicator.Options.objectSize")
        }
        let number = nextNumber()
        snapshot = try SnapshotRun(number, of: source, at: contents, after: tag)
        if contents.begun.number != 0 {
            // A snapshot that was given up.
            contents.index.append(
                .leftovers(
                    ReplicaIndex.LeftoversEntry(
                        term: term, links: 0..<0, snapshot: contents.begun.number, parts: contents.begun.parts, age: clock.age)))
        }
        contents.begun = (number, parts)
    }

    private func continueSnapshot() async throws {
        if snapshot == nil, isSnapshotDue {
            try beginSnapshot(after: contents.place.tag)
            try await storeHead()
        }
        var stored = 0
        while let source, let run = snapshot, !run.isRead, run.needsLog || stored < options.partsPerStep {
            let bytes = try snapshot?.nextPart(
                from: source, contents, upTo: options.objectSize, time: options.time, age: clock.age)
            guard let bytes else { continue }
            let name = run.name(names, of: term)
            guard try await store.put(name, bytes, if: .always) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, bytes))
            count(\.puts, 1)
            count(\.snapshotBytes, bytes.count)
            snapshot?.storedPart()
            stored += 1
        }
        if snapshot?.isRead == false { try await prove() }
    }

    private var isSnapshotDue: Bool {
        guard queue.isEmpty, source?.target == nil, !needsGeneration else { return false }
        guard let last = contents.snapshot else { return true }
        guard contents.commits > last.commits else { return false }
        // Asked once: it grows between two questions, and past the snapshot's own.
        let age = clock.age
        return contents.logged > max(UInt64(last.size), UInt64(4 * options.objectSize))
            || age - min(age, last.age) > UInt64(max(0, options.snapshotInterval.milliseconds))
    }

    /// Adds the snapshot to the index, when the log has all changes that were made while the snapshot was read.
    private func complete(_ run: SnapshotRun) {
        let age = clock.age, entry = run.entry(contents, of: term, time: options.time, age: age)
        contents.index.append(.snapshot(entry))
        (contents.snapshot, contents.logged, contents.begun) = ((contents.commits, entry.size, age), 0, (0, 0))
        (snapshot, isChanged) = (nil, true)
    }
}

// MARK: The head

/// Replacing the head, and deciding what to do if the store has another head.
extension Replicator {
    private struct PendingHead {
        let bytes: [UInt8]
        let head: ReplicaHead

        init(_ head: ReplicaHead) { (bytes, self.head) = (head.bytes, head) }
    }

    /// Replaces the head. If that fails, the next call stores the same bytes again: it may have succeeded.
    private func storeHead() async throws {
        guard let source else { return }
        try await finishPendingHead()
        try await joinTail()
        var listed = contents
        try await storePages(&listed)
        (contents.index, isChanged) = (listed.index, true)
        try await prove()
        (contents.age, contents.believed, contents.counter) = (clock.age, clock.believed, counter)
        var next = head
        try next.sections[next.sections.count - 1].seal(contents, with: source.key)
        isChanged = false
        pending = PendingHead(next)
        try await finishPendingHead()
    }

    private func finishPendingHead() async throws {
        guard let pending, let version else { return }
        count(\.headBytes, pending.bytes.count)
        if let new = try await put(ReplicaHead.name, pending.bytes, if: .isVersion(version)) {
            self.version = new
        } else {
            let present = try await store.get(ReplicaHead.name)
            guard let present, present.bytes == pending.bytes else { return try await judge(present, pending) }
            self.version = present.version
        }
        let isNew = head.sections != pending.head.sections
        (head, self.pending, sightings, isHeadProven) = (pending.head, nil, 0, true)
        guard isNew else { return }
        // The head covers all links before it.
        (links, isHeadUnproven, isLastNew) = ([], true, true)
        try remember()
    }

    // MARK: Objects that the head is to name

    /// An object that was stored.
    private struct UnprovenObject {
        let name: String
        /// The tag at the object's end, and the tag of the previous object.
        let tag: [UInt8], predecessor: [UInt8]
        /// True if another object may have been stored in its place.
        var isDoubtful = false

        init(_ name: String, _ bytes: [UInt8], after predecessor: [UInt8] = ChainPlace.none.tag) {
            (self.name, tag, self.predecessor) = (name, Array(bytes.suffix(ReplicaKey.tagCount)), predecessor)
        }
    }

    /// Makes sure that the store has the objects that the next head names.
    ///
    /// A store that was restored from a copy of itself may have the known version of the head, and lack the objects stored later.
    /// So the head gets another version first. An object that exists after that existed at that time, because no other writer
    /// stores it. So every state of the store with the new version has the object. Reads may be old, so they do not prove that an
    /// object exists: the store must refuse to store another object in its place.
    private func prove() async throws {
        guard !unproven.isEmpty else { return }
        try await markHead()
        while let object = unproven.first {
            // The object is doubtful until there is an answer.
            unproven[0].isDoubtful = true
            try await require(object)
            unproven.removeFirst()
        }
    }

    /// Makes sure that the store has all acknowledged commits: the head, and each link since.
    ///
    /// A store that was restored from a copy of itself has all objects up to the time of the copy, and no object that was stored
    /// between the copy and the restore. So if an object exists after the next object was stored, no object is missing before that
    /// next object. If the last object exists, no object is missing.
    private func proveLinks() async throws {
        if isHeadUnproven, !(links.isEmpty && isLastNew) {
            try await markHead()
            (isHeadUnproven, isLastNew) = (links.isEmpty, isLastNew || links.isEmpty)
        }
        while let link = links.first, links.count > 1 || !isLastNew {
            links[0].isDoubtful = true
            try await require(link)
            if links.count > 1 { links.removeFirst() } else { (links[0].isDoubtful, isLastNew) = (false, true) }
        }
    }

    /// Gives the head another version, if the store still has the head that this replica stored.
    private func markHead() async throws {
        try await finishPendingHead()
        pending = PendingHead(try head.marked())
        try await finishPendingHead()
    }

    /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` if the store lacks an object that was stored.
    private func require(_ object: UnprovenObject) async throws {
        if try await isThere(object) { return }
        giveUpTerm()
        throw DatabaseError.rolledBackReplica("it lacks \(object.name). This replica stores a snapshot next")
    }

    /// Returns whether the store has an object. A missing object is replaced by a closing, which no reader uses. If the answer to
    /// that request was lost, the object is read, and replaced by itself to prove that the read version is the present version.
    private func isThere(_ object: UnprovenObject) async throws -> Bool {
        guard let key = source?.key else { return true }
        let name = object.name, late = DatabaseError.unavailableStore("the store is not up to date: \(name) is missing")
        guard object.isDoubtful else {
            return try await put(name, try closing(after: object.predecessor, with: key), if: .isAbsent) == nil
        }
        guard let present = try await store.get(name) else { throw late }
        guard present.bytes.suffix(ReplicaKey.tagCount).elementsEqual(object.tag) else { return false }
        if try await put(name, present.bytes, if: .isVersion(present.version)) == nil { throw late }
        return true
    }

    private func closing(after tag: [UInt8], with key: ReplicaKey) throws -> [UInt8] {
        let block = ReplicaBlock(
            kind: .closing, generation: 0, first: 0, pageSize: 4096, predecessor: tag, time: options.time, age: 0, commits: 0)
        return try block.sealed(with: key)
    }

    /// Decides what to do if the store has another head than the head that this replica stored.
    private func judge(_ present: StoredObject?, _ pending: PendingHead) async throws {
        guard let source else { return }
        guard let present else { return try sawFormerState("the head is missing") }
        let other = try ReplicaHead(present.bytes)
        guard let last = other.sections.last else { return try sawFormerState("the head has no section") }
        guard let wanted = pending.head.sections.last else { throw DatabaseError.fencedReplica }
        if last == wanted || last == head.sections.last, other.sections.count < pending.head.sections.count {
            // Former sections were removed, before the pending head was stored, or after.
            (head, version) = (other, present.version)
            var next = try other.marked()
            next.sections[next.sections.count - 1] = wanted
            self.pending = PendingHead(next)
            upkeep.noteRemovedSections()
            return try await finishPendingHead()
        }
        guard last.salt == source.key.salt, let shown = try last.contents(with: source.key) else {
            if contents.formers.contains(last.id) { return try sawFormerState("it shows the state before the key was changed") }
            throw DatabaseError.fencedReplica
        }
        // An earlier head of this term, or a head of an earlier term.
        guard formerTerms.contains(shown.place.term) else { throw DatabaseError.fencedReplica }
        try sawFormerState("it shows an earlier head than this replica stored")
    }

    /// The store shows an earlier state. An eventually consistent store soon shows the present state. A store that was restored
    /// from a backup lacks the later objects: this replica stores their content again, in a new term and with a snapshot.
    private func sawFormerState(_ what: String) throws {
        sightings += 1
        guard sightings >= 3 else { throw DatabaseError.unavailableStore("the store is not up to date: \(what)") }
        giveUpTerm()
        throw DatabaseError.rolledBackReplica("\(what). This replica stores a snapshot next")
    }

    /// Gives up the term. The next term continues from the last place of this term, even if the store lacks it.
    private func giveUpTerm() {
        (ownPlace, sightings, isClaimed, pending) = (contents.place, 0, false, nil)
        least = max(least, contents.generation)
        source?.release()
        (queue, tail, pendingLink, unproven, links, snapshot, needsGeneration) = ([], [], nil, [], [], nil, true)
    }

    /// Decides what to do if the store already has a link with the next number.
    private func judgeLink(_ name: String, _ bytes: [UInt8]) async throws {
        guard let key = source?.key else { return }
        guard let present = try await store.get(name) else {
            throw DatabaseError.unavailableStore("the object \(name) can be neither stored nor read")
        }
        // An earlier attempt stored the link, although the request failed.
        if present.bytes == bytes { return }
        if (try? ReplicaBlock.openAll(present.bytes, with: key)) != nil { throw DatabaseError.fencedReplica }
        sightings += 1
        guard sightings >= 3 else { throw DatabaseError.damagedReplica("this replica did not store the object \(name)") }
        giveUpTerm()
        throw DatabaseError.damagedReplica("another program stored the object \(name): this replica continues without it")
    }
}

// MARK: The claim

/// Beginning a term, after which no other writer can store an object in the former term.
extension Replicator {
    /// The section with the database's key in the store, and the end of its chain.
    private struct Former {
        var contents: ReplicaContents
        var tail: ReplicaTail
        var opening: TermOpening
        /// The version of the head.
        var version: String

        /// True if its last generation has no snapshot, because the writer ended before the snapshot was complete.
        var lacksSnapshot: Bool {
            contents.snapshot == nil || tail.links.last.map { $0.entry.generation != contents.generation } ?? false
        }
    }

    /// Takes over the store. If it is interrupted, the next call begins again, with another term.
    private func claim() async throws {
        guard let source else { return }
        let present = try await ReplicaHead.read(store), key = source.key
        var head = present?.head ?? ReplicaHead(), former: Former?, next = ReplicaContents(), isAhead = false
        var held = ownPlace.map { self.held($0, least) }
        let (memory, known) = try newestMemory(of: head)
        if let section = head.sections.last, section.salt == key.salt, let contents = try section.contents(with: key) {
            names = ReplicaNames(section.id)
            var tail = ReplicaTail(after: contents.place)
            try await tail.extend(store, names, key)
            let opening = try await TermOpening.read(contents.place.term, store, names, key)
            former = Former(contents: contents, tail: tail, opening: opening, version: present?.object.version ?? "")
            held =
                known.first { $0.place.tag == tail.end.tag } ?? known.last { $0.place.term == contents.place.term } ?? held
                ?? known.first { !$0.place.isNone }
            isAhead = try await mayContinue(&held, known, memory, former)
            try await close(tail, names, key)
            next = contents
            if former?.lacksSnapshot == true { (next.snapshot, next.logged, next.pageSize) = (nil, 0, source.pageSize) }
        } else {
            (held, next.formers) = try await heldOfFormerSection(present, known, memory)
            isHealing = false
            // As many as a reader accepts.
            let surplus = max(0, head.sections.count + 1 - ReplicaHead.largestSectionCount)
            head.removed += head.sections.prefix(surplus).map(\.id)
            head.sections.removeFirst(surplus)
            next.formers = (next.formers + head.removed + head.sections.map(\.id)).suffix(4 * ReplicaHead.largestSectionCount)
            head.sections.append(ReplicaHead.Section(id: try ReplicaKey.random(8), salt: key.salt))
            names = ReplicaNames(head.sections.last?.id ?? [])
        }
        head.removed = Array(head.removed.suffix(4 * ReplicaHead.largestSectionCount))
        term = try ReplicaKey.random(ChainPlace.termCount)
        // A database that holds nothing of the replica begins a history. A database that is ahead of a store in an older state
        // continues its own history, of which the store's content is a part.
        (ancestry, firstGeneration) = ([], 0)
        if let held {
            let newest = max(least, next.generation, former?.tail.links.last?.entry.generation ?? 0)
            firstGeneration = try isHealing ? HeldPlace.generation(after: newest) : former?.opening.first ?? 0
            if isAhead {
                ancestry = [held.place] + held.ancestry
            } else if let former {
                ancestry = [former.tail.end] + former.opening.ancestry
            } else {
                ancestry = [held.place] + held.ancestry
            }
        }
        formerTerms.formUnion((ancestry + (former?.opening.ancestry ?? [])).map(\.term) + [term])
        if let former { formerTerms.insert(former.tail.end.term) }
        (counter, unproven) = (0, [])
        try await begin(&next, former?.tail, continuesIt: held != nil)
        let time = options.time
        if let former {
            clock.resume(
                age: max(next.age, former.tail.latest?.age ?? 0), believed: next.believed, time: next.latest, now: time)
            appendLeftovers(of: former.contents, former.tail, to: &next)
        } else {
            clock.resume(age: 0, believed: 0, time: time, now: time)
        }
        next.latest = time
        (next.age, next.believed) = (clock.age, clock.believed)
        try await storePages(&next)
        (next.begun, next.counter, next.joined) = ((0, 0), counter, next.place.link)
        // A claim that cannot be proven is given up, and the next claim has another term.
        let bare = try (present?.head ?? ReplicaHead()).marked().bytes
        let touched = try await replaceHead(bare, present?.object.version)
        while let object = unproven.popLast() {
            guard try await isThere(object) else { throw DatabaseError.unavailableStore("the store lacks \(object.name) again") }
        }
        try head.sections[head.sections.count - 1].seal(next, with: key)
        // If the answer is lost, the store may still have this database's term.
        let own = ReplicaMemory(of: source.path, section: names.section), claiming = self.held(next.place, next.generation)
        var before = try own.read()
        if before.isEmpty { before = [HeldPlace()] }
        try own.write(before + [claiming])
        version = try await replaceHead(head.bytes, touched)
        (self.head, contents, tail, queue, pendingLink, ownPlace) = (head, next, [], [], nil, nil)
        (links, isHeadUnproven) = ([], true)
        (isClaimed, isChanged, needsGeneration, pending, snapshot) = (true, false, true, nil, nil)
        upkeep.begin(hasRemoved: !head.removed.isEmpty)
        try own.write([claiming])
        guard !isAhead, held != nil, next.generation > 0 else { return }
        do {
            try source.resume(at: next.mark)
            needsGeneration = false
            followHold()
        } catch is ReplicaSource.Gap {}
    }

    /// - Returns: the version of the new head.
    private func replaceHead(_ bytes: [UInt8], _ version: String?) async throws -> String {
        count(\.headBytes, bytes.count)
        if let new = try await put(ReplicaHead.name, bytes, if: version.map { .isVersion($0) } ?? .isAbsent) { return new }
        guard let again = try await store.get(ReplicaHead.name), again.bytes == bytes else {
            throw DatabaseError.unavailableStore("the head was changed in the meantime")
        }
        return again.version
    }

    /// Stores the end of a term, so that its writer can store nothing more.
    private func close(_ tail: ReplicaTail, _ names: ReplicaNames, _ key: ReplicaKey) async throws {
        if tail.isClosed { return }
        let name = names.link(tail.end.link, of: tail.end.term)
        if try await put(name, try closing(after: tail.end.tag, with: key), if: .isAbsent) == nil {
            // The term's writer has stored a link, or another writer or this writer has closed the term: look again.
            throw DatabaseError.unavailableStore("another writer is storing the replica")
        }
    }

    /// Stores the first links of the term: the opening, and all blocks that the index lacks.
    /// - Parameter continuesIt: whether the states in the store belong to this history. If not, they end where their writer ended,
    ///   and the opening belongs to the next generation: a reader of the last generation must not continue into this history.
    private func begin(_ next: inout ReplicaContents, _ tail: ReplicaTail?, continuesIt: Bool) async throws {
        guard let key = source?.key else { return }
        let last = tail?.links.last?.entry
        next.generation = last?.generation ?? next.generation
        (next.frames, next.commits) = (last?.end ?? next.frames, last?.commits ?? next.commits)
        next.logged += UInt64(tail?.links.reduce(0) { $0 + $1.entry.size } ?? 0)
        next.mark = tail?.mark ?? next.mark
        next.latest = tail?.latest?.time ?? next.latest
        beginsHistory = tail != nil && !continuesIt
        if beginsHistory {
            next.generation = try HeldPlace.generation(after: max(least, next.generation))
            (next.frames, next.commits, next.mark) = (0, 0, LogMark())
            (next.snapshot, next.logged, next.pageSize) = (nil, 0, source?.pageSize ?? next.pageSize)
        }
        let opening = ReplicaBlock(
            kind: .opening, generation: next.generation, first: next.frames, pageSize: source?.pageSize ?? 4096,
            predecessor: tail?.end.tag ?? ChainPlace.none.tag, time: options.time, age: next.age, commits: next.commits,
            record: TermOpening(term: term, ancestry: ancestry, first: firstGeneration).record)
        let bytes = try opening.sealed(with: key), tag = Array(bytes.suffix(ReplicaKey.tagCount))
        var links: [ReplicaTail.Content] = []
        if let tail, continuesIt, tail.isWhole, tail.links.allSatisfy({ $0.entry.generation == next.generation }) {
            links = tail.links.compactMap(\.content)
        } else if let tail {
            // The links belong to another history or to two generations, or are too large for one object, as after an old head.
            for link in tail.links {
                next.index.append(.log(link.entry))
                unproven.append(
                    UnprovenObject(names.link(link.number, of: tail.end.term), link.entry.tag, after: link.predecessor))
            }
        }
        let blocks = links.flatMap { $0.blocks.map { ($0.block, $0.tag) } } + [(opening, tag)]
        let joined = links.flatMap(\.bytes) + bytes
        for (number, bytes) in [bytes, joined].enumerated() {
            let name = names.link(UInt64(number), of: term)
            guard try await put(name, bytes, if: .isAbsent) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, bytes))
        }
        next.place = ChainPlace(term: term, link: 2, tag: tag)
        next.index.append(.log(ReplicaIndex.LogEntry(term: term, link: 1, blocks: blocks, size: joined.count)))
    }

    private func appendLeftovers(of former: ReplicaContents, _ tail: ReplicaTail, to next: inout ReplicaContents) {
        let first = max(1, former.joined), end = min(max(first, tail.end.link + 1), first + UInt64(ReplicaIndex.mostObjects))
        next.index.append(
            .leftovers(
                ReplicaIndex.LeftoversEntry(
                    term: tail.end.term, links: first..<end, snapshot: former.begun.number,
                    parts: former.begun.parts, age: clock.age)))
    }

    /// Stores the entries of an index that must become a page.
    private func storePages(_ contents: inout ReplicaContents) async throws {
        while let (level, entries) = contents.index.full, let key = source?.key {
            var record: [UInt8] = []
            ReplicaIndex.append(entries, to: &record)
            let block = ReplicaBlock(
                kind: .page, generation: 0, first: 0, pageSize: 4096, predecessor: ChainPlace.none.tag, time: options.time,
                age: clock.age, commits: 0, record: record)
            // The name is new, so no object is replaced.
            let bytes = try block.sealed(with: key), number = nextNumber()
            let name = names.page(number, of: term)
            guard try await put(name, bytes, if: .always) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, bytes))
            count(\.headBytes, bytes.count)
            contents.index.replaceFull(
                by: ReplicaIndex.PageEntry(
                    term: term, number: number, level: level + 1, entries: entries, first: contents.index.first(ofLevel: level),
                    bytes: bytes))
        }
    }

    private func nextNumber() -> UInt64 {
        counter += 1
        return counter
    }
}

// MARK: What the database holds

/// The places that the database holds: the replica continues only from these places.
extension Replicator {
    /// Returns the places that the database holds in its newest section, and the file with these places.
    private func newestMemory(of head: ReplicaHead) throws -> (memory: ReplicaMemory?, known: [HeldPlace]) {
        guard let source else { return (nil, []) }
        for section in (head.removed + head.sections.map(\.id)).reversed() {
            let memory = ReplicaMemory(of: source.path, section: section), known = try memory.read()
            if !known.isEmpty { return (memory, known) }
        }
        return (nil, [])
    }

    /// Makes sure that the database has all commits in the store.
    /// - Returns: whether a generation begins at the database's place although this place is not the end of the store's history:
    ///   the store has returned to an older state, or its later links belong to a generation without a snapshot, which cannot be
    ///   restored.
    /// - Throws: ``DatabaseError/Reason/replicaForked``; ``DatabaseError/Reason/replicaRolledBack`` for the first times, as a store
    ///   may be late.
    private func mayContinue(
        _ held: inout HeldPlace?, _ known: [HeldPlace], _ memory: ReplicaMemory?, _ former: Former?
    ) async throws -> Bool {
        isHealing = false
        guard let source, let place = held, let former else { return false }
        func goesOnBefore() async throws -> Bool {
            guard former.lacksSnapshot, let newest = try await newest(of: [place] + known, former.version) else { return false }
            held = newest
            return true
        }
        let end = former.tail.end
        do {
            try place.require(in: end, former.opening)
            if place.place.tag == end.tag { return false }
            // Later links are of this database if its log has their frames: then the process was killed.
            try source.resume(at: former.tail.mark ?? former.contents.mark)
            return false
        } catch let error as DatabaseError where error.reason == .replicaRolledBack {
            sightings += 1
            guard sightings >= 3 else { throw error }
            (sightings, least, isHealing) = (0, max(least, place.generation), true)
            return true
        } catch let error as DatabaseError where error.reason == .replicaForked {
            if try await goesOnBefore() { return true }
            throw error
        } catch is ReplicaSource.Gap {
            if try await goesOnBefore() { return true }
            throw lacking(memory)
        }
    }

    private func lacking(_ memory: ReplicaMemory?) -> DatabaseError {
        .forkedReplica(
            "it has commits that this database lacks. Restore the newest state, or begin another history with this "
                + "database: remove \(memory?.path ?? "")")
    }

    /// The database's place in the newest section of the store, from which the replica continues in a new section because the key
    /// or the salt was changed. Another machine must not have continued from this place.
    /// - Returns: nil if the database holds no place of the replica; and, if the key opens the section, the sections before it,
    ///   which the head may no longer name: a follower that was away for long comes from such a section.
    /// - Throws: the errors of ``mayContinue(_:_:_:_:)``.
    private func heldOfFormerSection(
        _ present: (head: ReplicaHead, object: StoredObject)?, _ known: [HeldPlace], _ memory: ReplicaMemory?
    ) async throws -> (HeldPlace?, formers: [[UInt8]]) {
        guard let memory, let present, let last = present.head.sections.last?.id else { return (nil, []) }
        let version = present.object.version
        if memory.section != last {
            guard let newest = try await newest(of: known, version) else { throw lacking(memory) }
            return (newest, [])
        }
        if let reader = try await reader(version), reader.section == last, let key = reader.key {
            let tail = reader.tail
            var held = known.first { $0.place.tag == tail.end.tag } ?? known.first { !$0.place.isNone }
            let former = Former(contents: reader.contents, tail: tail, opening: reader.opening, version: version)
            _ = try await mayContinue(&held, known, memory, former)
            try await close(tail, reader.names, key)
            return (held, reader.contents.formers)
        }
        // The former key is not known here, so only the objects' names count, not their content.
        for place in known.map(\.place) where !place.isNone {
            let prefix = ReplicaNames(last).link(0, of: place.term).dropLast()
            for object in try await store.list(prefix: String(prefix)) {
                guard let number = UInt64(object.name.dropFirst(prefix.count)), number >= place.link else { continue }
                // The link may be this database's own link, if the store did not confirm it.
                let tag = try await store.get(object.name)?.bytes.suffix(place.tag.count)
                guard let tag, !known.contains(where: { tag.elementsEqual($0.place.tag) }) else { continue }
                throw lacking(memory)
            }
        }
        return (known.last { !$0.place.isNone }, [])
    }

    /// A reader of the sections that the key opens; nil if the key opens no section.
    private func reader(_ version: String, needsState: Bool = false) async throws -> ReplicaReader? {
        do {
            let reader = try await ReplicaReader(store, key: key, needsState: needsState)
            if reader.version != version { throw DatabaseError.unavailableStore("the store is not up to date") }
            return reader
        } catch let error as DatabaseError {
            // Anything else may be an old read.
            if error.code == .notADatabase { return nil }
            throw error
        }
    }

    /// Returns the place with the newest state, if no later state can be restored because the writer of later links ended before
    /// its first snapshot was complete.
    /// - Parameter version: the version of the head that was read.
    private func newest(of held: [HeldPlace], _ version: String) async throws -> HeldPlace? {
        guard let reader = try await reader(version, needsState: true), !reader.isSuperseded else { return nil }
        // Reads may be old: the content of the former section is known when the section has an end.
        if let key = reader.key, reader.section != reader.head.sections.last?.id {
            try await close(reader.tail, reader.names, key)
        }
        guard let plan = try await reader.newestPlan() else { return held.first }
        return held.first { $0.place == plan.end }
    }

    /// Writes the places that the database holds to the file beside it.
    private func remember() throws {
        guard let source, isClaimed else { return }
        // Another replica of this database may have taken over.
        let memory = ReplicaMemory(of: source.path, section: names.section)
        if let last = try memory.read().last, last.place.term != term { return }
        var all = [held(contents.place, contents.generation)]
        // The link that is being stored may be in the store. The database has it in either case.
        if let bytes = pendingLink?.bytes {
            let place = ChainPlace(term: term, link: contents.place.link + 1, tag: Array(bytes.suffix(ReplicaKey.tagCount)))
            all.append(held(place, contents.generation))
        }
        try memory.write(all)
    }

    private func held(_ place: ChainPlace, _ generation: UInt32) -> HeldPlace {
        HeldPlace(place: place, ancestry: ancestry, generation: generation)
    }
}

// MARK: Upkeep

/// Removing objects that are no longer needed.
extension Replicator {
    private func maintain() async throws {
        guard let key = source?.key else { return }
        if isHeadProven { try await upkeep.removeJoined(names, of: term) { contents.joined = $0 + 1 } }
        isHeadProven = false
        guard upkeep.isSweepDue() else { return }
        if let horizon = clock.horizon, let first = try await upkeep.retire(contents.index, before: horizon, names, key) {
            (contents.index.first, isChanged) = (first, true)
        }
        retireFormerSections()
        if isChanged { try await storeHead() }
        if upkeep.isRemovalDue(contents.index) {
            try await storeHead()
            let kept = try await upkeep.removeRetired(contents.index, names, key)
            contents.index.drop(before: kept)
            isChanged = true
        }
        if pending == nil, try await upkeep.removeSections(head.removed) { (head.removed, isChanged) = ([], true) }
        if isChanged { try await storeHead() }
    }

    /// Takes the sections of former keys out of the head: all their states are older than the change of the key. Before the first
    /// snapshot with the present key is complete, only these states can be restored.
    private func retireFormerSections() {
        let kept = clock.retention + clock.largestStep + UInt64(max(0, options.gracePeriod.milliseconds))
        guard clock.age > kept, head.sections.count > 1, contents.snapshot != nil else { return }
        head.removed += head.sections.dropLast().map(\.id)
        head.sections.removeFirst(head.sections.count - 1)
        isChanged = true
        upkeep.noteRemovedSections()
    }
}

// MARK: The database's file

/// Other events of the database while it is replicated.
extension Replicator {
    /// Makes sure that the database's file is the file that was opened.
    /// - Throws: ``DatabaseError/Reason/databaseReplaced``. The next turn opens the new file, and begins a generation.
    private func requireSameFile() throws {
        guard let source else { return }
        if source.isReplaced {
            let path = source.path
            source.close()
            letGo()
            self.source = nil
            isReplaced = true
            throw DatabaseError(
                code: .mismatch, reason: .databaseReplaced,
                message: "the file \(path) was replaced: commits to the former file that were not stored are lost", path: path)
        }
    }

    /// Opens the database again after its file was replaced.
    private func reopen() throws {
        guard isReplaced else { return }
        let new = try openSource()
        do { try new.start() } catch {
            new.close()
            throw error
        }
        (source, isReplaced, needsGeneration) = (new, false, true)
        watchLog()
        // Another file has another history, and perhaps another key.
        (isClaimed, pending, pendingLink, tail, unproven, links, ownPlace) = (false, nil, nil, [], [], [], nil)
    }

    /// Lets go of the log for a checkpoint of another program. While the checkpoint waits for this replica's read transaction, no
    /// connection can write. So the replica first reads the log to its end, and misses no commit. If the rest of the log is too
    /// large for memory, as after a time without the store, the replica gives up the log, and a snapshot begins a generation.
    ///
    /// If this actor is busy for so long that writers would wait for a quarter of a second, ``LogHolds`` gives the log up.
    private func letCheckpointGoOn() {
        guard let source, source.holds.isCheckpointWaiting else { return }
        // The place from which the replica may continue is not read yet.
        guard isClaimed, !needsGeneration else { return letGo() }
        do {
            // Read up to the last known end, and the commits before the checkpoint began. If there is always more to read, writers
            // are not blocked.
            for _ in 0..<3 {
                _ = try source.begin()
                while !source.isAtTarget, queue.reduce(0, { $0 + $1.bytes.count }) < 2 * options.objectSize { try readBlock() }
                guard source.isAtTarget else { return letGo() }
                source.settle()
                guard try !source.begin() else { continue }
                source.settle()
                return try source.pauseForCheckpoint()
            }
        } catch { letGo() }
    }
}

private extension DatabaseWriter {
    /// The file of the database, and the key that further connections to it need.
    func replicationSource() throws -> (DatabaseLocation, DatabaseKey) {
        try read { db in (db.location, try DatabaseKey.derived(of: db.main)) }
    }

    /// Makes the caller responsible for the size of the log, until `release`. A checkpoint that empties the log would wait for the
    /// caller's transactions.
    func holdLog() { checkpointer?.holds.add(1, ordering: .relaxed) }

    func releaseLog() { checkpointer?.holds.subtract(1, ordering: .relaxed) }
}

import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// One turn: looks at the log, stores what is new, then goes on with a snapshot and with upkeep.
extension Replica {
    /// A block that was read from the log and sealed.
    struct SealedBlock {
        let block: ReplicaBlock
        let bytes: [UInt8]
        let mark: LogMark

        var tag: [UInt8] { Array(bytes.suffix(ReplicaKey.tagCount)) }
    }

    func step() async throws {
        guard source != nil else { return }
        try requireSameFile()
        if !isClaimed { try await claim() }
        (shippedSize, isHeadProven) = (0, false)
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
            // What was read is stored: it continues the generation. What follows it is lost as separate commits.
            needsGeneration = true
            source?.release()
            throw DatabaseError(
                code: .busy, reason: .snapshotLost,
                message: "the database's log was restarted by a program that does not keep its locks")
        }
        try await maintain()
    }

    /// Whether it is time to store what is new. The number of requests is limited in the long run, unless a caller waits, or so
    /// much is new that objects are large.
    private var mayStore: Bool {
        let now = ContinuousClock.now, pause = options.interval * 2
        if let creditedAt { credit = min(Self.largestCredit, credit + (now - creditedAt) / pause) }
        creditedAt = now
        let sinceLook = lookedAt.map { (now - $0) / .seconds(1) } ?? 0
        return credit >= 1 || isWanted || snapshot != nil || needsGeneration || rate * sinceLook > Double(options.objectSize / 8)
    }

    private static let largestCredit = 8.0
    /// The requests for a head: it is replaced twice, the joined object is proven, and sometimes there is a page of the index.
    private static let headPrice = 3.25

    /// Counts requests. Those for a caller that waits leave a debt of one at most, or commits after them would be stored late.
    private func charge(_ requests: Double) {
        credit = max(isWanted ? min(credit, -1) : -Self.largestCredit, credit - requests)
    }

    /// Stores an object of the chain or the index, or the head.
    /// - Returns: its version; nil if the condition does not hold.
    func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaObject.Condition) async throws -> String? {
        count(\.puts, 1)
        if prepaid >= 1 { prepaid -= 1 } else { credit = max(-1, credit - 1) }
        return try await store.put(name, bytes, if: condition)
    }

    /// Begins with a snapshot, because the log in the store cannot be continued.
    private func beginGeneration() async throws {
        guard let source else { return }
        // Not while the store cannot be reached: each attempt would begin another one.
        if tail.isEmpty { _ = try await store.get(ReplicaHead.name) }
        try await joinTail()
        try source.start()
        followHold()
        queue = []
        if !beginsHistory { contents.generation = max(least, contents.generation) + 1 }
        beginsHistory = false
        (contents.frames, contents.commits, contents.snapshot, contents.logged) = (0, 0, nil, 0)
        (contents.pageSize, contents.mark, contents.latest) = (source.pageSize, source.position, options.time)
        // A snapshot brings what no link has. So the generation itself is a link: a state that has it is at another place.
        var block = ReplicaBlock(
            kind: .log, generation: contents.generation, first: 0, pageSize: source.pageSize, predecessor: contents.place.tag,
            time: options.time, age: clock.age, commits: 0)
        source.position.append(to: &block.record)
        let sealed = SealedBlock(block: block, bytes: try block.sealed(with: source.key), mark: source.position)
        pendingLink = PendingLink(bytes: sealed.bytes, block: sealed, isJoined: false)
        needsGeneration = false
        try beginSnapshot(after: sealed.tag)
        try await finishPendingLink()
        // What a successor removes, should this process end.
        try await storeHead()
    }

    /// Stores everything up to the log's present end.
    private func ship() async throws {
        guard let source else { return }
        if source.target == nil {
            serveWaiters()
            if let snapshot, snapshot.isRead { self.snapshot?.willBeComplete = true }
            _ = try source.begin()
        }
        while true {
            // Before more is stored, so that little comes after a head.
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
        isUpToDate()
    }

    /// Reads a block from the log to the end of the queue.
    func readBlock() throws {
        guard let source else { return }
        let before = queue.last ?? pendingLink?.block
        var block = ReplicaBlock(
            kind: .log, generation: contents.generation, first: before?.block.end ?? contents.frames, pageSize: source.pageSize,
            predecessor: before?.tag ?? contents.place.tag, time: options.time, age: clock.age,
            commits: before?.block.endCommits ?? contents.commits)
        // Together with what it may be joined with, an object is no larger than it should be.
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
    struct PendingLink {
        let bytes: [UInt8]
        /// What is new in it.
        let block: SealedBlock?
        /// Whether it also has everything that was kept.
        let isJoined: Bool
    }

    /// From what size on blocks are joined. A restore of a state reads all of the object that has its end, and this should not be
    /// much more than the snapshot and the log up to there.
    private var joinedSize: Int {
        guard let snapshot = contents.snapshot else { return options.objectSize / 2 }
        return min(options.objectSize / 2, max(1 << 17, (snapshot.size + Int(clamping: contents.logged)) / 16))
    }

    /// Stores a block as the next link; together with those before it, which were kept for that, as soon as they are enough.
    private func storeBlock(_ block: SealedBlock) async throws {
        let size = tail.reduce(block.bytes.count) { $0 + $1.bytes.count }
        let isJoined = tail.count + 1 >= options.fanOut || size >= joinedSize
        pendingLink = PendingLink(
            bytes: isJoined ? (tail + [block]).flatMap(\.bytes) : block.bytes, block: block, isJoined: isJoined)
        try await finishPendingLink()
    }

    /// Makes one object of what was kept, so that the index has everything.
    func joinTail() async throws {
        guard !tail.isEmpty else { return }
        pendingLink = PendingLink(bytes: tail.flatMap(\.bytes), block: nil, isJoined: true)
        try await finishPendingLink()
    }

    func finishPendingLink() async throws {
        guard let link = pendingLink else { return }
        let number = contents.place.link, name = names.link(number, of: term)
        // Each link pays its part of what storing the head takes. So the next one waits no longer after a head.
        let part = Self.headPrice / Double(options.fanOut)
        charge(1 + part)
        prepaid = 1
        // The process may end before it knows that it was stored. If that cannot be written, storing the head says so.
        try? remember(isDurable: false)
        if try await put(name, link.bytes, if: .isAbsent) == nil { try await judgeLink(name, link.bytes) }
        (pendingLink, sightings) = (nil, 0)
        if link.isJoined {
            charge(max(0, Self.headPrice - part * Double(tail.count + 1)))
            prepaid = Self.headPrice
            unproven.append(UnprovenObject(name, link.bytes, after: contents.place.tag))
        }
        contents.place.link += 1
        if let block = link.block { apply(block) }
        guard link.isJoined else {
            if let block = link.block { tail.append(block) }
            return
        }
        count(\.joinedBytes, tail.reduce(0) { $0 + $1.bytes.count })
        // A reader by a former head may still need them.
        let time = ContinuousClock.now, blocks = tail + (link.block.map { [$0] } ?? [])
        removals += tail.indices.map { Removal(link: number - UInt64(tail.count - $0), since: time) }
        contents.index.append(
            .log(
                ReplicaIndex.LogEntry(
                    term: term, link: number, blocks: blocks.map { ($0.block, $0.tag) }, size: link.bytes.count)))
        (tail, isChanged) = ([], true)
    }

    private func apply(_ block: SealedBlock) {
        count(\.logBytes, block.bytes.count)
        count(\.pages, block.block.frames.count)
        shippedSize += block.bytes.count
        (contents.frames, contents.commits) = (block.block.end, block.block.endCommits)
        (contents.place.tag, contents.mark, contents.latest) = (block.tag, block.mark, block.block.time)
        contents.logged += UInt64(block.bytes.count)
    }

    /// Lets the database's log start from the beginning when it is large.
    private func restartLargeLog() async throws {
        guard let source, !needsGeneration, source.readSize >= options.logSize else { return }
        if snapshot?.needsLog == true { return }
        if let failedRestart, .now - failedRestart < .seconds(1) { return }
        failedRestart = .now
        guard source.moveLog() else { return }
        // What was committed meanwhile is stored first, so that writers wait only for what little is left.
        for _ in 0..<4 {
            let before = shippedSize
            try await ship()
            if shippedSize - before <= options.objectSize / 16 { break }
        }
        if needsGeneration { return }
        guard source.moveLog() else { return }
        let hasRestarted = try source.restartLog(largestFile: 4 * options.logSize) {
            guard source.leftSize <= Self.largestRest else { return false }
            try readBlock()
            return source.isAtTarget
        }
        if hasRestarted { failedRestart = nil }
    }

    /// What may be read while writers wait, in bytes.
    private static let largestRest = 1 << 20

    /// Gives up the log when it has become too large while the store could not be reached.
    func letGoOfLargeLog() throws {
        guard let source, source.holds.isHolding, try source.logSize() > options.largestLog else { return }
        letGo()
    }

    /// Gives up the log: what is committed until the next snapshot has no states of its own.
    func letGo() {
        source?.release()
        followHold()
        (queue, snapshot, needsGeneration) = ([], nil, true)
    }
}

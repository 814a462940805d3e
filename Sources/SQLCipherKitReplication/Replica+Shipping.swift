import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// One turn: looks at the log, stores what is new, then goes on with a snapshot and with upkeep.
extension Replica {
    /// A block that was read from the log, sealed, and how the generation continues after it.
    struct QueuedBlock {
        let name: String
        let bytes: [UInt8]
        let entry: ReplicaContents.LogObject
        let mark: LogMark
        let committedFrames: UInt64
        let time: Int64
        let frames: Int
    }

    func step() async throws {
        guard source != nil else { return }
        if !isClaimed { try await claim() }
        try await finishPendingManifest()
        shippedSize = 0
        let look = ContinuousClock.now, sinceLastLook = look - (lookedAt ?? look)
        lookedAt = look
        do {
            if needsGeneration {
                // Not while the store cannot be reached: each attempt would begin another one.
                _ = try await store.get(ReplicaManifest.name)
                try beginGeneration()
            }
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

    /// Begins with a snapshot, because the log in the store cannot be continued.
    private func beginGeneration() throws {
        guard let source else { return }
        try source.start()
        queue = []
        contents.generations.append(
            ReplicaContents.Generation(
                number: (contents.generations.last?.number ?? 0) + 1, time: options.time, pageSize: source.pageSize,
                tag: try ReplicaKey.random(ReplicaKey.tagCount), mark: source.position, latest: options.time))
        isChanged = true
        needsGeneration = false
        try beginSnapshot()
    }

    /// Stores everything up to the log's present end.
    private func ship() async throws {
        guard let source else { return }
        if source.target == nil {
            serveWaiters()
            if let snapshot, snapshot.isRead { self.snapshot?.willBeComplete = true }
            _ = try source.begin()
        }
        var unlisted = 0
        while true {
            if queue.isEmpty, !source.isAtTarget { try readBlock() }
            guard let block = queue.first else { break }
            try await store.put(block.name, block.bytes, if: .always)
            count(\.logBytes, block.bytes.count)
            count(\.pages, block.frames)
            append(block)
            queue.removeFirst()
            unlisted += block.bytes.count
            shippedSize += block.bytes.count
            if unlisted >= 8 * options.objectSize {
                try await storeManifest(reachesTarget: false)
                unlisted = 0
            }
        }
        if let snapshot, snapshot.willBeComplete { complete(snapshot) }
        if isChanged { try await storeManifest(reachesTarget: true) } else { reachedTarget() }
    }

    /// Everything up to the target is in the store.
    func reachedTarget() {
        source?.settle()
        isUpToDate()
    }

    /// Reads a block from the log to the end of the queue.
    func readBlock() throws {
        guard let source, let generation = contents.generations.last else { return }
        var block: ReplicaBlock
        let before = queue.last
        block = ReplicaBlock(
            kind: .log, generation: generation.number, first: before?.entry.end ?? generation.frames, pageSize: source.pageSize,
            predecessor: before?.entry.tag ?? generation.tag, time: options.time,
            commits: before?.entry.commits ?? generation.commits)
        try source.read(into: &block, limit: options.objectSize)
        guard !block.frames.isEmpty else { return }
        let bytes = try block.sealed(with: source.key)
        var committed = before?.committedFrames ?? generation.committedFrames
        if let last = block.frames.lastIndex(where: { $0.size != 0 }) { committed = block.first + UInt64(last) + 1 }
        let entry = ReplicaContents.LogObject(
            name: nextName("log"), level: 0, first: block.first, end: block.first + UInt64(block.frames.count),
            commitsBefore: block.commits, commits: block.commits + UInt64(block.commitCount), earliest: block.time,
            latest: block.time, size: bytes.count, predecessor: block.predecessor, tag: Array(bytes.suffix(ReplicaKey.tagCount)))
        queue.append(
            QueuedBlock(
                name: entry.name, bytes: bytes, entry: entry, mark: source.position, committedFrames: committed, time: block.time,
                frames: block.frames.count))
    }

    private func append(_ block: QueuedBlock) {
        let last = contents.generations.count - 1
        contents.generations[last].log.append(block.entry)
        contents.generations[last].frames = block.entry.end
        contents.generations[last].commits = block.entry.commits
        contents.generations[last].committedFrames = block.committedFrames
        contents.generations[last].tag = block.entry.tag
        contents.generations[last].mark = block.mark
        contents.generations[last].latest = block.time
        isChanged = true
    }

    /// Lets the database's log start from the beginning when it is large.
    private func restartLargeLog() async throws {
        guard let source, source.readSize >= options.logSize else { return }
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
        let hasRestarted = try source.restartLog(largestFile: 4 * options.logSize) {
            try readBlock()
            return source.isAtTarget
        }
        if hasRestarted { failedRestart = nil }
    }

    /// Gives up the log when it has become too large while the store could not be reached.
    func letGoOfLargeLog() throws {
        guard let source, isClaimed, !needsGeneration, try source.logSize() > options.largestLog else { return }
        source.release()
        (queue, snapshot) = ([], nil)
        needsGeneration = true
    }
}

import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Storing all pages of the database, while it goes on.
///
/// First those that are in the log when the snapshot begins, then the others from the database's file, whatever is moved there in
/// the meantime: what changes while they are read is in the log that is stored as well. So the snapshot is complete with the log up
/// to the look that follows the last read.
extension Replica {
    struct SnapshotRun {
        let number: UInt64
        /// Where the snapshot began, and the tag there.
        let first: UInt64, commitsBefore: UInt64
        let predecessor: [UInt8]
        let pages: UInt32
        let logged: ReplicaSource.LoggedPages
        /// The pages of the log that were not stored yet, in descending order.
        var loggedLeft: [UInt32]
        var nextPage: UInt32 = 1
        var parts = 0
        var size = 0
        var pagesStored: UInt64 = 0
        var tag: [UInt8]
        /// A part that was read and is not stored yet.
        var part: (bytes: [UInt8], pages: Int)?
        var willBeComplete = false

        /// Whether the log that was there at the beginning must still be kept.
        var needsLog: Bool { !loggedLeft.isEmpty }
        /// Whether all pages were read and stored.
        var isRead: Bool { !needsLog && nextPage > pages && part == nil }
    }

    /// Begins a snapshot. Everything up to the source's position must have been read, and nothing may be queued.
    func beginSnapshot(after tag: [UInt8]) throws {
        guard let source else { return }
        let logged = try source.loggedPages(), lockPage = ReplicaSource.lockPage(source.pageSize)
        let pages = source.position.pages, number = nextNumber()
        snapshot = SnapshotRun(
            number: number, first: contents.frames, commitsBefore: contents.commits, predecessor: tag, pages: pages,
            logged: logged, loggedLeft: logged.frames.keys.filter { $0 <= pages && $0 != lockPage }.sorted(by: >),
            tag: tag)
        if contents.begun.number != 0 {
            // One that was given up.
            contents.index.append(
                .leftovers(
                    ReplicaIndex.LeftoversEntry(
                        term: term, links: 0..<0, snapshot: contents.begun.number, parts: contents.begun.parts, age: clock.age)))
        }
        // The file may end earlier than the database, and so does a part then.
        contents.begun = (number, 2 + Int(pages) / max(1, options.objectSize / source.pageSize))
    }

    func continueSnapshot() async throws {
        if snapshot == nil, isSnapshotDue {
            try beginSnapshot(after: contents.place.tag)
            try await storeHead()
        }
        var stored = 0
        while let run = snapshot, !run.isRead, run.needsLog || stored < options.partsPerStep {
            if run.part == nil { try readPart() }
            guard let part = snapshot?.part else { continue }
            let name = names.part(run.parts, ofSnapshot: run.number, of: term)
            guard try await store.put(name, part.bytes, if: .always) != nil else { throw DatabaseError.refusedObject(name) }
            unproven.append(UnprovenObject(name, part.bytes))
            count(\.puts, 1)
            count(\.snapshotBytes, part.bytes.count)
            snapshot?.part = nil
            snapshot?.parts += 1
            snapshot?.size += part.bytes.count
            snapshot?.pagesStored += UInt64(part.pages)
            snapshot?.tag = Array(part.bytes.suffix(ReplicaKey.tagCount))
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

    private func readPart() throws {
        guard let source, var run = snapshot else { return }
        let pageSize = source.pageSize, limit = max(1, options.objectSize / pageSize)
        var block = ReplicaBlock(
            kind: .snapshot, generation: contents.generation, first: run.pagesStored, pageSize: pageSize, predecessor: run.tag,
            time: options.time, age: clock.age, commits: contents.commits)
        var bytes = [UInt8](repeating: 0, count: limit * pageSize)
        while block.frames.count < limit, let page = run.loggedLeft.last {
            try bytes.withUnsafeMutableBytes { bytes in
                let start = block.frames.count * pageSize
                let place = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + pageSize])
                try source.copyLogged(page, run.logged, to: place)
            }
            block.frames.append(ReplicaBlock.Frame(page: page, size: 0))
            run.loggedLeft.removeLast()
        }
        let lockPage = ReplicaSource.lockPage(pageSize)
        while run.loggedLeft.isEmpty, block.frames.count < limit, run.nextPage <= run.pages {
            if run.nextPage == lockPage || run.logged.frames[run.nextPage] != nil {
                run.nextPage += 1
                continue
            }
            // As many pages as follow one another.
            var end = run.nextPage + 1
            while end <= run.pages, end != lockPage, run.logged.frames[end] == nil,
                block.frames.count + Int(end - run.nextPage) < limit
            { end += 1 }
            let start = block.frames.count * pageSize, count = Int(end - run.nextPage)
            let present = try bytes.withUnsafeMutableBytes { bytes in
                try source.copyPages(
                    run.nextPage, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + count * pageSize]))
            }
            for index in 0..<present { block.frames.append(ReplicaBlock.Frame(page: run.nextPage + UInt32(index), size: 0)) }
            // The file may have become shorter since: then the log says so.
            run.nextPage = present == count ? end : run.pages + 1
        }
        if !block.frames.isEmpty {
            bytes.removeLast(bytes.count - block.frames.count * pageSize)
            block.pages = bytes
            run.part = (try block.sealed(with: source.key), block.frames.count)
        }
        snapshot = run
    }

    /// Adds the snapshot to the index: everything that changed while it was read is there.
    func complete(_ run: SnapshotRun) {
        let age = clock.age
        contents.index.append(
            .snapshot(
                ReplicaIndex.SnapshotEntry(
                    term: term, number: run.number, parts: run.parts, size: run.size, generation: contents.generation,
                    pageSize: contents.pageSize, first: run.first, commitsBefore: run.commitsBefore, predecessor: run.predecessor,
                    commits: contents.commits, time: options.time, age: age, pages: run.pages, place: contents.place)))
        (contents.snapshot, contents.logged, contents.begun) = ((contents.commits, run.size, age), 0, (0, 0))
        (snapshot, isChanged) = (nil, true)
    }
}

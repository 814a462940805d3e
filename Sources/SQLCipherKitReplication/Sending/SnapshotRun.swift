import SQLCipherKitCore
import SQLCipherKitFiles

/// Reads all pages of the database for a snapshot, while programs use the database.
///
/// The pages in the log come first, as the log was when the snapshot began. The other pages come from the database's file, although
/// checkpoints may change the file in the meantime: the log, which is stored as well, has all these changes. So the snapshot is
/// complete with the log up to the first look at the log after the last read.
struct SnapshotRun {
    private let number: UInt64
    /// The place in the log where the snapshot began, and the tag at that place.
    private let first: UInt64, commitsBefore: UInt64
    private let predecessor: [UInt8]
    private let pages: UInt32
    private let logged: ReplicaSource.LoggedPages
    /// The pages of the log that were not stored yet, in descending order.
    private var loggedLeft: [UInt32]
    private var nextPage: UInt32 = 1
    private var parts = 0
    private var size = 0
    private var pagesStored: UInt64 = 0
    private var tag: [UInt8]
    /// A part that was read and is not stored yet.
    private var part: (bytes: [UInt8], pages: Int)?
    /// True if all pages were stored before the last look at the log.
    private(set) var willBeComplete = false

    /// Begins a snapshot. Everything up to the source's position must have been read, and nothing may be queued.
    /// - Parameters:
    ///   - contents: the present end of the chain.
    ///   - tag: the tag of the last block before the snapshot.
    init(_ number: UInt64, of source: ReplicaSource, at contents: ReplicaContents, after tag: [UInt8]) throws {
        let logged = try source.loggedPages(), lockPage = ReplicaSource.lockPage(source.pageSize)
        let pages = source.position.pages
        (self.number, self.pages, self.logged) = (number, pages, logged)
        (first, commitsBefore, predecessor, self.tag) = (contents.frames, contents.commits, tag, tag)
        loggedLeft = logged.frames.keys.filter { $0 <= pages && $0 != lockPage }.sorted(by: >)
    }

    /// True if the log that was there at the beginning must still be kept.
    var needsLog: Bool { !loggedLeft.isEmpty }
    /// True if all pages were read and stored.
    var isRead: Bool { !needsLog && nextPage > pages && part == nil }

    /// Notes that a look at the log begins.
    mutating func beginLook() { if isRead { willBeComplete = true } }

    /// The next part to store, which is read once.
    /// - Parameters:
    ///   - contents: the present end of the chain.
    ///   - size: the largest size of a part in bytes.
    /// - Returns: nil if there is nothing to store this time.
    mutating func nextPart(
        from source: ReplicaSource, _ contents: ReplicaContents, upTo size: Int, time: Int64, age: UInt64
    ) throws -> [UInt8]? {
        if part == nil { try readPart(from: source, contents, upTo: size, time: time, age: age) }
        return part?.bytes
    }

    /// The name of the next part.
    func name(_ names: ReplicaNames, of term: [UInt8]) -> String { names.part(parts, ofSnapshot: number, of: term) }

    /// Moves after the part that was stored.
    mutating func storedPart() {
        guard let part else { return }
        parts += 1
        size += part.bytes.count
        pagesStored += UInt64(part.pages)
        tag = Array(part.bytes.suffix(ReplicaKey.tagCount))
        self.part = nil
    }

    private mutating func readPart(
        from source: ReplicaSource, _ contents: ReplicaContents, upTo size: Int, time: Int64, age: UInt64
    ) throws {
        // Pages are read again after a failure.
        var run = self
        let pageSize = source.pageSize, limit = max(1, size / pageSize)
        var block = ReplicaBlock(
            kind: .snapshot, generation: contents.generation, first: run.pagesStored, pageSize: pageSize, predecessor: run.tag,
            time: time, age: age, commits: contents.commits)
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
            // Takes consecutive pages.
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
            // The file may have become shorter; the log then has that change.
            run.nextPage = present == count ? end : run.pages + 1
        }
        if !block.frames.isEmpty {
            bytes.removeLast(bytes.count - block.frames.count * pageSize)
            block.pages = bytes
            run.part = (try block.sealed(with: source.key), block.frames.count)
        }
        self = run
    }

    /// Returns the index's entry of the complete snapshot: the log has all changes that were made while the snapshot was read.
    func entry(_ contents: ReplicaContents, of term: [UInt8], time: Int64, age: UInt64) -> ReplicaIndex.SnapshotEntry {
        ReplicaIndex.SnapshotEntry(
            term: term, number: number, parts: parts, size: size, generation: contents.generation, pageSize: contents.pageSize,
            first: first, commitsBefore: commitsBefore, predecessor: predecessor, commits: contents.commits, time: time, age: age,
            pages: pages, place: contents.place)
    }
}

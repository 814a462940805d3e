import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Reads the commits of a database from its log, in order and without a gap, while ``LogHolds`` keeps it.
final class ReplicaSource {
    /// The log cannot be continued: it was restarted while nothing held it.
    struct Gap: Error {}

    let path: String
    let pageSize: Int
    let key: ReplicaKey
    /// Keeps everything after `position`. The next transaction began at `target`, if there is one.
    let holds: LogHolds
    private let lock: LogHold
    private let checkpointer: LogHold
    /// Up to where the log was read.
    private(set) var position = LogMark()
    /// Up to where the log can be read.
    private(set) var target: LogMark?
    private var file: LogFile?

    private let keepsLog: Bool
    /// What identifies the database's file.
    private let identity: [UInt64]?

    init(_ location: DatabaseLocation, _ key: Encryption, keepsLog: Bool = false) throws {
        self.keepsLog = keepsLog
        lock = try LogHold(location, key: key, waits: false, staysOnClose: keepsLog)
        let key = try lock.derivedKey()
        checkpointer = try LogHold(location, key: key, waits: false, staysOnClose: keepsLog)
        holds = try LogHolds(location, key, keepsLog: keepsLog)
        guard let path = try lock.path else { throw DatabaseError.misuse("only a database in a file can be replicated") }
        self.path = path
        identity = LogHold.identity(of: path)
        self.key = try lock.replicaKey()
        pageSize = try lock.layout().pageSize
    }

    func close() {
        holds.close()
        lock.end()
        lock.close()
        // As closing without the log does, so that the database's file has everything.
        if keepsLog { _ = try? checkpointer.checkpoint() }
        checkpointer.end()
        checkpointer.close()
    }

    /// Whether there is another file under the database's name, or none, while this one is open.
    var isReplaced: Bool { LogHold.identity(of: path) != identity }

    /// Holds nothing until a waiting checkpoint has ended, and then the log again. Everything up to its end must have been read.
    /// - Throws: ``Gap`` if commits are missing afterwards.
    func pauseForCheckpoint() throws {
        holds.pause()
        let end = ContinuousClock.now + .milliseconds(300)
        while holds.isCheckpointWaiting, .now < end { usleep(500) }
        // Everything until now was read: what is new begins a log, or continues this one.
        _ = try begin()
        settle()
    }

    /// Lets go of the log.
    func release() {
        holds.release()
        (target, file) = (nil, nil)
    }

    /// Begins at the log's present end.
    func start() throws {
        release()
        position = try holds.begin()
        holds.turn()
    }

    /// Begins at a position that was reached earlier, perhaps by another process.
    /// - Throws: ``Gap`` if the log has not kept everything since.
    func resume(at mark: LogMark) throws {
        release()
        let end = try holds.begin(keepsLog: true)
        guard mark.salts != 0, end.salts == mark.salts, end.frame >= mark.frame,
            (try? LogFile(ofDatabaseAt: path, at: mark, pageSize: pageSize)) != nil
        else {
            holds.release()
            throw Gap()
        }
        holds.turn()
        position = mark
    }

    /// Finds the log's present end, and keeps it.
    /// - Returns: whether there is anything to read.
    /// - Throws: ``Gap`` if commits are missing, as after the log was given up, or a program has broken SQLite's locks.
    func begin() throws -> Bool {
        guard target == nil else { return !isAtTarget }
        let end: LogMark
        do { end = try holds.begin() } catch is LogHolds.Lost { throw Gap() }
        target = end
        if end.salts == position.salts {
            guard end.frame >= position.frame else { throw Gap() }
            return end.frame > position.frame
        }
        // The log has started from the beginning. The counter of commits tells whether that was after its end at `position`.
        var start = end
        start.frame = 0
        file = nil
        if end.frame > 0 {
            let log = try opened(start)
            guard try log.commitCount(upTo: end.frame) >= Int(end.commits &- position.commits) else { throw Gap() }
        } else if end.commits != position.commits {
            throw Gap()
        }
        start.commits = position.commits
        position = start
        return end.frame > 0
    }

    var isAtTarget: Bool { target.map { $0.salts == position.salts && $0.frame == position.frame } ?? true }

    private func opened(_ mark: LogMark) throws -> LogFile {
        do { return try LogFile(ofDatabaseAt: path, at: mark, pageSize: pageSize) } catch is LogFile.Changed { throw Gap() }
    }

    /// Reads the next frames into a block, until it has `limit` bytes or the target is reached.
    func read(into block: inout ReplicaBlock, limit: Int) throws {
        guard let target, !isAtTarget else { return }
        let file = try self.file.flatMap { $0.frame == position.frame && position.frame > 0 ? $0 : nil } ?? opened(position)
        self.file = file
        var frames: [ReplicaBlock.Frame] = [], pages: [UInt8] = []
        do {
            while !(target.frame == file.frame), block.pages.count + pages.count < limit {
                let room = max(1, min(64, (limit - block.pages.count - pages.count) / pageSize))
                try file.read(upTo: room, end: target) { frame, page in
                    frames.append(frame)
                    pages.append(contentsOf: page)
                }
            }
        } catch is LogFile.Changed {
            self.file = nil
            throw Gap()
        }
        block.frames += frames
        block.pages += pages
        if file.frame == target.frame {
            position = target
        } else {
            (position.frame, position.checksum) = (file.frame, file.checksum)
        }
    }

    /// Gives up what was kept before the target, which has been read.
    func settle() {
        guard isAtTarget, let target else { return }
        position = target
        holds.turn()
        self.target = nil
    }

    /// How much of the log was read, and how much is left up to the target, in bytes.
    var readSize: Int { Int(position.frame) * (pageSize + 24) }
    var leftSize: Int { Int((target?.frame ?? 0) - min(position.frame, target?.frame ?? 0)) * (pageSize + 24) }

    /// The size of the log in bytes.
    func logSize() throws -> Int {
        guard checkpointer.isIdle else { return 0 }
        let mark = try checkpointer.begin()
        checkpointer.end()
        return Int(mark.frame) * (pageSize + 24)
    }

    /// Moves what can be moved from the log into the database, while others write.
    /// - Returns: whether it could.
    func moveLog() -> Bool { asCheckpoint { (try? checkpointer.checkpoint()) != nil } }

    /// The watch looks for those of other programs.
    private func asCheckpoint<R>(_ body: () throws -> R) rethrows -> R {
        holds.isCheckpointing.store(true, ordering: .sequentiallyConsistent)
        defer { holds.isCheckpointing.store(false, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Lets the next writer start the log from the beginning: moves the rest of the log into the database while no one can write,
    /// and begins a read transaction that does not use the log. Everything up to `position` must have been read.
    /// - Parameters:
    ///   - largestFile: the size in bytes from which the log's file is cut.
    ///   - rest: reads what was committed in the meantime; returns false if that is too much.
    /// - Returns: whether the log will start from the beginning.
    func restartLog(largestFile: Int, _ rest: () throws -> Bool) throws -> Bool {
        try asCheckpoint { try restart(largestFile, rest) }
    }

    private func restart(_ largestFile: Int, _ rest: () throws -> Bool) throws -> Bool {
        do { try lock.beginExclusive() } catch {
            if error.code.primary == .busy { return false }
            throw error
        }
        defer { lock.end() }
        _ = try begin()
        guard try rest(), isAtTarget else { return false }
        settle()
        // No other program checkpoints now, or writers would wait for it too.
        guard let log = try? checkpointer.checkpoint(for: .milliseconds(50)), log.frames == log.moved else { return false }
        guard try !begin() else { return false }
        settle()
        lock.end()
        // Fails at once if a reader still uses the log.
        if log.frames * pageSize > largestFile { try? checkpointer.cutLog() }
        return true
    }

    // MARK: Snapshots

    /// The pages that are in the log.
    struct LoggedPages {
        var file: LogFile?
        /// The frame with the newest content of each page.
        var frames: [UInt32: UInt32] = [:]
    }

    /// Finds the pages in the log at `position`, where the current transaction began.
    func loggedPages() throws -> LoggedPages {
        var start = position
        start.frame = 0
        guard position.frame > 0 else { return LoggedPages() }
        var pages = LoggedPages()
        do {
            let file = try LogFile(ofDatabaseAt: path, at: start, pageSize: pageSize)
            while file.frame < position.frame {
                var frame = file.frame
                try file.read(upTo: 256, end: position) { entry, _ in
                    frame += 1
                    pages.frames[entry.page] = frame
                }
            }
            pages.file = file
        } catch is LogFile.Changed {
            // Then all of it was in the database when the log started again: see LogHold.
            return LoggedPages()
        }
        return pages
    }

    /// Copies a page from the log. If the log no longer has it, it is in the database.
    func copyLogged(_ page: UInt32, _ pages: LoggedPages, to bytes: UnsafeMutableRawBufferPointer) throws {
        if let file = pages.file, let frame = pages.frames[page], file.copy(page, inFrame: frame, to: bytes) { return }
        _ = try copyPages(page, to: bytes)
    }

    /// Copies pages of the database's file.
    /// - Returns: how many of them are there.
    func copyPages(_ first: UInt32, to bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = bytes.count / pageSize
        if try checkpointer.readFile(bytes, at: (Int(first) - 1) * pageSize) { return count }
        for index in 0..<count {
            let page = UnsafeMutableRawBufferPointer(rebasing: bytes[index * pageSize..<(index + 1) * pageSize])
            if try !checkpointer.readFile(page, at: (Int(first) - 1 + index) * pageSize) { return index }
        }
        return count
    }

    /// The page of SQLite's lock byte, which has no content.
    static func lockPage(_ pageSize: Int) -> UInt32 { UInt32(0x4000_0000 / pageSize + 1) }
}

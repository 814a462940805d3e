import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles

/// Reads the commits of a database from its log, in order and without a gap, while ``LogHolds`` keeps it.
final class ReplicaSource {
    /// The log cannot be continued: it was restarted while nothing held it.
    struct Gap: Error {}

    let path: String
    let pageSize: Int
    let key: ReplicaKey
    /// Keeps the log after `position`. The next transaction, if there is one, began at `target`.
    let holds: LogHolds
    private let lock: LogHold
    private let checkpointer: LogHold
    /// The position up to which the log was read.
    private(set) var position = LogMark()
    /// The position up to which the log can be read.
    private(set) var target: LogMark?
    private var file: LogFile?

    private let keepsLog: Bool
    /// The identity of the database's file.
    private let identity: [UInt64]?

    init(_ location: DatabaseLocation, _ key: DatabaseKey, keepsLog: Bool = false) throws {
        self.keepsLog = keepsLog
        lock = try LogHold(location, key: key, waits: false, staysOnClose: keepsLog)
        let key = try lock.derivedKey()
        checkpointer = try LogHold(location, key: key, waits: false, staysOnClose: keepsLog)
        holds = try LogHolds(location, key, keepsLog: keepsLog)
        guard let path = try lock.path else { throw DatabaseError.misuse("only a database in a file can be replicated") }
        self.path = path
        identity = DatabaseFile.identity(of: path)
        self.key = try lock.replicaKey()
        pageSize = try lock.layout().pageSize
    }

    func close() {
        holds.close()
        lock.end()
        lock.close()
        // Like a close without a log: the database's file then has all commits.
        if keepsLog { _ = try? checkpointer.checkpoint() }
        checkpointer.end()
        checkpointer.close()
    }

    /// True if the database's path has another file or no file, while the former file is open.
    var isReplaced: Bool { DatabaseFile.identity(of: path) != identity }

    /// Releases the log until a waiting checkpoint has ended, and then holds the log again. The log must have been read to its end.
    /// - Throws: ``Gap`` if commits are missing afterwards.
    func pauseForCheckpoint() throws {
        holds.pause()
        let end = ContinuousClock.now + .milliseconds(300)
        while holds.isCheckpointWaiting, .now < end { usleep(500) }
        // Everything until now was read: new commits begin a log, or continue this log.
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
    /// - Throws: ``Gap`` if the log no longer has all frames after the position.
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

    /// Releases the log before the target, which has been read.
    func settle() {
        guard isAtTarget, let target else { return }
        position = target
        holds.turn()
        self.target = nil
    }

    /// The size of the log that was read, and the size that is left up to the target, in bytes.
    var readSize: Int { Int(position.frame) * (pageSize + 24) }
    var leftSize: Int { Int((target?.frame ?? 0) - min(position.frame, target?.frame ?? 0)) * (pageSize + 24) }

    /// The size of the log in bytes.
    func logSize() throws -> Int {
        guard checkpointer.isIdle else { return 0 }
        let mark = try checkpointer.begin()
        checkpointer.end()
        return Int(mark.frame) * (pageSize + 24)
    }

    /// Moves as much as possible from the log into the database, while others write.
    /// - Returns: whether it could.
    func moveLog() -> Bool { holds.checkpointing { (try? checkpointer.checkpoint()) != nil } }

    /// Lets the next writer start the log from the beginning: moves the rest of the log into the database while no one can write,
    /// and begins a read transaction that does not use the log. Everything up to `position` must have been read.
    /// - Parameters:
    ///   - largestFile: the size in bytes from which the log's file is cut.
    ///   - rest: reads the commits since `position`; returns false if they are too large.
    /// - Returns: whether the log will start from the beginning.
    func restartLog(largestFile: Int, _ rest: () throws -> Bool) throws -> Bool {
        try holds.checkpointing { try restart(largestFile, rest) }
    }

    private func restart(_ largestFile: Int, _ rest: () throws -> Bool) throws -> Bool {
        do { try lock.beginExclusive() } catch let error as DatabaseError where error.code.primary == .busy { return false }
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
        fileprivate var file: LogFile?
        /// The frame with the newest content of each page.
        fileprivate(set) var frames: [UInt32: UInt32] = [:]
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
            // The whole log was then in the database when the log started again: see LogHold.
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
    /// - Returns: the number of pages that the file has.
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

extension Connection {
    /// The last bytes of the first page in its last committed state on the disk. They have the page's initialization vector and its
    /// authentication code, so they change with each write of the page.
    ///
    /// No transaction may be open.
    func endOfFirstPage() throws -> [UInt8] {
        let hold = LogHold(self)
        var start = try hold.begin()
        defer { hold.end() }
        let end = start.frame, size = try hold.layout().pageSize
        var page = [UInt8](repeating: 0, count: size)
        try page.withUnsafeMutableBytes { page in
            start.frame = 0
            if end > 0, let path = try main.path, let log = try? LogFile(ofDatabaseAt: path, at: start, pageSize: size),
                let frame = log.lastFrame(of: 1, upTo: end), log.copy(1, inFrame: frame, to: page)
            {
                return
            }
            // The log has nothing of it, or starts again, and then it is in the database.
            _ = try hold.readFile(page, at: 0)
        }
        return page.suffix(64)
    }
}

/// Reads frames of a write-ahead log, and checks them as SQLite does (<https://sqlite.org/fileformat2.html#wal_file_format>). The
/// frames stay encrypted.
///
/// Opening the log separately is safe, unlike the database's file: SQLite has no locks on the log.
private final class LogFile {
    struct Changed: Error {}

    private let pageSize: Int
    private let file: OwnFile
    private let isBigEndian: Bool
    private let salts: UInt64
    /// The position after the last frame that was read.
    private(set) var frame: UInt32
    private(set) var checksum: UInt64

    /// Opens the log of a database at a position in it.
    /// - Throws: ``Changed`` if the log has other salts or another checksum at the position.
    init(ofDatabaseAt path: String, at mark: LogMark, pageSize: Int) throws {
        guard let file = OwnFile.open(path + "-wal", for: .reading) else {
            if errno == ENOENT { throw Changed() }
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .cannotOpen, message: "the log of \(path) cannot be read: \(reason)")
        }
        (self.file, self.pageSize) = (file, pageSize)
        var header = [UInt8](repeating: 0, count: 32)
        let count = header.withUnsafeMutableBytes { file.read($0) }
        let magic = header.bigEndian(at: 0, as: UInt32.self), own = header.bigEndian(at: 16, as: UInt64.self)
        let sum = header.bigEndian(at: 24, as: UInt64.self)
        isBigEndian = magic.map { $0 & 1 == 1 } ?? false
        (frame, checksum, salts) = (mark.frame, mark.checksum, mark.salts)
        guard count == 32, let magic, magic & ~1 == 0x377f_0682, own == mark.salts, let sum else { throw Changed() }
        guard frame > 0 else {
            checksum = sum
            return
        }
        // The checksum of the frame at the position covers the whole log up to that frame.
        var last = [UInt8](repeating: 0, count: 24)
        let offset = 32 + (Int(frame) - 1) * (24 + pageSize)
        let size = last.withUnsafeMutableBytes { file.read($0, at: offset) }
        guard size == 24, last.bigEndian(at: 8, as: UInt64.self) == mark.salts,
            last.bigEndian(at: 16, as: UInt64.self) == mark.checksum
        else { throw Changed() }
    }

    /// Reads the next frames.
    /// - Parameter end: the position of the last frame to read.
    /// - Throws: ``Changed`` if they do not continue the log.
    func read(upTo count: Int, end: LogMark, _ body: (_ frame: ReplicaBlock.Frame, _ page: UnsafeRawBufferPointer) -> Void) throws {
        let count = min(count, Int(end.frame - frame)), size = 24 + pageSize
        var bytes = [UInt8](repeating: 0, count: count * size)
        let present = bytes.withUnsafeMutableBytes { file.read($0, at: 32 + Int(frame) * size) }
        guard present == bytes.count else { throw Changed() }
        try bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                let header = bytes.slice(index * size..<index * size + 24)
                let page = bytes.slice(index * size + 24..<(index + 1) * size)
                guard header.bigEndian(at: 8, as: UInt64.self) == end.salts else { throw Changed() }
                var sums = (UInt32(truncatingIfNeeded: checksum >> 32), UInt32(truncatingIfNeeded: checksum))
                add(header.slice(0..<8), to: &sums)
                add(page, to: &sums)
                checksum = UInt64(sums.0) << 32 | UInt64(sums.1)
                guard header.bigEndian(at: 16, as: UInt64.self) == checksum,
                    let number = header.bigEndian(at: 0, as: UInt32.self),
                    let databaseSize = header.bigEndian(at: 4, as: UInt32.self)
                else { throw Changed() }
                frame += 1
                body(ReplicaBlock.Frame(page: number, size: databaseSize), page)
            }
        }
        if frame == end.frame, checksum != end.checksum { throw Changed() }
    }

    private func add(_ bytes: UnsafeRawBufferPointer, to sums: inout (UInt32, UInt32)) {
        var (a, b) = sums
        for offset in stride(from: 0, to: bytes.count, by: 8) {
            let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let second = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            a = a &+ (isBigEndian ? UInt32(bigEndian: first) : UInt32(littleEndian: first)) &+ b
            b = b &+ (isBigEndian ? UInt32(bigEndian: second) : UInt32(littleEndian: second)) &+ a
        }
        sums = (a, b)
    }

    /// The number of frames up to `end` that end a commit. Reads only their headers, and checks only the salts of the log.
    func commitCount(upTo end: UInt32) throws -> Int {
        var header = [UInt8](repeating: 0, count: 8), commits = 0
        for frame in 0..<Int(end) {
            let offset = 32 + frame * (24 + pageSize)
            let count = header.withUnsafeMutableBytes { file.read($0, at: offset) }
            guard count == 8 else { throw Changed() }
            if header[4...].contains(where: { $0 != 0 }) { commits += 1 }
        }
        return commits
    }

    /// The last frame that has a page, from the first frame up to `end`.
    func lastFrame(of page: UInt32, upTo end: UInt32) -> UInt32? {
        var number = [UInt8](repeating: 0, count: 4)
        for frame in stride(from: end, to: 0, by: -1) {
            let offset = 32 + (Int(frame) - 1) * (24 + pageSize)
            guard number.withUnsafeMutableBytes({ file.read($0, at: offset) }) == 4 else { return nil }
            if number.bigEndian(at: 0, as: UInt32.self) == page { return frame }
        }
        return nil
    }

    /// Copies one page.
    /// - Returns: false if the log has started from the beginning, and the frame has other content.
    func copy(_ page: UInt32, inFrame frame: UInt32, to bytes: UnsafeMutableRawBufferPointer) -> Bool {
        let offset = 32 + (Int(frame) - 1) * (24 + pageSize)
        guard file.read(bytes, at: offset + 24) == bytes.count else { return false }
        // Afterwards: a writer writes the header of a frame before its page.
        var header = [UInt8](repeating: 0, count: 16)
        guard header.withUnsafeMutableBytes({ file.read($0, at: offset) }) == 16 else { return false }
        return header.bigEndian(at: 0, as: UInt32.self) == page && header.bigEndian(at: 8, as: UInt64.self) == salts
    }
}

import CSQLCipher
import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import Synchronization

/// A connection whose read transaction keeps a database's write-ahead log, so that every later commit can be read from it.
///
/// A read transaction has one of SQLite's read marks. With a mark in the log, no process can start the log from the beginning. With
/// the mark 0, which a reader gets when the whole log is in the database, the next writer can start the log from the beginning. But
/// then no checkpoint moves a page from the log to the database, so the log cannot start from the beginning a second time. In both
/// cases, the log has all commits after the transaction's start: after the transaction's position, or from the first frame of a log
/// with other salts.
final class LogHold {
    private let connection: Connection

    /// - Parameters:
    ///   - waits: whether calls wait for other connections, for up to a second.
    ///   - staysOnClose: whether the log stays if this connection is the last to close.
    init(_ location: DatabaseLocation, key: DatabaseKey, waits: Bool = true, staysOnClose: Bool = false) throws {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.busyTimeout = waits ? .seconds(1) : .zero
        connection = try Connection(location, key: key, configuration: configuration)
        if staysOnClose { try connection.keepLogOnClose() }
    }

    /// Uses a connection that another owner closes.
    init(_ connection: Connection) { self.connection = connection }

    /// True if no transaction is open.
    var isIdle: Bool { !connection.isInTransaction }

    /// Begins a read transaction.
    /// - Parameter keepsLog: whether the transaction has a mark in the log even if the whole log is in the database.
    /// - Returns: the end of the log that it sees.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a database without a write-ahead log.
    func begin(keepsLog: Bool = false) throws -> LogMark {
        try connection.begin(.deferred)
        do {
            // SQLite gives a snapshot that begins the transaction itself a mark in the log.
            if !keepsLog { _ = try connection.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)") }
            return try mark()
        } catch {
            end()
            throw error
        }
    }

    /// Takes the write lock, which keeps all other connections from committing. A busy writer releases the lock only for
    /// microseconds between its commits, so this call tries often.
    /// - Throws: ``DatabaseError/Reason/busy`` after a fifth of a second.
    func beginExclusive() throws {
        try polling(every: 20, for: .milliseconds(200)) { () throws in try connection.begin(.immediate) }
    }

    /// Repeats an operation that fails because of another connection.
    private func polling<R>(
        every microseconds: UInt32, for time: Duration, _ body: () throws -> R
    ) throws -> R {
        let end = ContinuousClock.now + time
        while true {
            do { return try body() } catch let error as DatabaseError where error.code.primary == .busy && .now < end {}
            usleep(microseconds)
        }
    }

    /// Ends the transaction, if there is one.
    func end() {
        guard connection.isInTransaction else { return }
        try? connection.rollback()
    }

    func close() { connection.close() }

    private func mark() throws -> LogMark {
        var snapshot: UnsafeMutablePointer<sqlite3_snapshot>?
        let rc = sqlite3_snapshot_get(try connection.liveOutsideHooks(), "main", &snapshot)
        guard rc == SQLITE_OK, let snapshot else {
            guard rc == SQLITE_ERROR, try connection.main.hasWAL else {
                if rc == SQLITE_ERROR {
                    throw DatabaseError.misuse(
                        "only a database with a write-ahead log can be replicated: set PRAGMA journal_mode = WAL")
                }
                throw DatabaseError(rc: rc, database: nil)
            }
            // Nothing was ever written to the log.
            var mark = LogMark()
            mark.pages = UInt32(clamping: try layout().pages)
            return mark
        }
        defer { sqlite3_snapshot_free(snapshot) }
        var mark = LogMark(snapshot)
        if mark.frame == 0 { mark.pages = UInt32(clamping: try layout().pages) }
        return mark
    }

    /// Makes the log durable: the store must not have commits that a power cut would remove from the log.
    func makeDurable() throws { try connection.main.makeDurable() }

    /// The size of a page in bytes, and the number of pages.
    func layout() throws -> (pageSize: Int, pages: Int) {
        var size: Int32 = 0, usable: Int32 = 0, count: UInt32 = 0
        try connection.check(sqlcipherkit_page_layout(connection.live(), "main", &size, &usable, &count))
        return (Int(size), Int(count))
    }

    /// Moves as much as possible from the log into the database. Another connection may be running a checkpoint.
    /// - Parameter time: how long to wait for the other checkpoint.
    /// - Returns: the number of frames in the log, and the number of these that are in the database now.
    /// - Throws: ``DatabaseError/Reason/busy`` after that time.
    func checkpoint(for time: Duration = .milliseconds(200)) throws -> (frames: Int, moved: Int) {
        let result = try polling(every: 200, for: time) { () throws in try connection.main.checkpoint(.passive) }
        return (result.logFrames, result.checkpointedFrames)
    }

    /// Returns whether a connection of any process runs a checkpoint that waits for readers of the log, and keeps all connections
    /// from writing meanwhile. All kinds of checkpoints but PASSIVE wait (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
    func isCheckpointWaiting() -> Bool {
        guard let handle = try? connection.liveOutsideHooks() else { return false }
        return sqlcipherkit_log_lock_is_taken(handle, "main", 1) != 0 && sqlcipherkit_log_lock_is_taken(handle, "main", 0) != 0
    }

    /// Empties the log's file after the whole log was moved into the database.
    /// - Throws: ``DatabaseError/Reason/busy`` if the log is in use.
    func cutLog() throws { _ = try connection.main.checkpoint(.truncate) }

    /// The absolute path of the database.
    var path: String? { get throws { try connection.main.path } }

    /// Reads bytes of the database's file, encrypted as they are.
    /// - Returns: whether the file has all bytes; missing bytes are zeros.
    func readFile(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Bool {
        let rc = sqlcipherkit_read_file(try connection.live(), "main", bytes.baseAddress, Int32(bytes.count), Int64(offset))
        if rc == ResultCode.ioErrorShortRead.rawValue { return false }
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        return true
    }

    /// The key that further connections need.
    func derivedKey() throws -> DatabaseKey { try .derived(of: connection.main) }

    /// The database's salt and its key, as replication needs them.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database.
    func replicaKey() throws -> ReplicaKey {
        guard let cipher = try connection.main.cipher else {
            throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "only an encrypted database can be replicated")
        }
        return try ReplicaKey(.derived(of: connection.main), salt: cipher.salt)
    }
}

extension Connection {
    /// Leaves the log in place, with all its frames, if this connection is the last to close
    /// (<https://sqlite.org/c3ref/c_dbconfig_defensive.html>, `SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`).
    func keepLogOnClose() throws {
        var result: Int32 = 0
        try check(sqlcipherkit_db_config(liveOutsideHooks(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &result))
    }
}

/// The connections that keep a database's log, and the watch that releases the log in time.
///
/// One of two connections always has a read transaction (``LogHold``). The next transaction begins before the last transaction
/// ends. A checkpoint of another program may wait for these transactions, and keeps all connections from writing meanwhile. The
/// replica then reads the rest of the log, and releases the log. If the replica is busy for too long, the watch releases the log
/// from another thread.
final class LogHolds: Sendable {
    /// The log was given up: commits may be missing.
    struct Lost: Error {}

    private struct State {
        var current: LogHold, next: LogHold
        var isLost = false
        /// The mark up to which the log is known to be on the disk.
        var durable: LogMark?

        var isIdle: Bool { current.isIdle && next.isIdle }

        func end() {
            current.end()
            next.end()
        }
    }

    private let state: Lock<State>
    private let probe: Lock<LogHold>
    /// True if this replica checkpoints itself.
    private let isCheckpointing = Atomic<Bool>(false)
    private let isAsking = Atomic<Bool>(false)

    init(_ location: DatabaseLocation, _ key: DatabaseKey, keepsLog: Bool) throws {
        state = Lock(
            State(
                current: try LogHold(location, key: key, staysOnClose: keepsLog),
                next: try LogHold(location, key: key, staysOnClose: keepsLog)))
        probe = Lock(try LogHold(location, key: key, waits: false, staysOnClose: keepsLog))
    }

    func close() {
        state.withLock { state in
            state.end()
            state.current.close()
            state.next.close()
        }
        probe.withLock { $0.close() }
    }

    /// Begins the next transaction. The commits that it sees are on the disk when this call returns.
    /// - Throws: ``Lost`` if the log was given up.
    func begin(keepsLog: Bool = false) throws -> LogMark {
        try state.withLock { state in
            guard !state.isLost else { throw Lost() }
            let mark = try state.next.begin(keepsLog: keepsLog)
            if mark != state.durable {
                do { try state.next.makeDurable() } catch {
                    state.next.end()
                    throw error
                }
                state.durable = mark
            }
            return mark
        }
    }

    /// Ends the former transaction: the next transaction keeps the log.
    func turn() {
        state.withLock { state in
            state.current.end()
            (state.current, state.next) = (state.next, state.current)
        }
    }

    /// Holds nothing for a while.
    func pause() { state.withLock { $0.end() } }

    /// Holds nothing, and begins from scratch.
    func release() {
        state.withLock { state in
            state.end()
            state.isLost = false
        }
    }

    var isHolding: Bool { state.withLock { !$0.isIdle } }

    /// True if a checkpoint of another connection keeps others from writing while it waits for readers.
    var isCheckpointWaiting: Bool {
        !isCheckpointing.load(ordering: .sequentiallyConsistent) && probe.withLock { $0.isCheckpointWaiting() }
    }

    /// Runs a checkpoint of this replica. The watch looks for checkpoints of other programs.
    func checkpointing<R>(_ body: () throws -> R) rethrows -> R {
        isCheckpointing.store(true, ordering: .sequentiallyConsistent)
        defer { isCheckpointing.store(false, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Lets go of the log, even if frames were not read.
    private func giveUp() {
        state.withLock { state in
            guard !state.isIdle else { return }
            state.end()
            state.isLost = true
        }
    }

    /// Looks for waiting checkpoints until the task is cancelled. A checkpoint that does not wait ends soon, so only a checkpoint
    /// that is seen twice counts.
    /// - Parameters:
    ///   - patience: the time after which the log is given up.
    ///   - ask: asks the replica to let go.
    func watch(patience: Duration, ask: @escaping @Sendable () async -> Void) async {
        var since: ContinuousClock.Instant?
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))
            guard isCheckpointWaiting else {
                since = nil
                continue
            }
            guard let start = since else {
                since = .now
                continue
            }
            if !isAsking.exchange(true, ordering: .relaxed) {
                Task(executorPreference: BlockingExecutor.shared) { [self] in
                    await ask()
                    isAsking.store(false, ordering: .relaxed)
                }
            }
            if .now - start > patience { giveUp() }
        }
    }
}

/// A position in a write-ahead log, at the end of a commit (<https://sqlite.org/fileformat2.html#the_write_ahead_log>).
struct LogMark: Hashable, Sendable {
    /// The two salts of the log, as in its header and in each frame; 0 if nothing was ever written to a log.
    var salts: UInt64 = 0
    /// The number of frames up to the position; 0 for an empty log.
    var frame: UInt32 = 0
    /// The log's running checksum after the last of these frames.
    var checksum: UInt64 = 0
    /// The number of pages in the database.
    var pages: UInt32 = 0
    /// A counter of commits, which continues when the log starts from the beginning, and restarts when the log is recovered.
    var commits: UInt32 = 0

    init() {}

    /// Reads SQLite's header of the log's index, of which a snapshot is a copy.
    init(_ snapshot: UnsafePointer<sqlite3_snapshot>) {
        let bytes = UnsafeRawPointer(snapshot)
        commits = bytes.load(fromByteOffset: 8, as: UInt32.self)
        frame = bytes.load(fromByteOffset: 16, as: UInt32.self)
        pages = bytes.load(fromByteOffset: 20, as: UInt32.self)
        let sums = (bytes.load(fromByteOffset: 24, as: UInt32.self), bytes.load(fromByteOffset: 28, as: UInt32.self))
        checksum = UInt64(sums.0) << 32 | UInt64(sums.1)
        // The salts are kept as they are in the file.
        salts = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
    }
}

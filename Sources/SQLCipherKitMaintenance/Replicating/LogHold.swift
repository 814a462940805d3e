import CSQLCipher
import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A connection whose read transaction keeps a database's write-ahead log, so that every later commit can be read from it.
///
/// A read transaction has one of SQLite's read marks. With a mark in the log, no process can start the log from the beginning. With
/// the mark 0, which a reader gets when the whole log is in the database, the next writer can; but then no checkpoint moves
/// anything from the log to the database, so the log cannot start from the beginning a second time. In both cases the commits
/// after the transaction's start are in the log: either after its position, or, in a log with other salts, from the first frame.
package final class LogHold {
    private let connection: Connection

    /// - Parameters:
    ///   - waits: whether calls wait for other connections, for up to a second.
    ///   - staysOnClose: whether the log stays if this connection is the last one that closes.
    package init(_ location: DatabaseLocation, key: Encryption, waits: Bool = true, staysOnClose: Bool = false) throws {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.busyTimeout = waits ? .seconds(1) : .zero
        connection = try Connection(location, key: key, configuration: configuration)
        if staysOnClose { try connection.keepLogOnClose() }
    }

    /// Whether no transaction is open.
    package var isIdle: Bool { !connection.isInTransaction }

    /// Begins a read transaction.
    /// - Parameter keepsLog: whether it has a mark in the log even if all of the log is in the database.
    /// - Returns: the end of the log that it sees.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a database without a write-ahead log.
    package func begin(keepsLog: Bool = false) throws -> LogMark {
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

    /// Takes the write lock, which keeps all other connections from committing. A busy writer leaves it free for microseconds
    /// between its commits, so this asks for it often.
    /// - Throws: ``DatabaseError/Reason/busy`` after a fifth of a second.
    package func beginExclusive() throws(DatabaseError) {
        try polling(every: 20, for: .milliseconds(200)) { () throws(DatabaseError) in try connection.begin(.immediate) }
    }

    /// Repeats what fails because of another connection.
    private func polling<R>(
        every microseconds: UInt32, for time: Duration, _ body: () throws(DatabaseError) -> R
    ) throws(DatabaseError) -> R {
        let end = ContinuousClock.now + time
        while true {
            do { return try body() } catch {
                guard error.code.primary == .busy, .now < end else { throw error }
            }
            usleep(microseconds)
        }
    }

    /// Ends the transaction, if there is one.
    package func end() {
        guard connection.isInTransaction else { return }
        try? connection.rollback()
    }

    package func close() { connection.close() }

    private func mark() throws -> LogMark {
        var snapshot: UnsafeMutablePointer<sqlite3_snapshot>?
        let rc = sqlite3_snapshot_get(try connection.liveOutsideHooks(), "main", &snapshot)
        guard rc == SQLITE_OK, let snapshot else {
            guard rc == SQLITE_ERROR, try connection.main.hasWAL else {
                if rc == SQLITE_ERROR {
                    throw DatabaseError.misuse(
                        "only a database with a write-ahead log can be replicated: PRAGMA journal_mode = WAL gives it one")
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

    /// The size of a page in bytes, and the number of pages.
    package func layout() throws -> (pageSize: Int, pages: Int) {
        var size: Int32 = 0, usable: Int32 = 0, count: UInt32 = 0
        try connection.check(sqlcipherkit_page_layout(connection.live(), "main", &size, &usable, &count))
        return (Int(size), Int(count))
    }

    /// Moves as much as possible from the log into the database. Another connection may be doing that just now.
    /// - Parameter time: how long to wait for that.
    /// - Returns: the number of frames in the log, and the number of these that are in the database now.
    /// - Throws: ``DatabaseError/Reason/busy`` after that.
    package func checkpoint(for time: Duration = .milliseconds(200)) throws(DatabaseError) -> (frames: Int, moved: Int) {
        let result = try polling(every: 200, for: time) { () throws(DatabaseError) in try connection.main.checkpoint(.passive) }
        return (result.logFrames, result.checkpointedFrames)
    }

    /// Whether another connection, of any process, is in a checkpoint, and keeps all others from writing meanwhile: it waits for
    /// readers of the log, as all kinds but PASSIVE do (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
    package func isCheckpointWaiting() -> Bool {
        guard let handle = try? connection.liveOutsideHooks() else { return false }
        return sqlcipherkit_log_lock_is_taken(handle, "main", 1) != 0 && sqlcipherkit_log_lock_is_taken(handle, "main", 0) != 0
    }

    /// Empties the log's file, all of which is in the database.
    /// - Throws: ``DatabaseError/Reason/busy`` if it is in use.
    package func cutLog() throws(DatabaseError) { _ = try connection.main.checkpoint(.truncate) }

    /// The absolute path of the database.
    package var path: String? { get throws { try connection.main.path } }

    /// What identifies the database's file: a number of the disk and one of the file; nil if there is none under the path.
    package static func identity(of path: String) -> [UInt64]? {
        var info = stat()
        return stat(path, &info) == 0 ? [UInt64(truncatingIfNeeded: info.st_dev), UInt64(truncatingIfNeeded: info.st_ino)] : nil
    }

    /// Reads bytes of the database's file, encrypted as they are.
    /// - Returns: whether all of them are there; missing ones are zeros.
    package func readFile(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Bool {
        let rc = sqlcipherkit_read_file(try connection.live(), "main", bytes.baseAddress, Int32(bytes.count), Int64(offset))
        if rc == ResultCode.ioErrorShortRead.rawValue { return false }
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        return true
    }

    /// The key that further connections need.
    package func derivedKey() throws -> Encryption { try .derived(of: connection.main) }

    /// The database's salt and its key, as replication needs them.
    /// - Throws: ``DatabaseError/Reason/notEncrypted`` for a plaintext database.
    package func replicaKey() throws -> ReplicaKey {
        guard let cipher = try connection.main.cipher else {
            throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "only an encrypted database can be replicated")
        }
        return try ReplicaKey(.derived(of: connection.main), salt: cipher.salt)
    }
}

extension Connection {
    /// Leaves the log in place, with all its frames, if this connection is the last one that closes
    /// (<https://sqlite.org/c3ref/c_dbconfig_defensive.html>, `SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`).
    package func keepLogOnClose() throws {
        var result: Int32 = 0
        try check(sqlcipherkit_db_config(liveOutsideHooks(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &result))
    }
}

extension SharedDatabase {
    /// The file of the database, and the key that further connections to it need.
    package func replicationSource() throws -> (DatabaseLocation, Encryption) {
        try read { db in (db.location, try Encryption.derived(of: db.main)) }
    }

    /// Leaves it to the caller to keep the log from growing, until `release`. Emptying it would wait for the caller's transactions.
    package func holdLog() { checkpointer?.holds.add(1, ordering: .relaxed) }

    package func releaseLog() { checkpointer?.holds.subtract(1, ordering: .relaxed) }
}

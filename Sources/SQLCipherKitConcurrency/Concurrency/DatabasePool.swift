import CSQLCipher
import SQLCipherKitCore

/// A database with one connection that writes and several that read at the same time (<https://sqlite.org/wal.html>).
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: .passphrase("correct horse"))
/// let count = try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
/// ```
/// The pool keeps the database in write-ahead logging mode. A read sees the database as it was when the read began, without later
/// writes, and never waits for a write. ``DatabaseWriter`` has the calls.
///
/// Readers are opened when they are needed. They are read-only, and ``DatabaseConfiguration/prepareDatabase`` gives each of them
/// its functions, collations and tokenizers. The key is derived from a passphrase once, for the first connection.
public final class DatabasePool: DatabaseWriter, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: the file of the database.
    ///   - key: how the database is encrypted; nil, the default, for no encryption.
    ///   - configuration: how to open it, and the maximum number of readers. Its journal mode is ignored.
    /// - Throws: the errors of ``Connection/init(_:key:configuration:)``; ``DatabaseError/Reason/invalidArgument`` for settings out
    ///   of range, and for a database that is not in a file, which can have only one connection.
    public init(
        _ location: DatabaseLocation, key: DatabaseKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        guard location.isOnDisk else {
            throw DatabaseError.invalidArgument(
                "a pool is for a database in a file: use a DatabaseQueue for one in memory or a temporary one")
        }
        let readers = configuration.pool.maximumReaders
        guard (1...1000).contains(readers) else {
            throw DatabaseError.invalidArgument("a pool has from 1 to 1000 readers, and not \(readers)")
        }
        var configuration = configuration
        configuration.journalMode = configuration.access == .readOnly ? nil : .wal
        let writer = try Connection(location, key: key, configuration: configuration)
        if configuration.access != .readOnly, try !writer.main.hasWAL {
            throw DatabaseError.invalidArgument("a pool is for a database in a file that can have a write-ahead log")
        }
        try super.init(writer: writer)
    }
}

extension DatabasePool {
    /// Takes a snapshot of the database, including attached databases, as it is now.
    ///
    /// The call waits for writes in two cases: if databases are attached, because the snapshot must include all of them; and if the
    /// write-ahead log is empty, because the call then writes an unchanged page to the log.
    /// - Parameter timeout: how long the call may take. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/snapshotLost`` if a database has no write-ahead log, or if the log is empty and the pool is
    ///   read-only; and the errors of `read(timeout:_:)`.
    public func snapshot(timeout: Duration? = nil) throws -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        if let snapshot = try read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
        return try run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func snapshot(timeout: Duration? = nil) async throws -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        if let snapshot = try await read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
        return try await run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
    }

    // The connection of the call keeps out calls that need the database to themselves, until the snapshot is registered with the
    // pool.

    /// Takes a snapshot without writing and without blocking writes; returns nil if that is not possible.
    private func snapshotAtOnce(_ db: Connection) throws -> DatabaseSnapshot? {
        guard try db.databasesWithLog().count == 1, try db.emptyLogs().isEmpty else { return nil }
        return try takeSnapshot()
    }

    private func snapshot(from writer: Connection) throws -> DatabaseSnapshot {
        // The first frame of an empty log changes how its snapshots are identified, so write it first.
        for schema in try writer.emptyLogs() where try !schema.isReadOnly {
            try writer.execute(SQL(raw: "PRAGMA \(schema.quotedName).user_version = \(try schema.userVersion)"))
        }
        return try takeSnapshot()
    }

    private func takeSnapshot() throws -> DatabaseSnapshot {
        guard let configuration = readerConfiguration?.current else { throw DatabaseError.closedDatabase }
        let holder = try configuration.openReader()
        try holder.begin(.deferred)
        let snapshot = try DatabaseSnapshot(of: self, heldBy: holder, WALSnapshot(reading: holder))
        snapshots.add(snapshot.core)
        return snapshot
    }
}

extension Connection {
    /// All databases except `temp` and those in memory.
    fileprivate func databasesWithLog() throws -> [Schema] {
        try schemas().filter { try $0.name != "temp" && $0.path != nil }
    }

    /// The databases whose write-ahead log is empty.
    fileprivate func emptyLogs() throws -> [Schema] {
        let positions = DatabaseChanges.LogPosition.all(try live())
        return try databasesWithLog().filter { (positions[SQLName($0.name)]?.frame ?? 0) == 0 }
    }
}

/// A database with one connection, used by one call at a time.
///
/// ```swift
/// let queue = try DatabaseQueue(.file("notes.db"), key: key)
/// try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use it for a database in memory, or if reads may wait for writes; a ``DatabasePool`` has several connections. ``DatabaseWriter``
/// has the calls.
public final class DatabaseQueue: DatabaseWriter, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: where the database is.
    ///   - key: how the database is encrypted; nil, the default, for no encryption.
    ///   - configuration: how to open it.
    /// - Throws: the errors of ``Connection/init(_:key:configuration:)``.
    public init(
        _ location: DatabaseLocation, key: DatabaseKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        super.init(try Connection(location, key: key, configuration: configuration))
    }
}

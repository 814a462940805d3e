/// One database of a ``DatabaseQueue`` or a ``DatabasePool``: the main one, or an attached one.
///
/// ```swift
/// let archive = try await pool.attach(.file("archive.db"), as: "archive", key: archiveKey)
/// let settings = try SharedKeyValueStore("settings", in: archive)
/// try await pool.write { db in try db.execute("INSERT INTO archive.note SELECT * FROM note WHERE year < \(2020)") }
/// try await archive.checkpoint(.truncate)
/// try await archive.detach()
/// ```
/// It is a handle for any thread and any task: a database and a name. In a closure, `db.schema(archive.name)` is the same
/// database of the connection. After the database was detached each call throws ``DatabaseError/Reason/schemaName``.
public struct SharedSchema: Sendable {
    /// The queue or the pool.
    public let database: SharedDatabase
    /// The name of the database in SQL.
    public let name: String
}

extension SharedDatabase {
    /// The database that the queue or the pool was opened with.
    public var main: SharedSchema { SharedSchema(database: self, name: "main") }

    /// A database by its name in SQL, in any case: `main`, or what it was attached as.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if no database has that name, and what `read(timeout:_:)` throws.
    public func schema(_ name: String) throws -> SharedSchema {
        SharedSchema(database: self, name: try read { db in try db.schema(name).name })
    }

    /// The same for a task.
    public func schema(_ name: String) async throws -> SharedSchema {
        SharedSchema(database: self, name: try await read { db in try db.schema(name).name })
    }

    /// Attaches a database to all connections, also to those that are opened later (<https://sqlite.org/lang_attach.html>). A
    /// pool sets it to write-ahead logging, as it does with the main database.
    /// - Parameters:
    ///   - location: where it is; in a file, for a pool.
    ///   - name: the name it gets in SQL.
    ///   - key: how it is encrypted.
    /// - Returns: the attached database.
    /// - Throws: as ``Connection/attach(_:as:key:safeguards:)``; nothing is attached then.
    @discardableResult
    public func attach(_ location: DatabaseLocation, as name: String, key: Encryption?) throws -> SharedSchema {
        let isPool = readers != nil
        guard !isPool || location.isOnDisk else {
            throw DatabaseError.invalidArgument("a database that is not in a file cannot be attached to all connections of a pool")
        }
        try barrier { db in
            let schema = try db.attach(location, as: name, key: key)
            if isPool, try !schema.isReadOnly { try schema.setJournalMode(.wal) }
        }
        return SharedSchema(database: self, name: name)
    }

    /// The same for a task. It is not cancelled with the task.
    @discardableResult
    public func attach(_ location: DatabaseLocation, as name: String, key: Encryption?) async throws -> SharedSchema {
        try await runOnThread { try self.attach(location, as: name, key: key) }
    }
}

extension SharedSchema {
    /// Detaches the database from all connections.
    /// - Throws: as ``Schema/detach()``.
    public func detach() throws { try database.barrier { db in try db.schema(name).detach() } }

    /// The same for a task.
    public func detach() async throws { try await database.barrier { [name] db in try db.schema(name).detach() } }

    /// Moves the write-ahead log into the database. All but a passive checkpoint make new reads of a pool wait until those that
    /// run have ended.
    ///
    /// A pool does it by itself: see ``DatabaseConfiguration/Pool/checkpointSize`` and ``DatabaseConfiguration/Pool/largestLog``.
    /// - Parameter mode: how much of it. Default: as much as is possible without waiting.
    /// - Returns: what there was and what was moved; two zeroes for a database without a write-ahead log.
    /// - Throws: as ``Schema/checkpoint(_:)``; ``DatabaseError/Reason/busy`` only for readers of other processes.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) throws -> CheckpointResult {
        let (writer, observers) = (database.writer, database.observers)
        try database.checkCall()
        let slot = try writer.acquire(until: nil)
        defer { writer.release(slot) }
        // The readers of the pool itself would make the checkpoint fail.
        let readers = mode == .passive ? nil : database.readers
        if mode != .passive { try database.snapshots.requireNone(for: "a checkpoint") }
        try readers?.acquireAll()
        defer { readers?.releaseAll() }
        return try slot.run(.unrestricted) { db in
            defer { if readers != nil { observers.logsWereReset(db) } }
            return try db.schema(name).checkpoint(mode)
        }
    }

    /// The same for a task.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) async throws -> CheckpointResult {
        try await runOnThread { try self.checkpoint(mode) }
    }
}

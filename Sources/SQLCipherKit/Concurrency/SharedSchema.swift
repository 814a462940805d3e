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
    ///   - timeout: how long to wait for the calls that run. Default: nil, any time.
    /// - Returns: the attached database.
    /// - Throws: as ``Connection/attach(_:as:key:safeguards:)``; ``DatabaseError/Reason/timeout``. Nothing is attached then.
    @discardableResult
    public func attach(
        _ location: DatabaseLocation, as name: String, key: Encryption?, timeout: Duration? = nil
    ) throws -> SharedSchema {
        try claim(.closedReaders, timeout: timeout) { slot, _ in try attach(slot, location, name, key) }
        return SharedSchema(database: self, name: name)
    }

    /// The same for a task. When the task is cancelled while the call waits, nothing is attached.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func attach(
        _ location: DatabaseLocation, as name: String, key: Encryption?, timeout: Duration? = nil
    ) async throws -> SharedSchema {
        try await claim(.closedReaders, timeout: timeout) { [self] slot, _ in try attach(slot, location, name, key) }
        return SharedSchema(database: self, name: name)
    }

    private func attach(_ slot: ConnectionSlot, _ location: DatabaseLocation, _ name: String, _ key: Encryption?) throws {
        let isPool = readers != nil
        guard !isPool || location.isOnDisk else {
            throw DatabaseError.invalidArgument("a database that is not in a file cannot be attached to all connections of a pool")
        }
        try slot.run(.unrestricted) { db in
            try db.changingThisOneOnly {
                let schema = try db.attach(location, as: name, key: key)
                do { if isPool, try !schema.isReadOnly { try schema.setJournalMode(.wal) } } catch {
                    try? schema.detach()
                    throw error
                }
            }
        }
    }
}

extension SharedSchema {
    /// Detaches the database from all connections.
    /// - Parameter timeout: how long to wait for the calls that run. Default: nil, any time.
    /// - Throws: as ``Schema/detach()``; ``DatabaseError/Reason/timeout``.
    public func detach(timeout: Duration? = nil) throws {
        try database.barrier(timeout: timeout) { db in try db.schema(name).detach() }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func detach(timeout: Duration? = nil) async throws {
        try await database.barrier(timeout: timeout) { [name] db in try db.schema(name).detach() }
    }

    /// Moves the write-ahead log into the database. All but a passive checkpoint wait until no reader of the pool is at work.
    ///
    /// A pool does it by itself: see ``DatabaseConfiguration/Pool/checkpointSize`` and ``DatabaseConfiguration/Pool/largestLog``.
    /// - Parameters:
    ///   - mode: how much of it. Default: as much as is possible without waiting.
    ///   - timeout: how long the call may take. Default: nil, any time.
    /// - Returns: what there was and what was moved; two zeroes for a database without a write-ahead log.
    /// - Throws: as ``Schema/checkpoint(_:)``; ``DatabaseError/Reason/busy`` only for readers of other processes;
    ///   ``DatabaseError/Reason/timeout``.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive, timeout: Duration? = nil) throws -> CheckpointResult {
        // The readers of the pool itself would make the checkpoint fail.
        try database.claim(mode == .passive ? .writer : .idleReaders, timeout: timeout) { slot, limits in
            try checkpoint(slot, limits, mode)
        }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive, timeout: Duration? = nil) async throws -> CheckpointResult {
        try await database.claim(mode == .passive ? .writer : .idleReaders, timeout: timeout) { slot, limits in
            try checkpoint(slot, limits, mode)
        }
    }

    private func checkpoint(_ slot: ConnectionSlot, _ limits: CallLimits, _ mode: CheckpointMode) throws -> CheckpointResult {
        if mode != .passive { try database.snapshots.requireNone(for: "a checkpoint") }
        return try slot.run(.unrestricted, until: limits.deadline, limits.cancellation) { db in
            defer { if mode != .passive { database.observers.logsWereReset(db) } }
            return try db.schema(name).checkpoint(mode)
        }
    }
}

import SQLCipherKitCore

/// A database of a ``DatabaseQueue`` or a ``DatabasePool``: the main database, or an attached database.
///
/// ```swift
/// let archive = try await pool.attach(.file("archive.db"), as: "archive", key: archiveKey)
/// let settings = try SharedKeyValueStore("settings", in: archive)
/// try await pool.write { db in try db.execute("INSERT INTO archive.note SELECT * FROM note WHERE year < \(2020)") }
/// try await archive.checkpoint(.truncate)
/// try await archive.detach()
/// ```
/// It is a handle that any thread and any task can use: a database and a name. In a closure, `db.schema(archive.name)` is the same
/// database on that connection. After the database was detached, every call throws ``DatabaseError/Reason/schemaName``.
public struct SharedSchema: Sendable {
    /// The queue or the pool.
    public let database: DatabaseWriter
    /// The name of the database in SQL.
    public let name: String
}

extension DatabaseWriter {
    /// The database that the queue or the pool was opened with.
    public var main: SharedSchema { SharedSchema(database: self, name: "main") }

    /// Returns a database by its name in SQL, in any case: `main`, or the name that it was attached under.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if no database has that name, and the errors of `read(timeout:_:)`.
    public func schema(_ name: String) throws -> SharedSchema {
        SharedSchema(database: self, name: try read { db in try db.schema(name).name })
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func schema(_ name: String) async throws -> SharedSchema {
        SharedSchema(database: self, name: try await read { db in try db.schema(name).name })
    }

    /// Attaches a database to all connections, including connections opened later (<https://sqlite.org/lang_attach.html>). A pool
    /// sets it to write-ahead logging, like the main database.
    /// - Parameters:
    ///   - location: where the database is; for a pool, in a file.
    ///   - name: its name in SQL.
    ///   - key: how it is encrypted.
    ///   - timeout: how long to wait for the running calls. Default: nil, no limit.
    /// - Returns: the attached database.
    /// - Throws: the errors of ``Connection/attach(_:as:key:safeguards:)``; ``DatabaseError/Reason/timeout``. Nothing is attached
    ///   then.
    @discardableResult
    public func attach(
        _ location: DatabaseLocation, as name: String, key: DatabaseKey?, timeout: Duration? = nil
    ) throws -> SharedSchema {
        try make(attaching(location, name, key), timeout: timeout)
    }

    /// The asynchronous form. If the task is cancelled while the call waits, nothing is attached.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func attach(
        _ location: DatabaseLocation, as name: String, key: DatabaseKey?, timeout: Duration? = nil
    ) async throws -> SharedSchema {
        try await make(attaching(location, name, key), timeout: timeout)
    }

    private func attaching(_ location: DatabaseLocation, _ name: String, _ key: DatabaseKey?) -> SharedCall<SharedSchema> {
        SharedCall(.closedReaders) { [self] slot, _ in
            let isPool = readers != nil
            guard !isPool || location.isOnDisk else {
                throw DatabaseError.invalidArgument(
                    "a database that is not in a file cannot be attached to all connections of a pool")
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
            return SharedSchema(database: self, name: name)
        }
    }
}

extension SharedSchema {
    /// Detaches the database from all connections.
    /// - Parameter timeout: how long to wait for the running calls. Default: nil, no limit.
    /// - Throws: the errors of ``Schema/detach()``; ``DatabaseError/Reason/timeout``.
    public func detach(timeout: Duration? = nil) throws {
        try database.make(detaching, timeout: timeout)
    }

    /// The asynchronous form. It detaches the database even in a cancelled task.
    /// - Throws: the errors of the synchronous form.
    public func detach(timeout: Duration? = nil) async throws { try await database.make(detaching, timeout: timeout) }

    private var detaching: SharedCall<Void> {
        SharedCall(.closedReaders, cleansUp: true) { slot, limits in
            try slot.run(.alone, limits) { db in try db.schema(name).detach() }
        }
    }

    /// Moves the write-ahead log into the database. Except for a passive checkpoint, it waits until no reader of the pool is
    /// running.
    ///
    /// A pool checkpoints automatically: see ``DatabaseConfiguration/Pool/checkpointSize`` and
    /// ``DatabaseConfiguration/Pool/maximumWALSize``.
    /// - Parameters:
    ///   - mode: how much of the log to move. Default: as much as is possible without waiting.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    /// - Returns: the size of the log and how much was moved; two zeroes for a database without a write-ahead log.
    /// - Throws: the errors of ``Schema/checkpoint(_:)``; ``DatabaseError/Reason/busy`` only because of readers in other processes;
    ///   ``DatabaseError/Reason/timeout``.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive, timeout: Duration? = nil) throws -> CheckpointResult {
        try database.make(checkpointing(mode), timeout: timeout)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive, timeout: Duration? = nil) async throws -> CheckpointResult {
        try await database.make(checkpointing(mode), timeout: timeout)
    }

    private func checkpointing(_ mode: CheckpointMode) -> SharedCall<CheckpointResult> {
        // The pool's own readers would make the checkpoint fail.
        SharedCall(mode == .passive ? .writer : .idleReaders) { slot, limits in
            if mode != .passive { try database.snapshots.requireNone(for: "a checkpoint") }
            return try slot.run(.unrestricted, limits) { db in
                defer { if mode != .passive { database.observers.logsWereReset(db) } }
                return try db.schema(name).checkpoint(mode)
            }
        }
    }
}

extension DatabaseTable {
    /// A table of a database of a queue or a pool.
    public init(_ name: String, in schema: SharedSchema) { self.init(name, schemaName: schema.name) }
}

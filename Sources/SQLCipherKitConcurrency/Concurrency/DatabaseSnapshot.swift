import SQLCipherKitCore

/// A snapshot of the content of a ``DatabasePool``, which any number of tasks can read at any later time.
///
/// ```swift
/// let snapshot = try await pool.snapshot()
/// async let notes = snapshot.read { db in try db.fetchAll(Note.self, "SELECT * FROM note") }
/// async let tags = snapshot.read { db in try db.fetchAll(Tag.self, "SELECT * FROM tag") }
/// show(try await notes, try await tags)           // both from the same snapshot
/// ```
/// Attached databases are part of it. It ends with `close()`, or when its last reference goes away, and keeps its pool open until
/// then.
///
/// Calls of the pool that need the database to themselves end its snapshots: `barrier`, `attach`, `detach`, `changeKey`, `convert`,
/// `erase` and `close`. A read after that throws ``DatabaseError/Reason/snapshotLost``. Checkpoints and writes of any kind do not
/// end a snapshot. A snapshot prevents the write-ahead log from being emptied, so the log grows in the meantime, and every
/// checkpoint of the pool, except a passive checkpoint, throws ``DatabaseError/Reason/busy``.
///
/// A snapshot uses one connection with a small page cache, whose transaction keeps the content available
/// (<https://sqlite.org/c3ref/snapshot_get.html>), and one connection for each concurrent read, at most
/// ``DatabaseConfiguration/Pool/maximumReaders``. Idle connections are closed like the pool's readers.
///
/// A closure that reads the snapshot cannot call the snapshot's pool: the call throws ``DatabaseError/Reason/misuse``.
public final class DatabaseSnapshot: Sendable {
    /// The pool that the snapshot was taken from.
    public let pool: DatabasePool
    /// The connection that holds the content and never reads, and the connections that read. They work like a pool.
    let core: DatabaseWriter

    /// - Parameters:
    ///   - holder: a connection with a transaction that reads the snapshot.
    ///   - state: the snapshot.
    init(of pool: DatabasePool, heldBy holder: Connection, _ state: WALSnapshot) throws {
        self.pool = pool
        core = try DatabaseWriter(reading: state, heldBy: holder, pool.additions)
    }

    deinit {
        // Before the pool: the last connection to close empties the log, and this connection may not write. The pool knows the
        // snapshot until then, so that a call that is closing the pool waits for it.
        if (try? core.close()) != nil { pool.snapshots.remove(core) }
    }

    /// Reads the snapshot.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads from the connection. Its result must not be a part of the connection, such as a statement.
    /// - Throws: any error that `body` throws; ``DatabaseError/Reason/snapshotLost`` if the pool has ended the snapshot;
    ///   ``DatabaseError/Reason/closed`` after `close()`; and the errors of `read(timeout:_:)` of the pool.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.run(core.reading, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func read<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await core.run(core.reading, timeout: timeout, body)
    }

    /// True while the snapshot can be read.
    public var isOpen: Bool { core.isOpen }

    /// Ends the snapshot after waiting for running reads; each later read throws ``DatabaseError/Reason/closed``. Closing twice
    /// does nothing.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a closure that reads it.
    public func close() throws {
        try core.close()
        pool.snapshots.remove(core)
    }

    /// The asynchronous form. It ends the snapshot even in a cancelled task.
    /// - Throws: the errors of the synchronous form.
    public func close() async throws {
        try await core.close()
        pool.snapshots.remove(core)
    }
}

@_documentation(visibility: private)
extension DatabaseSnapshot {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    /// - Throws: the errors of the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try core.run(core.reading, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await core.run(core.reading, timeout: timeout) { db in try body(db) }
    }
}

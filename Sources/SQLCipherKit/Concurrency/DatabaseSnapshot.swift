/// A snapshot of the content of a ``DatabasePool``, which any number of tasks can read at any later time.
///
/// ```swift
/// let snapshot = try await pool.snapshot()
/// async let notes = snapshot.read { db in try db.fetchAll(Note.self, "SELECT * FROM note") }
/// async let tags = snapshot.read { db in try db.fetchAll(Tag.self, "SELECT * FROM tag") }
/// show(try await notes, try await tags)           // of the same snapshot, whatever was written meanwhile
/// ```
/// Attached databases are part of it. It ends with `close()`, or with its last reference, and holds its pool open until then.
///
/// Whatever needs the database for itself ends the pool's snapshots: `barrier`, `attach`, `detach`, `changeKey`, `convert`, `erase`
/// and `close` of the pool. A read after that throws ``DatabaseError/Reason/snapshotLost``. Checkpoints, and writes of any kind, do
/// not end it: a snapshot keeps the write-ahead log from being emptied, which grows meanwhile. So any checkpoint of the pool but a
/// passive one throws ``DatabaseError/Reason/busy`` while there is a snapshot.
///
/// A snapshot costs a connection without a page cache of much size, whose transaction keeps the content where it is
/// (<https://sqlite.org/c3ref/snapshot_get.html>), and the connections that read: as many as read at the same time,
/// ``DatabaseConfiguration/Pool/maximumReaders`` at most. They are closed as the pool's own are when they are idle.
///
/// In a closure that reads the snapshot each call of its pool throws ``DatabaseError/Reason/misuse``.
public final class DatabaseSnapshot: Sendable {
    /// The pool that it is a snapshot of.
    public let pool: DatabasePool
    /// One connection that never reads and holds the content, and those that read. As calls of a pool, in all but name.
    let core: SharedDatabase

    /// - Parameters:
    ///   - holder: a connection with a transaction that reads the snapshot.
    ///   - state: the snapshot.
    init(of pool: DatabasePool, heldBy holder: Connection, _ state: WALSnapshot) throws(DatabaseError) {
        self.pool = pool
        core = try SharedDatabase(reading: state, heldBy: holder, pool.additions)
    }

    deinit {
        // Before the pool: the last to close empties the log, and this one may not write. The pool knows the snapshot until then,
        // so that a call of the pool's that closes at this moment waits for it.
        if (try? core.close()) != nil { pool.snapshots.remove(core) }
    }

    /// Reads the snapshot.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, any time.
    ///   - body: reads. What it returns must not be part of the connection.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/snapshotLost``; ``DatabaseError/Reason/closed`` after `close()`; and
    ///   what `read(timeout:_:)` of the pool throws.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try readSent(timeout: timeout, body)
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func read<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await readSent(timeout: timeout, body)
    }

    // One way for both kinds of results.

    func readSent<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.run(core.reading, timeout: timeout, body)
    }

    func readSent<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await core.run(core.reading, timeout: timeout, body)
    }

    /// Whether the snapshot can be read.
    public var isOpen: Bool { core.isOpen }

    /// Ends the snapshot: waits for reads that run; each later one throws ``DatabaseError/Reason/closed``. Closing twice does
    /// nothing.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a closure that reads it.
    public func close() throws(DatabaseError) {
        try core.close()
        pool.snapshots.remove(core)
    }

    /// The same for a task.
    public func close() async throws {
        try await core.close()
        pool.snapshots.remove(core)
    }
}

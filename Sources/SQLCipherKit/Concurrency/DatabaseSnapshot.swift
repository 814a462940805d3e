import CSQLCipher
import Synchronization

/// The content of a ``DatabasePool`` at one moment, to be read by any number of tasks at any later time.
///
/// ```swift
/// let snapshot = try await pool.snapshot()
/// async let notes = snapshot.read { db in try db.fetchAll(Note.self, "SELECT * FROM note") }
/// async let tags = snapshot.read { db in try db.fetchAll(Tag.self, "SELECT * FROM tag") }
/// show(try await notes, try await tags)           // of the same moment, whatever was written meanwhile
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
    private let cause = Mutex<String?>(nil)

    /// - Parameters:
    ///   - holder: a connection with a transaction that reads the snapshot.
    ///   - state: the snapshot.
    init(of pool: DatabasePool, heldBy holder: Connection, _ state: WALSnapshot) throws(DatabaseError) {
        self.pool = pool
        core = try SharedDatabase(reading: state, heldBy: holder, pool.additions)
    }

    deinit {
        pool.snapshots.remove(ObjectIdentifier(self))
        // Before the pool: who closes last empties the log, and this one may not write.
        try? core.close()
    }

    /// Makes each later read throw.
    func refuse(_ cause: String) {
        self.cause.withLock { $0 = $0 ?? cause }
        core.readers?.beginClosing(.closedDatabase)
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
        do { return try core.run(core.reading, timeout: timeout, body) } catch { throw explained(error) }
    }

    func readSent<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        do { return try await core.run(core.reading, timeout: timeout, body) } catch { throw explained(error) }
    }

    /// Whether the snapshot can be read.
    public var isOpen: Bool { core.isOpen && cause.withLock { $0 } == nil }

    /// Ends the snapshot: waits for reads that run; each later one throws ``DatabaseError/Reason/closed``. Closing twice does
    /// nothing.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a closure that reads it.
    public func close() throws(DatabaseError) {
        try core.close()
        pool.snapshots.remove(ObjectIdentifier(self))
    }

    /// The same for a task.
    public func close() async throws {
        try await core.close()
        pool.snapshots.remove(ObjectIdentifier(self))
    }

    private func explained(_ error: any Error) -> any Error {
        guard let cause = cause.withLock({ $0 }), let error = error as? DatabaseError, error.reason == .closed else { return error }
        return DatabaseError(code: .errorSnapshot, reason: .snapshotLost, message: "the snapshot has ended: \(cause)")
    }
}

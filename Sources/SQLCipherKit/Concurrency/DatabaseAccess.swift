/// What gives out connections to one database, to any thread and any task: a ``DatabaseQueue`` or a ``DatabasePool``.
///
/// ```swift
/// let titles = try await database.read { db in try db.fetchAll(String.self, "SELECT title FROM note") }
/// try await database.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Each call exists in two forms. In an `async` function the asynchronous one is taken: the task is suspended, no thread waits,
/// and the work is done on the connection's own thread. Elsewhere the call waits, and works, on the thread it was made on.
///
/// Calls are served in the order in which they came. There is no limit to the number of waiting calls: a caller that produces
/// work faster than the database does it is slowed down by waiting for each call, and only by that.
///
/// The connection is lent: it, its statements and its cursors are of no use after the closure has returned, and throw
/// ``DatabaseError/Reason/misuse`` or ``DatabaseError/Reason/closed``. A call inside of a closure of the same queue or pool
/// throws ``DatabaseError/Reason/misuse``, as it would wait for itself; use the connection that is there already.
///
/// When a task is cancelled, its waiting call ends at once, and its running call soon: the statement is interrupted, the
/// transaction rolled back, and the call throws `CancellationError`. What is being committed is committed.
public protocol DatabaseAccess: Sendable {
    /// Runs `body` on a connection that can only read, and that sees one moment of the database all the time.
    /// - Parameters:
    ///   - timeout: how long the call may take, waiting and running; nil for any time.
    ///   - body: reads. What it returns must be its own, and not part of the connection.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/timeout``; ``DatabaseError/Reason/closed``;
    ///   ``DatabaseError/Reason/misuse`` inside of another call; ``DatabaseError/Reason/forked`` in a child process.
    func read<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    func read<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R

    /// Runs `body` in a transaction that may write (`BEGIN IMMEDIATE`): commits and gives its value back, or rolls back if it throws.
    /// - Parameters:
    ///   - timeout: how long the call may take, waiting and running; nil for any time. A commit that has begun is finished.
    ///   - body: reads and writes.
    /// - Throws: what `body` throws, and what beginning and committing throw, ``DatabaseError/Reason/busy`` for instance; nothing
    ///   has changed then. And what `read(timeout:_:)` throws.
    func write<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    func write<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R

    /// Runs `body` while nobody else has a connection of this queue or pool, and without a transaction: for `VACUUM`, a change of
    /// the key, and whatever else needs the database for itself.
    /// - Parameters:
    ///   - timeout: how long the call may take, waiting and running; nil for any time.
    ///   - body: may begin and end transactions; one that it leaves open is rolled back.
    /// - Throws: what `body` throws, and what `read(timeout:_:)` throws.
    func barrier<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    func barrier<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R

    /// Closes the database: calls that run are waited for, calls that wait throw ``DatabaseError/Reason/closed``, and so does each
    /// later one. Closing twice does nothing.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside of another call.
    func close() throws(DatabaseError)

    /// The same for a task.
    func close() async throws

    /// Changes the key of the database, while nobody else has a connection of this queue or pool. All of them have the new key
    /// afterwards.
    /// - Parameters:
    ///   - key: the new key.
    ///   - mode: in place, or by a new file.
    ///   - progress: called now and then; if it throws, the key stays as it was.
    /// - Throws: as ``Connection/changeKey(to:mode:progress:)``. After ``DatabaseError/Reason/rekeyFailed`` the connection is closed, and later
    ///   calls throw ``DatabaseError/Reason/closed``.
    func changeKey(to key: EncryptionKey, mode: KeyChangeMode, progress: RewriteProgressHandler?) throws

    /// Encrypts the database otherwise, or decrypts it, while nobody else has a connection of this queue or pool, and goes on with it.
    /// - Parameters:
    ///   - target: how it shall be encrypted.
    ///   - progress: called now and then; if it throws, nothing has changed.
    /// - Throws: as ``DatabaseConverter/convert(fileAt:from:to:pageSize:configuration:progress:)``.
    func convert(to target: Encryption, progress: RewriteProgressHandler?) throws

    /// Whether `close()` has not been called.
    var isOpen: Bool { get }
}

extension DatabaseAccess {
    /// Runs `body` on a connection that can only read, and that sees one moment of the database all the time.
    /// - Throws: as `read(timeout:_:)`.
    @inlinable
    public func read<R>(_ body: (Connection) throws -> sending R) throws -> sending R { try read(timeout: nil, body) }

    /// The same for a task.
    @inlinable
    public func read<R>(_ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await read(timeout: nil, body)
    }

    /// Runs `body` in a transaction that may write: commits and gives its value back, or rolls back if it throws.
    /// - Throws: as `write(timeout:_:)`.
    @inlinable
    @discardableResult
    public func write<R>(_ body: (Connection) throws -> sending R) throws -> sending R { try write(timeout: nil, body) }

    /// The same for a task.
    @inlinable
    @discardableResult
    public func write<R>(_ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await write(timeout: nil, body)
    }

    /// Runs `body` while nobody else has a connection of this queue or pool, and without a transaction.
    /// - Throws: as `barrier(timeout:_:)`.
    @inlinable
    @discardableResult
    public func barrier<R>(_ body: (Connection) throws -> sending R) throws -> sending R { try barrier(timeout: nil, body) }

    /// The same for a task.
    @inlinable
    @discardableResult
    public func barrier<R>(_ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await barrier(timeout: nil, body)
    }

    /// Changes the key of the database in place.
    /// - Throws: as ``changeKey(to:mode:progress:)``.
    public func changeKey(to key: EncryptionKey, mode: KeyChangeMode = .inPlace) throws {
        try changeKey(to: key, mode: mode, progress: nil)
    }

    /// The same for a task. It is not cancelled with the task.
    public func changeKey(to key: EncryptionKey, mode: KeyChangeMode = .inPlace) async throws {
        try await runOnThread { try changeKey(to: key, mode: mode, progress: nil) }
    }

    /// Encrypts the database otherwise, or decrypts it.
    /// - Throws: as ``convert(to:progress:)``.
    public func convert(to target: Encryption) throws { try convert(to: target, progress: nil) }

    /// The same for a task. It is not cancelled with the task.
    public func convert(to target: Encryption) async throws { try await runOnThread { try convert(to: target, progress: nil) } }

    /// Attaches a database to all connections, those that will be opened among them
    /// (<https://sqlite.org/lang_attach.html>). With a pool it is set to write-ahead logging, as the main database is.
    /// - Parameters:
    ///   - location: where it is; in a file, for a pool.
    ///   - name: the name it gets in SQL.
    ///   - key: how it is encrypted.
    /// - Throws: as ``Connection/attach(_:as:key:)``; nothing is attached then.
    public func attach(_ location: DatabaseLocation, as name: String, key: AttachKey) throws {
        let isPool = self is DatabasePool
        guard !isPool || location.isOnDisk else {
            throw DatabaseError.invalidArgument("a database that is not in a file cannot be attached to all connections of a pool")
        }
        try barrier { db in
            try db.attach(location, as: name, key: key)
            if isPool, try !db.schema(name).isReadOnly { _ = try db.fetchOne(String.self, SQL(raw: "PRAGMA \(name.quotedSQLIdentifier).journal_mode = WAL")) }
        }
    }

    /// The same for a task. It is not cancelled with the task.
    public func attach(_ location: DatabaseLocation, as name: String, key: AttachKey) async throws {
        try await runOnThread { try attach(location, as: name, key: key) }
    }

    /// Detaches a database from all connections.
    /// - Throws: as ``Connection/detach(_:)``.
    public func detach(_ name: String) throws { try barrier { db in try db.detach(name) } }

    /// The same for a task.
    public func detach(_ name: String) async throws { try await barrier { db in try db.detach(name) } }
}

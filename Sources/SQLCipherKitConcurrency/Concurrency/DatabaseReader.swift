import SQLCipherKitCore

/// Read-only access to a queue, a pool or a snapshot: for a part of your program that must not write.
///
/// ```swift
/// func titles(_ database: DatabaseReader) async throws -> [String] {
///     try await database.read { db in try db.fetchAll(String.self, "SELECT title FROM note") }
/// }
/// try await titles(pool.reader)
/// try await titles(snapshot.reader)
/// ```
/// The reader does not give access to its source. Copies read the same source.
public struct DatabaseReader: Sendable {
    /// The connections that read.
    private let core: DatabaseWriter
    /// Nil for the current state of a queue or a pool.
    private let snapshot: DatabaseSnapshot?

    /// Creates a reader of a queue or a pool. Each read sees the current state.
    public init(_ database: DatabaseWriter) { (core, snapshot) = (database, nil) }

    /// Creates a reader of a snapshot.
    public init(_ snapshot: DatabaseSnapshot) { (core, self.snapshot) = (snapshot.core, snapshot) }

    /// True while the database, or the snapshot, can be read.
    public var isOpen: Bool { core.isOpen }

    /// Runs `body` on a connection that can only read and that sees one consistent snapshot of the database.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads from the connection. Its result must not be a part of the connection, such as a statement.
    /// - Throws: the errors of `read(timeout:_:)` of the ``DatabaseWriter`` or ``DatabaseSnapshot`` that is read.
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

    /// Observes the results of a read, now and after each commit that may have changed them; see ``DatabaseObservation``. A
    /// snapshot does not change: a loop over the observation of a snapshot throws ``DatabaseError/Reason/misuse``.
    /// - Parameter fetch: reads the result, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        guard let snapshot else { return core.observe(fetch) }
        return snapshot.pool.observe { _ in throw DatabaseError.misuse("a snapshot never changes: read it") }
    }
}

@_documentation(visibility: private)
extension DatabaseReader {
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

extension DatabaseWriter {
    /// Read-only access to the database, for a part of your program that must not write.
    public final var reader: DatabaseReader { DatabaseReader(self) }
}

extension DatabaseSnapshot {
    /// The snapshot as a reader, for functions that take a reader.
    public var reader: DatabaseReader { DatabaseReader(self) }
}

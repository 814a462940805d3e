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
/// The reader does not give access to its source. A copy is the same reader.
public struct DatabaseReader: Sendable {
    private enum Source {
        case database(SharedDatabase)
        case snapshot(DatabaseSnapshot)
    }

    private let source: Source

    /// Reads a queue or a pool, in its current state at each read.
    public init(_ database: SharedDatabase) { source = .database(database) }

    /// Reads a snapshot.
    public init(_ snapshot: DatabaseSnapshot) { source = .snapshot(snapshot) }

    /// Whether the database, or the snapshot, can be read.
    public var isOpen: Bool {
        switch source {
        case .database(let database): database.isOpen
        case .snapshot(let snapshot): snapshot.isOpen
        }
    }

    /// Reads, like `read(timeout:_:)` of ``SharedDatabase`` and ``DatabaseSnapshot``.
    public func read<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try readSent(timeout: timeout, body)
    }

    /// The asynchronous form.
    public func read<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await readSent(timeout: timeout, body)
    }

    // One implementation for both kinds of results.

    func readSent<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        switch source {
        case .database(let database): try database.run(database.reading, timeout: timeout, body)
        case .snapshot(let snapshot): try snapshot.readSent(timeout: timeout, body)
        }
    }

    func readSent<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        switch source {
        case .database(let database): try await database.run(database.reading, timeout: timeout, body)
        case .snapshot(let snapshot): try await snapshot.readSent(timeout: timeout, body)
        }
    }

    /// Gives the results of a read, now and after each commit that may have changed them; see ``DatabaseObservation``. A snapshot
    /// does not change: observing it throws ``DatabaseError/Reason/misuse``.
    public func observe<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        switch source {
        case .database(let database): database.observe(fetch)
        case .snapshot(let snapshot):
            snapshot.pool.observe { _ in throw DatabaseError.misuse("a snapshot does not change: read it") }
        }
    }
}

extension SharedDatabase {
    /// Read-only access to the database, for a part of your program that must not write.
    public final var reader: DatabaseReader { DatabaseReader(self) }
}

extension DatabaseSnapshot {
    /// The snapshot as a reader, for functions that take one.
    public var reader: DatabaseReader { DatabaseReader(self) }
}

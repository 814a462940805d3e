/// A database with one connection, used by one call at a time.
///
/// ```swift
/// let queue = try DatabaseQueue(.file("notes.db"), key: key)
/// try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// For a database in memory, or where reads need not go on during a write; ``DatabasePool`` has several connections. How calls
/// behave says ``DatabaseAccess``.
///
/// It closes when it is let go of, or with ``close()``.
public final class DatabaseQueue: DatabaseAccess {
    let core: DatabaseCore

    /// Opens a database.
    /// - Parameters:
    ///   - location: where it is.
    ///   - key: the key; nil for a plaintext database.
    ///   - configuration: how to open it.
    /// - Throws: as ``Connection/init(_:key:configuration:)``.
    public convenience init(_ location: Location, key: EncryptionKey? = nil, configuration: Configuration = Configuration()) throws {
        try self.init(Connection(location, key: key, configuration: configuration))
    }

    init(_ connection: sending Connection) throws {
        core = DatabaseCore(writer: ConnectionSlot(connection) { throw DatabaseError.closedConnection })
    }

    public func read<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.run(.readOnly, timeout: timeout, body)
    }

    public func read<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await core.run(.readOnly, timeout: timeout, body)
    }

    public func write<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.run(.write, timeout: timeout, body)
    }

    public func write<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await core.run(.write, timeout: timeout, body)
    }

    public func barrier<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.runAlone(timeout: timeout, body)
    }

    public func barrier<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await core.runAlone(timeout: timeout, body)
    }

    public func close() throws(DatabaseError) { try core.close() }

    public var isOpen: Bool { core.isOpen }
}

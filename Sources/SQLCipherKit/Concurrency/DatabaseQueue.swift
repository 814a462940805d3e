/// A database with one connection, used by one call at a time.
///
/// ```swift
/// let queue = try DatabaseQueue(.file("notes.db"), key: key)
/// try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// For a database in memory, or where reads need not go on during a write; ``DatabasePool`` has several connections. How calls
/// behave says ``DatabaseAccess``.
///
/// It closes when it is let go of, or with ``close()-64w37``.
public final class DatabaseQueue: DatabaseAccess {
    let core: DatabaseCore

    /// Opens a database.
    /// - Parameters:
    ///   - location: where it is.
    ///   - key: the key; nil for a plaintext database.
    ///   - configuration: how to open it.
    /// - Throws: as ``Connection/init(_:key:configuration:)``.
    public convenience init(_ location: DatabaseLocation, key: EncryptionKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        try self.init(Connection(location, key: key, configuration: configuration))
    }

    /// Opens a database with the key that a provider gives.
    /// - Throws: as ``Connection/init(_:keyProvider:configuration:)``.
    public convenience init(
        _ location: DatabaseLocation, keyProvider: some KeyProvider, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        try self.init(Connection(location, keyProvider: keyProvider, configuration: configuration))
    }

    /// Opens a database with a passphrase or recovery key for one of its key slots.
    /// - Throws: as ``Connection/init(_:slots:secret:first:configuration:)``.
    public convenience init(
        _ location: DatabaseLocation, slots place: KeySlots.Place, secret: SlotSecret, first label: String? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let slots = try KeySlots.unlock(secret, of: location, at: place, first: label, configuration: configuration)
        try self.init(slots, configuration: configuration)
    }

    /// Opens the database of slots that are unlocked.
    /// - Throws: as ``Connection/init(_:configuration:)``.
    public convenience init(_ slots: KeySlots, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        try self.init(Connection(slots, configuration: configuration))
    }

    private init(_ connection: Connection) throws { core = DatabaseCore(connection) }

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

    public func close() async throws { try await runOnThread { [core] in try core.close() } }

    public func changeKey(to key: EncryptionKey, mode: KeyChangeMode, progress: RewriteProgressHandler?) throws {
        try core.changeKey(to: key, mode, progress)
    }

    public func convert(to target: Encryption, progress: RewriteProgressHandler?) throws { try core.convert(to: target, progress) }

    public var isOpen: Bool { core.isOpen }
}

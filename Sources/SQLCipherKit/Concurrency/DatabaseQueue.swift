/// A database with one connection, used by one call at a time.
///
/// ```swift
/// let queue = try DatabaseQueue(.file("notes.db"), key: key)
/// try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use it for a database in memory, or where reads may wait for writes; a ``DatabasePool`` has several connections. The calls are
/// those of ``SharedDatabase``.
public final class DatabaseQueue: SharedDatabase, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: where it is.
    ///   - key: the key; nil for a plaintext database.
    ///   - configuration: how to open it.
    /// - Throws: as ``Connection/init(_:key:configuration:)``.
    public init(_ location: DatabaseLocation, key: EncryptionKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        super.init(try Connection(location, key: key, configuration: configuration))
    }

    /// Opens a database with the key that a provider gives.
    /// - Throws: as ``Connection/init(_:keyProvider:configuration:)``.
    public init(
        _ location: DatabaseLocation, keyProvider: some KeyProvider, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        super.init(try Connection(location, keyProvider: keyProvider, configuration: configuration))
    }

    /// Opens a database with a passphrase or recovery key for one of its key slots.
    /// - Throws: as ``Connection/init(_:slots:secret:first:configuration:)``.
    public init(
        _ location: DatabaseLocation, slots place: KeySlots.Place, secret: SlotSecret, first label: String? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let slots = try KeySlots.unlock(secret, of: location, at: place, first: label, configuration: configuration)
        super.init(try Connection(slots, configuration: configuration))
    }

    /// Opens the database of slots that are unlocked.
    /// - Throws: as ``Connection/init(_:configuration:)``.
    public init(_ slots: KeySlots, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        super.init(try Connection(slots, configuration: configuration))
    }
}

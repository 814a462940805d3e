/// A database with one connection that writes and several that read, at the same time (<https://sqlite.org/wal.html>).
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: .passphrase("correct horse"))
/// let count = try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
/// ```
/// The pool keeps the database in write-ahead logging mode. A read sees the database as it was when the read began, whatever is
/// written meanwhile, and never waits for a write. The calls are those of ``SharedDatabase``.
///
/// Readers are opened when they are needed. They are read-only, and have what ``DatabaseConfiguration/prepare`` gives to each
/// connection: functions, collations, tokenizers. The key is derived from a passphrase once, for the first connection.
public final class DatabasePool: SharedDatabase, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: where it is: in a file.
    ///   - key: the key; nil for a plaintext database.
    ///   - configuration: how to open it, and how many readers there may be. Its journal mode does not count.
    /// - Throws: as ``Connection/init(_:key:configuration:)``; ``DatabaseError/Reason/invalidArgument`` for a database that is not
    ///   in a file, which has only one connection, and for settings out of range.
    public convenience init(_ location: DatabaseLocation, key: EncryptionKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        try self.init(location, configuration) { try Connection(location, key: key, configuration: $0) }
    }

    /// Opens a database with the key that a provider gives.
    /// - Throws: as ``init(_:key:configuration:)`` and ``Connection/init(_:keyProvider:configuration:)``.
    public convenience init(
        _ location: DatabaseLocation, keyProvider: some KeyProvider, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        try self.init(location, configuration) { try Connection(location, keyProvider: keyProvider, configuration: $0) }
    }

    /// Opens a database with a passphrase or recovery key for one of its key slots.
    /// - Throws: as ``init(_:key:configuration:)`` and ``Connection/init(_:slots:secret:first:configuration:)``.
    public convenience init(
        _ location: DatabaseLocation, slots place: KeySlots.Place, secret: SlotSecret, first label: String? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let slots = try KeySlots.unlock(secret, of: location, at: place, first: label, configuration: configuration)
        try self.init(slots, configuration: configuration)
    }

    /// Opens the database of slots that are unlocked.
    /// - Throws: as ``init(_:key:configuration:)`` and ``Connection/init(_:configuration:)``.
    public convenience init(_ slots: KeySlots, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws {
        try self.init(slots.location, configuration) { try Connection(slots, configuration: $0) }
    }

    private init(_ location: DatabaseLocation, _ configuration: DatabaseConfiguration, _ open: (DatabaseConfiguration) throws -> Connection) throws {
        guard location.isOnDisk else {
            throw DatabaseError.invalidArgument("a pool is for a database in a file: use a DatabaseQueue for one in memory or a temporary one")
        }
        let readers = configuration.pool.maximumReaders
        guard (1...1000).contains(readers) else { throw DatabaseError.invalidArgument("a pool has from 1 to 1000 readers, and not \(readers)") }
        var configuration = configuration
        configuration.journalMode = configuration.access == .readOnly ? nil : .wal
        let writer = try open(configuration)
        guard try configuration.access == .readOnly || writer.main.hasWAL else {
            throw DatabaseError.invalidArgument("a pool is for a database in a file that can have a write-ahead log")
        }
        try super.init(writer: writer)
    }
}

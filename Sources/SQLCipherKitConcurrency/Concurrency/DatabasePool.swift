import SQLCipherKitCore

/// A database with one connection that writes and several that read at the same time (<https://sqlite.org/wal.html>).
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: .passphrase("correct horse"))
/// let count = try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
/// ```
/// The pool keeps the database in write-ahead logging mode. A read sees the database as it was when the read began, whatever is
/// written in the meantime, and never waits for a write. ``SharedDatabase`` has the calls.
///
/// Readers are opened when they are needed. They are read-only, and ``DatabaseConfiguration/prepare`` gives each of them its
/// functions, collations and tokenizers. The key is derived from a passphrase once, for the first connection.
public final class DatabasePool: SharedDatabase, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: the file of the database.
    ///   - key: how the database is encrypted; nil, the default, for no encryption.
    ///   - configuration: how to open it, and the maximum number of readers. Its journal mode is ignored.
    /// - Throws: as ``Connection/init(_:key:configuration:)``; ``DatabaseError/Reason/invalidArgument`` for settings out of range,
    ///   and for a database that is not in a file, which can have only one connection.
    public init(
        _ location: DatabaseLocation, key: Encryption? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws(DatabaseError) {
        guard location.isOnDisk else {
            throw DatabaseError.invalidArgument(
                "a pool is for a database in a file: use a DatabaseQueue for one in memory or a temporary one")
        }
        let readers = configuration.pool.maximumReaders
        guard (1...1000).contains(readers) else {
            throw DatabaseError.invalidArgument("a pool has from 1 to 1000 readers, and not \(readers)")
        }
        var configuration = configuration
        configuration.journalMode = configuration.access == .readOnly ? nil : .wal
        let writer = try Connection(location, key: key, configuration: configuration)
        if configuration.access != .readOnly, try !writer.main.hasWAL {
            throw .invalidArgument("a pool is for a database in a file that can have a write-ahead log")
        }
        try super.init(writer: writer)
    }
}

import SQLCipherKitCore

/// A database with one connection, used by one call at a time.
///
/// ```swift
/// let queue = try DatabaseQueue(.file("notes.db"), key: key)
/// try await queue.write { db in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
/// ```
/// Use it for a database in memory, or if reads may wait for writes; a ``DatabasePool`` has several connections. ``SharedDatabase``
/// has the calls.
public final class DatabaseQueue: SharedDatabase, @unchecked Sendable {
    /// Opens a database.
    /// - Parameters:
    ///   - location: where the database is.
    ///   - key: how the database is encrypted; nil, the default, for no encryption.
    ///   - configuration: how to open it.
    /// - Throws: as ``Connection/init(_:key:configuration:)``.
    public init(
        _ location: DatabaseLocation, key: Encryption? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws(DatabaseError) {
        super.init(try Connection(location, key: key, configuration: configuration))
    }
}

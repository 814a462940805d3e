import Synchronization

/// A database with one connection that writes and several that read, at the same time (<https://sqlite.org/wal.html>).
///
/// ```swift
/// let pool = try DatabasePool(.file("notes.db"), key: .passphrase("correct horse"))
/// let count = try await pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") }
/// ```
/// The pool keeps the database in write-ahead logging mode. A read sees the database as it was when the read began, whatever is
/// written meanwhile, and never waits for a write. How calls behave says ``DatabaseAccess``.
///
/// Readers are opened when they are needed. They are read-only, and have what ``Configuration/prepare`` gives to each connection:
/// functions, collations, tokenizers. The key is derived from a passphrase once, for the first connection.
///
/// It closes when it is let go of, or with ``close()``.
public final class DatabasePool: DatabaseAccess {
    let core: DatabaseCore
    /// Where the database is.
    public let location: Location
    let configuration: Configuration
    private let recipe: SharedRecipe

    /// Opens a database.
    /// - Parameters:
    ///   - location: where it is: in a file.
    ///   - key: the key; nil for a plaintext database.
    ///   - configuration: how to open it. Its journal mode does not count.
    ///   - maximumReaders: how many reads may be done at a time. Default: 5.
    /// - Throws: as ``Connection/init(_:key:configuration:)``; ``DatabaseError/Reason/invalidArgument`` for a database that is not
    ///   in a file, which has only one connection.
    public init(
        _ location: Location, key: EncryptionKey? = nil, configuration: Configuration = Configuration(), maximumReaders: Int = 5
    ) throws {
        guard location.isOnDisk else {
            throw DatabaseError.invalidArgument("a pool is for a database in a file: use a DatabaseQueue for one in memory or a temporary one")
        }
        guard (1...1000).contains(maximumReaders) else { throw DatabaseError.invalidArgument("a pool with \(maximumReaders) readers") }
        var configuration = configuration
        configuration.journalMode = configuration.access == .readOnly ? nil : .wal
        let writer = try Connection(location, key: key, configuration: configuration)
        if configuration.journalMode != nil, try !writer.hasWAL("main") {
            throw DatabaseError.invalidArgument("a pool is for a database in a file that can have a write-ahead log")
        }
        let recipe = SharedRecipe(try ReaderRecipe(writer))
        let readerConfiguration = configuration
        let readers = (0..<maximumReaders).map { _ in
            ConnectionSlot { try recipe.current.open(location, readerConfiguration) }
        }
        core = DatabaseCore(
            writer: ConnectionSlot(writer) { throw DatabaseError.closedConnection }, readers: readers,
            afterBarrier: { db in
                // The key or the attached databases may have changed.
                if let now = try? ReaderRecipe(db) { recipe.current = now }
            })
        (self.location, self.configuration, self.recipe) = (location, configuration, recipe)
    }

    public func read<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try core.run(.read, timeout: timeout, body)
    }

    public func read<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try await core.run(.read, timeout: timeout, body)
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

/// A recipe that readers are opened by until it changes.
final class SharedRecipe: Sendable {
    private let recipe: Mutex<ReaderRecipe>

    init(_ recipe: ReaderRecipe) { self.recipe = Mutex(recipe) }

    var current: ReaderRecipe {
        get { recipe.withLock { $0 } }
        set { recipe.withLock { $0 = newValue } }
    }
}

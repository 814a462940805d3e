import CSQLCipher

/// A connection to one database, encrypted or plain.
///
/// ```swift
/// let db = try Connection(.file("notes.db"), key: .passphrase("correct horse"))
/// try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
/// try db.execute("INSERT INTO note(title) VALUES (\(title))")
/// let titles = try db.fetchAll(String.self, "SELECT title FROM note")
/// ```
/// Opening either gives a connection that has read the database with the key, or throws. A connection is synchronous and
/// belongs to one thread at a time: it is not `Sendable`. It closes when it is let go of, or with ``close()``; after that
/// every call throws ``DatabaseError/Reason/closed``.
public final class Connection {
    /// SQLite's connection; nil once closed.
    @usableFromInline var handle: OpaquePointer?
    /// What the connection was opened with.
    public let configuration: Configuration
    /// Where the database is.
    public let location: Location
    @usableFromInline let dateStrategy: DateStrategy
    @usableFromInline var cache: StatementCache
    private unowned(unsafe) var statements: Statement?
    /// An error thrown by a Swift callback while SQLite was on the stack; it is rethrown in place of SQLite's own.
    private var callbackError: DatabaseError?
    /// Whether the main database was opened with a key.
    var isKeyed = false
    /// The cipher settings of attached databases, by their names in lower case.
    var attachedCiphers: [String: CipherConfiguration] = [:]

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - location: where it is.
    ///   - key: the key; nil for a plaintext database. A new file gets this key for good.
    ///   - configuration: how to open it.
    /// - Throws: ``DatabaseError`` with the reason ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   ``DatabaseError/Reason/notEncrypted``, ``DatabaseError/Reason/cannotOpen`` (naming the path),
    ///   ``DatabaseError/Reason/busy`` or ``DatabaseError/Reason/invalidKey``; and what ``Configuration/onCreate`` and
    ///   ``Configuration/prepare`` throw.
    public init(_ location: Location, key: EncryptionKey? = nil, configuration: Configuration = Configuration()) throws {
        self.location = location
        self.configuration = configuration
        dateStrategy = configuration.dateStrategy
        cache = StatementCache(capacity: configuration.statementCacheCapacity)
        do { try open(key: key) } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    /// Whether the connection is open.
    public var isOpen: Bool { handle != nil }

    /// Closes the connection: an open transaction is rolled back, cursors and statements end, locks are released. Closing
    /// twice does nothing.
    public func close() {
        guard let handle else { return }
        self.handle = nil
        cache.removeAll()
        while let statement = statements { statement.invalidate() }
        // The _v2 form: a row on the stack may still be read, and its statement is finalized by the call that reads it.
        sqlite3_close_v2(handle)
    }

    /// The handle, for as long as the connection is open.
    @inlinable
    @inline(__always)
    func live() throws(DatabaseError) -> OpaquePointer {
        guard let handle else { throw DatabaseError.closedConnection }
        return handle
    }

    // MARK: The list of statements

    func register(_ statement: Statement) {
        statement.next = statements
        statements?.previous = statement
        statements = statement
    }

    func unregister(_ statement: Statement) {
        if let previous = statement.previous { previous.next = statement.next } else { statements = statement.next }
        statement.next?.previous = statement.previous
        statement.previous = nil
        statement.next = nil
    }

    /// Whether a ``RowCursor`` has not come to its end.
    public var hasOpenCursors: Bool {
        var statement = statements
        while let current = statement {
            if current.isCursor { return true }
            statement = current.next
        }
        return false
    }

    /// Ends all cursors: their next call throws ``DatabaseError/Reason/closed``.
    public func closeCursors() {
        var statement = statements
        while let current = statement {
            statement = current.next
            if current.isCursor { current.invalidate() }
        }
    }

    // MARK: Errors

    /// Throws if a call of the C API was not OK.
    func check(_ rc: Int32, sql: String? = nil) throws(DatabaseError) {
        if rc != SQLITE_OK { throw failure(rc, sql: sql) }
    }

    func failure(_ rc: Int32, sql: String? = nil) -> DatabaseError {
        takeCallbackError() ?? DatabaseError(rc: rc, database: handle, sql: sql)
    }

    /// Keeps the error that a Swift callback has thrown until SQLite's call returns.
    func keepCallbackError(_ error: DatabaseError) { callbackError = error }

    func takeCallbackError() -> DatabaseError? {
        guard let error = callbackError else { return nil }
        callbackError = nil
        return error
    }
}

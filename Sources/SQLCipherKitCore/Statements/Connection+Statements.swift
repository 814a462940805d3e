import CSQLCipher

extension Connection {
    /// Prepares a statement, for loops that run it many times. The text must contain exactly one statement.
    /// - Throws: SQLite's error, with the offset of a syntax error; ``DatabaseError/Reason/misuse`` for no statement or several,
    ///   and inside a hook; or ``DatabaseError/Reason/closed``.
    public func prepare(_ sql: SQL) throws -> Statement { try prepare(sql, isPersistent: false) }

    /// Prepares a statement, and tells SQLite how long you will keep it.
    /// - Parameters:
    ///   - sql: the statement.
    ///   - isPersistent: whether the statement is kept for long. It then does not take its memory from the pool that SQLite
    ///     reserves for short-lived objects (`SQLITE_PREPARE_PERSISTENT`, <https://sqlite.org/c3ref/c_prepare_dont_log.html>).
    /// - Throws: the same errors as ``prepare(_:)``.
    public func prepare(_ sql: SQL, isPersistent: Bool) throws -> Statement {
        let statement = try prepareOnly(sql.text, keepsConnection: true, isPersistent: isPersistent)
        if !sql.arguments.isEmpty { try statement.bind(sql.arguments) }
        return statement
    }

    /// Runs a statement and ignores any rows that it returns.
    ///
    /// Values interpolated into the literal are bound, not inserted into the text:
    /// ```swift
    /// try db.execute("INSERT INTO note(title) VALUES (\(title))")
    /// try db.execute("INSERT INTO note(title, stars) VALUES (:title, :stars)", ["title": title, "stars": nil])
    /// ```
    /// For several statements, see ``SQLScript``.
    /// - Throws: SQLite's error, with the SQL; ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters;
    ///   ``DatabaseError/Reason/closed``; ``DatabaseError/Reason/misuse`` for no statement or several, and inside a hook; or
    ///   ``DatabaseError/Reason/refusedSQL`` for SQL that could change a key or a file.
    @inlinable
    public func execute(_ sql: SQL, _ arguments: StatementArguments = []) throws {
        try withCached(sql, arguments) { statement, arguments in try statement.execute(arguments) }
    }

    /// Calls `body` with each row, without keeping any.
    /// - Throws: SQLite's error, or any error that `body` throws; either ends the loop.
    @inlinable
    public func forEach(_ sql: SQL, _ arguments: StatementArguments = [], _ body: (borrowing Row) throws -> Void) throws {
        try withCached(sql, arguments) { statement, arguments in try statement.forEach(arguments, body) }
    }

    // MARK: Counts

    /// The row id of the last row inserted, 0 if there was none
    /// (<https://sqlite.org/c3ref/last_insert_rowid.html>).
    public var lastInsertedRowID: Int64 { usableHandle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed directly, not through triggers and foreign keys
    /// (<https://sqlite.org/c3ref/changes.html>).
    public var changes: Int { usableHandle.map { Int(sqlite3_changes64($0)) } ?? 0 }

    /// The number of rows changed since the connection was opened, including by triggers and foreign keys.
    package var totalChanges: Int { usableHandle.map { Int(sqlite3_total_changes64($0)) } ?? 0 }

    // MARK: The cache

    /// The statement for a text, from the cache if it is there and not in use, otherwise newly prepared.
    @usableFromInline
    package func cached(_ sql: SQL) throws -> Statement {
        _ = try live()
        if let found = cache.find(sql) { return found }
        let text = sql.text
        let statement = try prepareOnly(text, keepsConnection: false)
        cache.insert(statement, text)
        return statement
    }

    /// Calls `body` with the statement for a text and with the values interpolated into the text or given separately, without
    /// copying them.
    @inlinable
    @inline(__always)
    package func withCached<R>(
        _ sql: SQL, _ arguments: StatementArguments, _ body: (Statement, StatementArguments) throws -> R
    ) throws -> R {
        let statement = try cached(sql)
        if arguments.isEmpty { return try body(statement, sql.arguments) }
        if !sql.arguments.isEmpty { throw mixedArguments(sql) }
        return try body(statement, arguments)
    }

    @usableFromInline
    func mixedArguments(_ sql: SQL) -> DatabaseError {
        DatabaseError(
            code: .misuse, reason: .parameters, message: "values are either interpolated or given as a list, not both",
            sql: sql.text)
    }

    // MARK: Preparing

    /// A statement for the connection's own use, which does not keep the connection alive.
    package func prepareKept(_ text: String) throws -> Statement { try prepareOnly(text, keepsConnection: false) }

    /// A statement for one cursor, with its values.
    package func openCursor(_ sql: SQL, _ arguments: StatementArguments) throws -> Statement {
        let statement = try prepareOnly(sql.text, keepsConnection: true, isCursor: true)
        if !arguments.isEmpty, !sql.arguments.isEmpty { throw mixedArguments(sql) }
        try statement.bind(arguments.isEmpty ? sql.arguments : arguments)
        return statement
    }

    private func prepareOnly(
        _ text: String, keepsConnection: Bool, isPersistent: Bool = false, isCursor: Bool = false
    ) throws -> Statement {
        var text = try SQLText(text)
        let made = try prepareNext(
            of: &text, keepsConnection: keepsConnection, isPersistent: isPersistent || !keepsConnection, isCursor: isCursor)
        guard let statement = made else {
            throw DatabaseError.misuse("there is no statement in the text", sql: text.all)
        }
        let rest = text.rest
        guard rest == .nothing || rest == .comments && allowsComments else {
            throw DatabaseError.misuse("the text holds more than one statement: use SQLScript for several", sql: text.all)
        }
        return statement
    }

    private var allowsComments: Bool {
        var isOn: Int32 = 0
        return handle.map { sqlcipherkit_db_config($0, SQLITE_DBCONFIG_ENABLE_COMMENTS, -1, &isOn) } == SQLITE_OK && isOn != 0
    }

    /// Compiles the next statement of a text and advances past it. Returns nil if only blanks and comments are left.
    func prepareNext(
        of text: inout SQLText, keepsConnection: Bool = true, isPersistent: Bool = false, isCursor: Bool = false
    ) throws -> Statement? {
        let handle = try liveForUse()
        // Cached statements live long: this flag keeps them out of SQLite's lookaside memory.
        let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        while !text.isAtEnd {
            var prepared: OpaquePointer?
            let rc = EngineLog.withholding(text.all) {
                text.advance { start, count, tail in sqlite3_prepare_v3(handle, start, count, flags, &prepared, tail) }
            }
            guard self.handle != nil else {
                // Closed by a callback in the middle of compiling.
                sqlite3_finalize(prepared)
                finishClosing()
                throw DatabaseError.closedConnection
            }
            guard rc == SQLITE_OK else { throw failure(rc, sql: text.excerpt) }
            if let prepared { return Statement(self, handle: prepared, keepsConnection: keepsConnection, isCursor: isCursor) }
        }
        return nil
    }

    /// True if a statement of this connection is running, that is, has a current row.
    package var hasRunningStatements: Bool {
        guard let handle = usableHandle else { return false }
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0 { return true }
            statement = sqlite3_next_stmt(handle, current)
        }
        return false
    }
}

extension Connection.Settings {
    /// The cache of prepared statements, kept for the next call with the same SQL.
    public var statementCache: StatementCache { StatementCache(connection: connection) }

    /// The cache of a connection's prepared statements. For a closed connection all its numbers are 0.
    ///
    /// A low hit rate indicates that SQL text is concatenated with values that should be bound, or that ``capacity`` is too small.
    public struct StatementCache {
        let connection: Connection

        /// The number of statements in the cache.
        public var count: Int { connection.isUsable ? connection.cache.count : 0 }

        /// The number of statements found in the cache.
        public var hits: Int { connection.isUsable ? connection.cache.hits : 0 }

        /// The number of statements that had to be compiled.
        public var misses: Int { connection.isUsable ? connection.cache.misses : 0 }

        /// The maximum number of statements in the cache. Lowering it drops the least recently used statements. See
        /// ``DatabaseConfiguration/statementCacheCapacity``.
        public var capacity: Int {
            get { connection.isUsable ? connection.cache.capacity : 0 }
            nonmutating set { if connection.isUsable { connection.cache.capacity = max(0, newValue) } }
        }

        /// Removes all statements from the cache.
        public func clear() {
            if connection.isUsable { connection.cache.removeAll() }
        }
    }
}

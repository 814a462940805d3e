import CSQLCipher

/// Switches of a connection that SQL cannot flip (<https://sqlite.org/c3ref/c_dbconfig_defensive.html>).
public enum ConnectionOption: Hashable, Sendable, CaseIterable {
    /// Refuses what could damage the file on purpose: writing to SQLite's own tables, to those of virtual tables, and
    /// `journal_mode = OFF`. Turn it on before running SQL from strangers. Default: off.
    case defensive
    /// Whether the schema, in views, triggers, defaults and indexes, may call functions that are not marked
    /// ``FunctionOptions/innocuous``. Turn it off for a file that a stranger has made. Default: on.
    case trustedSchema
    /// Whether triggers run. Default: on.
    case triggers
    /// Whether views can be used. Default: on.
    case views
    /// Whether foreign keys are enforced; see ``DatabaseConfiguration/foreignKeys``.
    case foreignKeys
    /// Whether ATTACH may make a new file. Default: on.
    case attachCreates
    /// Whether ATTACH may open a file for writing. Default: on.
    case attachWrites
    /// Whether SQL may contain comments. Default: on.
    case comments

    fileprivate var number: Int32 {
        switch self {
        case .defensive: SQLITE_DBCONFIG_DEFENSIVE
        case .trustedSchema: SQLITE_DBCONFIG_TRUSTED_SCHEMA
        case .triggers: SQLITE_DBCONFIG_ENABLE_TRIGGER
        case .views: SQLITE_DBCONFIG_ENABLE_VIEW
        case .foreignKeys: SQLITE_DBCONFIG_ENABLE_FKEY
        case .attachCreates: SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE
        case .attachWrites: SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE
        case .comments: SQLITE_DBCONFIG_ENABLE_COMMENTS
        }
    }
}

extension Connection {
    /// Bounds that a connection keeps (<https://sqlite.org/limits.html>).
    public enum Limit: Int32, Hashable, Sendable, CaseIterable {
        /// The bytes of a text, of a blob or of a row.
        case length
        /// The bytes of an SQL statement.
        case sqlLength
        /// The columns of a table, an index or a result.
        case columns
        /// The depth of an expression; 0 for no limit.
        case expressionDepth
        /// The parts of a `UNION`, `INTERSECT` or `EXCEPT`.
        case compoundSelect
        /// The instructions of a compiled statement.
        case instructions
        /// The arguments of a function.
        case functionArguments
        /// The databases attached at a time.
        case attached
        /// The bytes of a pattern for `LIKE` or `GLOB`.
        case likePatternLength
        /// The highest number of a parameter.
        case variableNumber
        /// How deep triggers call triggers.
        case triggerDepth
        /// The threads that help a statement with its sorting.
        case workerThreads
        /// How deep expressions and subqueries nest before the parser gives up.
        case parserDepth
    }
}

extension Connection {
    /// Whether an option is on.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func isEnabled(_ option: ConnectionOption) throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        try check(sqlcipherkit_db_config(live(), option.number, -1, &result))
        return result != 0
    }

    /// Turns an option on or off.
    /// - Returns: what took effect; foreign keys, for instance, do not change inside of a transaction.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    @discardableResult
    public func setEnabled(_ option: ConnectionOption, _ isOn: Bool) throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        try check(sqlcipherkit_db_config(liveOutsideHooks(), option.number, isOn ? 1 : 0, &result))
        return result != 0
    }

    /// The value of a limit.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func limit(_ limit: Limit) throws(DatabaseError) -> Int {
        Int(sqlite3_limit(try live(), limit.rawValue, -1))
    }

    /// Lowers a limit, or raises it as far as this engine was compiled for.
    /// - Returns: the limit that applies from now on (<https://sqlite.org/c3ref/limit.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/invalidArgument`` for a negative value, or
    ///   ``DatabaseError/Reason/misuse`` inside of a hook.
    @discardableResult
    public func setLimit(_ limit: Limit, _ value: Int) throws(DatabaseError) -> Int {
        let handle = try liveOutsideHooks()
        guard value >= 0 else { throw .invalidArgument("a limit of \(value)") }
        sqlite3_limit(handle, limit.rawValue, Int32(clamping: value))
        return try self.limit(limit)
    }
}

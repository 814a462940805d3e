import CSQLCipher

/// Pragmas by name, with their values typed.
extension Schema {
    /// The value of a pragma (<https://sqlite.org/pragma.html>, <https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
    /// ```swift
    /// let pages = try db.main.pragma("cache_size", as: Int.self)
    /// ```
    /// A pragma about the connection as a whole, such as `recursive_triggers`, has the same value for each of its databases. SQLite
    /// runs a pragma that it does not know as if nothing were wrong; here it is an error.
    /// - Parameters:
    ///   - name: its name. For one that takes an argument use ``setPragma(_:to:)`` or a table-valued function such as
    ///     `pragma_table_info('note')`.
    ///   - type: the type of the value.
    /// - Returns: the first column of the first row; nil if there is no row.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an unknown name, ``DatabaseError/Reason/refusedSQL`` for those that
    ///   take keys, and what reading the value throws.
    public func pragma<T: SQLValueConvertible>(_ name: String, as type: T.Type = T.self) throws(DatabaseError) -> T? {
        try answer(to: pragmaText(name))
    }

    /// Sets a pragma, or runs one with an argument.
    /// ```swift
    /// let pages = try db.main.setPragma("cache_size", to: -16_000)     // what took effect
    /// ```
    /// - Parameters:
    ///   - name: its name.
    ///   - value: its value; text is quoted.
    /// - Returns: what took effect, asked for again if setting it gave no row; nil if the pragma has no value.
    /// - Throws: what ``pragma(_:as:)`` throws, ``DatabaseError/Reason/refusedSQL`` for a cipher setting, which is given when a
    ///   database is opened, and what SQLite refuses.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(_ name: String, to value: T) throws(DatabaseError) -> T? {
        try setPragma(name, to: value, as: T.self)
    }

    /// The same for a pragma that is set as one type and read as another, such as `journal_mode` or `secure_delete`.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(
        _ name: String, to value: some SQLValueConvertible, as type: T.Type
    ) throws(DatabaseError) -> T? {
        let text = try pragmaText(name)
        let literal =
            switch try value.sqlValue {
            case .integer(let number): "\(number)"
            case .real(let number) where number.isFinite: "\(number)"
            case .text(let text) where !text.utf8.contains(0): text.quotedSQLLiteral
            default: throw DatabaseError.invalidArgument("a pragma takes numbers and text only")
            }
        if let answer: T = try answer(to: "\(text) = \(literal)") { return answer }
        // To ask one of these would be to run it again.
        return Self.actions.contains(SQLName(name)) ? nil : try pragma(name, as: type)
    }

    private func answer<T: SQLValueConvertible>(to text: String) throws(DatabaseError) -> T? {
        let statement = try connection.prepare(SQL(raw: text))
        // incremental_vacuum gives rows without columns.
        if statement.columnCount > 0 { return try statement.fetchOne(T.self) }
        try statement.execute()
        return nil
    }

    private static let actions: Set<SQLName> = [
        "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint", "integrity_check", "quick_check", "foreign_key_check",
        "case_sensitive_like",
    ]

    private func pragmaText(_ name: String) throws(DatabaseError) -> String {
        try live()
        guard !name.utf8.contains(0), sqlcipherkit_is_pragma(name) != 0 else {
            throw .invalidArgument("there is no pragma \(name)")
        }
        return "PRAGMA \(quotedName).\(name)"
    }
}

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
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an unknown name, ``DatabaseError/Reason/misuse`` for those that take
    ///   keys, and what reading the value throws.
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
    /// - Throws: what ``pragma(_:as:)`` throws, and what SQLite refuses.
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
        // To ask one of these would be to run it once more.
        return Self.actions.contains(name.lowercased()) ? nil : try pragma(name, as: type)
    }

    private func answer<T: SQLValueConvertible>(to text: String) throws(DatabaseError) -> T? {
        let statement = try connection.prepare(SQL(raw: text))
        // incremental_vacuum gives rows without columns.
        if statement.columnCount > 0 { return try statement.fetchOne(T.self) }
        try statement.execute()
        return nil
    }

    private static let actions: Set<String> = [
        "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint", "integrity_check", "quick_check", "foreign_key_check",
        "case_sensitive_like", "cipher_integrity_check", "cipher_migrate",
    ]

    /// SQLCipher's own, which SQLite's list does not have; those that take a key are left out.
    private static let cipherPragmas: Set<String> = [
        "cipher_compatibility", "cipher_default_compatibility", "cipher_default_hmac_algorithm", "cipher_default_kdf_algorithm",
        "cipher_default_kdf_iter", "cipher_default_page_size", "cipher_default_plaintext_header_size", "cipher_default_settings",
        "cipher_default_use_hmac", "cipher_fips_status", "cipher_hmac_algorithm", "cipher_hmac_pgno", "cipher_hmac_salt_mask",
        "cipher_integrity_check", "cipher_kdf_algorithm", "cipher_log", "cipher_log_level", "cipher_log_source",
        "cipher_memory_security", "cipher_migrate", "cipher_page_size", "cipher_plaintext_header_size", "cipher_profile",
        "cipher_provider", "cipher_provider_version", "cipher_salt", "cipher_settings", "cipher_status", "cipher_use_hmac",
        "cipher_version", "kdf_iter",
    ]

    private static let keyPragmas: Set<String> = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey", "cipher_add_random"]

    private func pragmaText(_ name: String) throws(DatabaseError) -> String {
        try live()
        let lowercased = name.lowercased()
        if Self.keyPragmas.contains(lowercased) {
            throw .misuse("PRAGMA \(lowercased) takes a key: keys go through opening, changeKey(to:) and attach")
        }
        if !Self.cipherPragmas.contains(lowercased) {
            let known = try connection.fetchAll(String.self, "PRAGMA pragma_list")
            guard known.contains(lowercased) else { throw .invalidArgument("there is no pragma \(name)") }
        }
        return "PRAGMA \(quotedName).\(lowercased)"
    }
}

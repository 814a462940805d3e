import CSQLCipher

/// How far a commit waits for the disk (<https://sqlite.org/pragma.html#pragma_synchronous>).
public enum Synchronous: Int, Hashable, Sendable, CaseIterable, SQLValueConvertible {
    /// Not at all: a power cut may damage the file.
    case off
    /// At the important moments: with a write-ahead log a power cut may undo the last commits, and damages nothing.
    case normal
    /// Until the commit is safe. SQLite's default.
    case full
    /// Until the removal of the rollback journal is safe as well.
    case extra
}

/// Pragmas by name, with their values typed.
extension Connection {
    /// The value of a pragma (<https://sqlite.org/pragma.html>, <https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
    /// ```swift
    /// let pages = try db.pragma("cache_size", as: Int.self)
    /// ```
    /// SQLite runs a pragma that it does not know as if nothing were wrong; here it is an error.
    /// - Parameters:
    ///   - name: its name. For one that takes an argument use ``setPragma(_:to:of:)`` or a table-valued function such as
    ///     `pragma_table_info('note')`.
    ///   - schema: the database that it is about; nil for SQLite's choice, which is `main` or all.
    ///   - type: the type of the value.
    /// - Returns: the first column of the first row; nil if there is no row.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an unknown name, ``DatabaseError/Reason/misuse`` for those that take
    ///   keys, and what reading the value throws.
    public func pragma<T: SQLValueConvertible>(
        _ name: String, as type: T.Type = T.self, of schema: String? = nil
    ) throws(DatabaseError) -> T? {
        try answer(to: pragmaText(name, schema))
    }

    /// Sets a pragma, or runs one with an argument.
    /// ```swift
    /// let pages = try db.setPragma("cache_size", to: -16_000)     // what took effect
    /// ```
    /// - Parameters:
    ///   - name: its name.
    ///   - value: its value; text is quoted.
    ///   - schema: the database that it is about; nil for SQLite's choice.
    /// - Returns: what took effect, asked for anew if setting it gave no row; nil if the pragma has no value.
    /// - Throws: what ``pragma(_:as:of:)`` throws, and what SQLite refuses.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(
        _ name: String, to value: T, of schema: String? = nil
    ) throws(DatabaseError) -> T? {
        try setPragma(name, to: value, of: schema, as: T.self)
    }

    /// The same for a pragma that is set as one type and read as another, such as `journal_mode` or `secure_delete`.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(
        _ name: String, to value: some SQLValueConvertible, of schema: String? = nil, as type: T.Type
    ) throws(DatabaseError) -> T? {
        let text = try pragmaText(name, schema)
        let literal =
            switch try value.sqlValue {
            case .integer(let number): "\(number)"
            case .real(let number) where number.isFinite: "\(number)"
            case .text(let text) where !text.utf8.contains(0): text.quotedSQLLiteral
            default: throw DatabaseError.invalidArgument("a pragma takes numbers and text only")
            }
        if let answer: T = try answer(to: "\(text) = \(literal)") { return answer }
        // To ask one of these would be to run it once more.
        return Self.actions.contains(name.lowercased()) ? nil : try pragma(name, as: type, of: schema)
    }

    private func answer<T: SQLValueConvertible>(to text: String) throws(DatabaseError) -> T? {
        let statement = try prepare(SQL(raw: text))
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

    private func pragmaText(_ name: String, _ schema: String?) throws(DatabaseError) -> String {
        let lowercased = name.lowercased()
        if Self.keyPragmas.contains(lowercased) {
            throw .misuse("PRAGMA \(lowercased) takes a key: keys go through opening, changeKey(to:) and attach")
        }
        if !Self.cipherPragmas.contains(lowercased) {
            let known = try fetchAll(String.self, "PRAGMA pragma_list")
            guard known.contains(lowercased) else { throw .invalidArgument("there is no pragma \(name)") }
        }
        return schema.map { "PRAGMA \($0.quotedSQLIdentifier).\(lowercased)" } ?? "PRAGMA \(lowercased)"
    }

    private func value<T: SQLValueConvertible>(_ name: String, _ type: T.Type = T.self) throws(DatabaseError) -> T {
        guard let value = try fetchOne(type, SQL(raw: "PRAGMA \(name)")) else {
            throw DatabaseError(code: .internal, message: "PRAGMA \(name) gave no value")
        }
        return value
    }

    private func set<T: SQLValueConvertible>(_ name: String, _ text: String, _ type: T.Type = T.self) throws(DatabaseError) -> T {
        try prepare(SQL(raw: "PRAGMA \(name) = \(text)")).execute()
        return try value(name)
    }
}

/// The pragmas of every day, for the main database. A setter gives back what took effect, which is not always what was asked for.
extension Connection {
    /// A number by which `file(1)` and others know the kind of a file; 0 if none was set
    /// (<https://sqlite.org/pragma.html#pragma_application_id>).
    public var applicationID: Int32 { get throws(DatabaseError) { try value("application_id") } }

    /// Sets the number by which the kind of the file is known.
    @discardableResult
    public func setApplicationID(_ id: Int32) throws(DatabaseError) -> Int32 { try set("application_id", "\(id)") }

    /// A number for an application's own use, often the version of its schema; 0 if none was set
    /// (<https://sqlite.org/pragma.html#pragma_user_version>).
    public var userVersion: Int32 { get throws(DatabaseError) { try value("user_version") } }

    /// Sets the number for the application's own use. It is part of the transaction.
    @discardableResult
    public func setUserVersion(_ version: Int32) throws(DatabaseError) -> Int32 { try set("user_version", "\(version)") }

    /// How transactions are made safe (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    public var journalMode: DatabaseConfiguration.JournalMode { get throws(DatabaseError) { try mode(value("journal_mode")) } }

    /// Sets how transactions are made safe. A database in memory knows `memory` and `off` only.
    /// - Throws: ``DatabaseError/Reason/busy`` while another connection stands in the way, and SQLite's error inside of a transaction.
    @discardableResult
    public func setJournalMode(_ mode: DatabaseConfiguration.JournalMode) throws(DatabaseError) -> DatabaseConfiguration.JournalMode {
        // It answers itself; to ask again would be a second transaction.
        let answer = try prepare(SQL(raw: "PRAGMA journal_mode = \(mode.rawValue)")).fetchOne(String.self)
        return try self.mode(answer ?? "")
    }

    private func mode(_ text: String) throws(DatabaseError) -> DatabaseConfiguration.JournalMode {
        guard let mode = DatabaseConfiguration.JournalMode(rawValue: text) else {
            throw DatabaseError(code: .internal, message: "an unknown journal mode \(text)")
        }
        return mode
    }

    /// How far a commit waits for the disk.
    public var synchronous: Synchronous { get throws(DatabaseError) { try value("synchronous") } }

    /// Sets how far a commit waits for the disk.
    /// - Throws: SQLite's error inside of a transaction.
    @discardableResult
    public func setSynchronous(_ level: Synchronous) throws(DatabaseError) -> Synchronous {
        try set("synchronous", "\(level.rawValue)")
    }

    /// The size of the page cache: pages if positive, KiB if negative (<https://sqlite.org/pragma.html#pragma_cache_size>).
    public var cacheSize: Int { get throws(DatabaseError) { try value("cache_size") } }

    /// Sets the size of the page cache of this connection: pages if positive, KiB if negative.
    @discardableResult
    public func setCacheSize(_ size: Int) throws(DatabaseError) -> Int { try set("cache_size", "\(size)") }

    /// The bytes of a page.
    public var pageSize: Int { get throws(DatabaseError) { try value("page_size") } }

    /// The pages of the file.
    public var pageCount: Int { get throws(DatabaseError) { try value("page_count") } }

    /// The pages of the file that are not in use.
    public var freePageCount: Int { get throws(DatabaseError) { try value("freelist_count") } }
}

import CSQLCipher

/// The extent to which a commit waits for the disk (<https://sqlite.org/pragma.html#pragma_synchronous>).
package enum Synchronous: Int, CaseIterable, SQLValueConvertible {
    case off, normal, full, extra
    /// The least value that keeps the file whole in each journal mode: `normal` with a write-ahead log, `full` without one.
    case wholeFile
}

/// Settings of a database as a whole. A setter returns the value in effect, which may differ from the requested value.
extension Schema {
    /// A number by which `file(1)` and other programs identify the kind of a file; 0 if none was set
    /// (<https://sqlite.org/pragma.html#pragma_application_id>).
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is no longer attached, ``DatabaseError/Reason/closed``, or
    ///   SQLite's error if the file cannot be read.
    public var applicationID: Int32 { get throws { try value("application_id") } }

    /// Sets the number that identifies the kind of the file. It is part of the transaction.
    /// - Returns: the number in effect.
    /// - Throws: the same errors as ``applicationID``; ``ResultCode/readOnly`` for a database that cannot be written, or
    ///   ``DatabaseError/Reason/busy``. The number is then unchanged.
    @discardableResult
    public func setApplicationID(_ id: Int32) throws -> Int32 { try set("application_id", Int(id)) }

    /// A number for an application's own use, often the version of its schema; 0 if none was set
    /// (<https://sqlite.org/pragma.html#pragma_user_version>).
    /// - Throws: the same errors as ``applicationID``.
    public var userVersion: Int32 { get throws { try value("user_version") } }

    /// Sets the number for the application's own use. It is part of the transaction.
    /// - Returns: the number in effect.
    /// - Throws: the same errors as ``setApplicationID(_:)``.
    @discardableResult
    public func setUserVersion(_ version: Int32) throws -> Int32 { try set("user_version", Int(version)) }

    /// The way in which transactions are made safe (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    /// - Throws: the same errors as ``applicationID``.
    public var journalMode: DatabaseConfiguration.JournalMode { get throws { try mode(value("journal_mode")) } }

    /// Sets how transactions are made safe. An in-memory database supports only `memory` and `off`.
    /// - Returns: the mode in effect: the former mode if the database does not support the requested one.
    /// - Throws: ``DatabaseError/Reason/busy`` while another connection prevents it, or SQLite's error inside a transaction.
    @discardableResult
    public func setJournalMode(
        _ mode: DatabaseConfiguration.JournalMode
    ) throws -> DatabaseConfiguration.JournalMode {
        try self.mode(setPragma("journal_mode", to: mode.rawValue) ?? "")
    }

    private func mode(_ text: String) throws -> DatabaseConfiguration.JournalMode {
        guard let mode = DatabaseConfiguration.JournalMode(rawValue: text) else {
            throw DatabaseError(code: .internal, message: "an unknown journal mode \(text)")
        }
        return mode
    }

    package var synchronous: Synchronous {
        get throws { sqlcipherkit_is_kept_whole(try live(), name) != 0 ? .wholeFile : try value("synchronous") }
    }

    /// Sets how much a commit waits for the disk.
    /// - Throws: SQLite's error inside a transaction, unless it is `wholeFile`.
    package func setSynchronous(_ level: Synchronous) throws {
        if level == .wholeFile { return sqlcipherkit_keep_whole(try live(), name) }
        _ = try set("synchronous", level.rawValue, Synchronous.self)
    }

    /// Makes commits wait as the configuration asks. New databases of a connection begin with `extra` (`options.h`).
    func applyDurability() throws {
        switch connection.configuration.durability {
        case .everyCommit: break
        case .wholeFile: try setSynchronous(.wholeFile)
        case .off: if !connection.isInTransaction { try setSynchronous(.off) }
        }
    }

    /// The size of the page cache: pages if positive, KiB if negative (<https://sqlite.org/pragma.html#pragma_cache_size>).
    /// - Throws: the same errors as ``applicationID``.
    public var cacheSize: Int { get throws { try value("cache_size") } }

    /// Sets the size of this connection's page cache for the database.
    /// - Parameter size: the number of pages if positive, of KiB if negative.
    /// - Returns: the size in effect.
    /// - Throws: the same errors as ``applicationID``.
    @discardableResult
    public func setCacheSize(_ size: Int) throws -> Int { try set("cache_size", size) }

    /// The size of a page in bytes.
    /// - Throws: the same errors as ``applicationID``.
    public var pageSize: Int { get throws { try value("page_size", Int.self) } }

    /// The number of pages in the file.
    /// - Throws: the same errors as ``applicationID``.
    public var pageCount: Int { get throws { try value("page_count") } }

    /// The number of free pages in the file.
    /// - Throws: the same errors as ``applicationID``.
    public var freePageCount: Int { get throws { try value("freelist_count") } }

    /// True if this connection cannot write to the database.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is no longer attached, or ``DatabaseError/Reason/closed``.
    public var isReadOnly: Bool {
        get throws {
            // The temporary database can be written, but SQLite does not know it until its first use.
            sqlite3_db_readonly(try live(), name) == 1
        }
    }

    private func value<T: SQLValueConvertible>(_ name: String, _ type: T.Type = T.self) throws -> T {
        try live()
        guard let value = try connection.fetchOne(type, SQL(raw: "PRAGMA \(quotedName).\(name)")) else {
            throw DatabaseError(code: .internal, message: "PRAGMA \(name) gave no value")
        }
        return value
    }

    private func set<T: SQLValueConvertible>(_ name: String, _ number: Int, _ type: T.Type = T.self) throws -> T {
        if let value = try setPragma(name, to: number, as: type) { return value }
        return try value(name)
    }
}

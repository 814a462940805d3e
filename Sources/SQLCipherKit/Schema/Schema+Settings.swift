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

/// What is set for a database as a whole. A setter returns what took effect, which is not always what was asked for.
extension Schema {
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
    /// - Throws: ``DatabaseError/Reason/busy`` while another connection stands in the way, and SQLite's error inside of a
    ///   transaction.
    @discardableResult
    public func setJournalMode(
        _ mode: DatabaseConfiguration.JournalMode
    ) throws(DatabaseError) -> DatabaseConfiguration.JournalMode {
        try live()
        // It answers itself; to ask again would be a second transaction.
        let statement = try connection.prepare(SQL(raw: "PRAGMA \(quotedName).journal_mode = \(mode.rawValue)"))
        let answer = try statement.fetchOne(String.self)
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

    /// Sets the size of the page cache that this connection has for the database: pages if positive, KiB if negative.
    @discardableResult
    public func setCacheSize(_ size: Int) throws(DatabaseError) -> Int { try set("cache_size", "\(size)") }

    /// The bytes of a page.
    public var pageSize: Int {
        get throws(DatabaseError) {
            // An encrypted database answers with text.
            switch try value("page_size", SQLValue.self) {
            case .integer(let size): Int(size)
            case .text(let size): Int(size) ?? 4096
            default: 4096
            }
        }
    }

    /// The pages of the file.
    public var pageCount: Int { get throws(DatabaseError) { try value("page_count") } }

    /// The pages of the file that are not in use.
    public var freePageCount: Int { get throws(DatabaseError) { try value("freelist_count") } }

    /// Whether this connection cannot write to the database.
    public var isReadOnly: Bool {
        get throws(DatabaseError) {
            // The temporary database can be written, but SQLite does not know it before its first use.
            sqlite3_db_readonly(try live(), name) == 1
        }
    }

    private func value<T: SQLValueConvertible>(_ name: String, _ type: T.Type = T.self) throws(DatabaseError) -> T {
        try live()
        guard let value = try connection.fetchOne(type, SQL(raw: "PRAGMA \(quotedName).\(name)")) else {
            throw DatabaseError(code: .internal, message: "PRAGMA \(name) gave no value")
        }
        return value
    }

    private func set<T: SQLValueConvertible>(_ name: String, _ text: String, _ type: T.Type = T.self) throws(DatabaseError) -> T {
        try live()
        try connection.prepare(SQL(raw: "PRAGMA \(quotedName).\(name) = \(text)")).execute()
        return try value(name)
    }
}

import CSQLCipher

/// Settings for opening a connection, and for its behavior.
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.access = .readOnly
/// configuration.busyTimeout = .seconds(10)
/// let db = try Connection(.file("notes.db"), key: key, configuration: configuration)
/// ```
public struct DatabaseConfiguration: Sendable {
    /// The access to the file.
    public enum Access: Hashable, Sendable {
        /// Read only. The file must exist.
        case readOnly
        /// Read and write. The file must exist.
        case readWrite
        /// Read and write. A file that does not exist is created, with permissions 0600.
        case readWriteCreate
    }

    /// SQLite's journal modes (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    public struct JournalMode: RawRepresentable, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// SQLite's name of the mode, in lowercase.
        public let rawValue: String

        /// The mode with this name in lowercase; nil if there is none.
        public init?(rawValue: String) {
            guard let mode = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = mode
        }

        private init(_ name: String) { rawValue = name }

        public static let allCases: [JournalMode] = [.delete, .truncate, .persist, .memory, .wal, .off]

        /// A rollback journal that is deleted at the end of each transaction.
        public static let delete = JournalMode("delete")
        /// A rollback journal that is truncated to zero bytes.
        public static let truncate = JournalMode("truncate")
        /// A rollback journal whose header is overwritten with zeros.
        public static let persist = JournalMode("persist")
        /// A rollback journal in memory: a crash in a transaction may damage the file.
        public static let memory = JournalMode("memory")
        /// A write-ahead log (<https://sqlite.org/wal.html>).
        public static let wal = JournalMode("wal")
        /// No journal: nothing can be rolled back.
        public static let off = JournalMode("off")

        public var description: String { rawValue }
    }

    /// The state of the file after a power cut or a crash of the system. With every value, all commits survive if only the program
    /// crashes or is killed. <doc:WhatSurvives> compares the values.
    public enum Durability: Hashable, Sendable, CaseIterable {
        /// Every commit that has returned survives: each commit waits for the disk (`PRAGMA synchronous = EXTRA`), on Apple's
        /// platforms until the drive has emptied its cache (`PRAGMA fullfsync = ON`).
        case everyCommit
        /// An intact file, perhaps without the last commits: with a write-ahead log, only a checkpoint waits for the disk
        /// (`NORMAL`). With a rollback journal, which needs more to keep the file intact, each commit waits as by default
        /// (`EXTRA`).
        case wholeFile
        /// Perhaps a damaged file: nothing waits for the disk (`OFF`). For data that you can create again.
        case off
    }

    /// The access to the file. Default: read, write and create.
    public var access: Access = .readWriteCreate
    /// True if missing parent folders of a new file are created, with permissions 0700. Default: false.
    public var createsFolders = false
    /// True if a path may be a symbolic link; if not, `SQLITE_OPEN_NOFOLLOW` is set. Default: true.
    public var followsSymbolicLinks = true
    /// True if SQLite guards the connection with a mutex (`SQLITE_OPEN_FULLMUTEX`). No mutex is needed, because this package's
    /// types ensure that only one thread uses a connection at a time. The mutex does not make a ``Connection`` safe to share: for
    /// several threads, use `DatabaseQueue` or `DatabasePool`. Default: false.
    public var usesMutex = false
    /// The wait for another connection's lock before a call throws ``DatabaseError/Reason/busy``. The call tries again every
    /// millisecond. Default: 5 seconds.
    public var busyTimeout: Duration = .seconds(5)
    /// True if foreign keys are enforced (<https://sqlite.org/foreignkeys.html>). Default: true, unlike SQLite. To change it on an
    /// open connection, see ``ConnectionOption/foreignKeys``.
    public var enforcesForeignKeys = true
    /// True if text in double quotes that is not the name of a column is a string, in SQL and in the schema
    /// (<https://sqlite.org/quirks.html#dblquote>). Use this setting for a database from elsewhere whose triggers, views and
    /// indexes rely on such strings. Default: false, because a misspelled name would become a string.
    public var allowsDoubleQuotedStrings = false
    /// Protection against a file from an untrusted source; see ``untrusted``. Default: nil, for a file of your own.
    public var safeguards: Safeguards?
    /// The journal mode to set; nil leaves the file as it is (a new file is in `delete` mode). Default: nil.
    public var journalMode: JournalMode?
    /// The commits that survive a power cut, in the main database and in attached databases, on each connection of a queue or a
    /// pool, in each journal mode. Calls that change a key or erase content always wait for the disk. With `off`, a database
    /// that is attached in a transaction waits too. Default: ``Durability-swift.enum/everyCommit``.
    public var durability: Durability = .everyCommit
    /// The forms in which dates, UUIDs and decimals are stored. Default: ``ValueProfile/standard``. For a database that another
    /// program has written, use that program's profile.
    public var valueProfile: ValueProfile = .standard
    /// The number of prepared statements kept for reuse. Default: 64.
    public var statementCacheCapacity = 64
    /// True if errors show the values bound to the failed statement. For debugging only. Default: false.
    public var errorsShowArguments = false
    /// A name that appears in the descriptions of queues and pools. Default: nil.
    public var label: String?
    /// Additional settings of a ``DatabasePool``.
    public var pool = Pool()
    /// True if the file must already hold a database: a file of 0 bytes, which SQLite takes for a new database, is refused and left
    /// as it is. For calls that open a file to read or rewrite it.
    package var needsContent = false
    /// True if opening stops before anything is read, for calls that look at pages and not at tables.
    package var readsPagesOnly = false
    /// Runs before the header of a new file is written, for settings that must precede it.
    package var beforeHeader: (@Sendable (Connection) throws -> Void)?
    /// Runs once, in a transaction, when opening creates the file. If the closure throws, the file is removed and opening throws
    /// that error, or ``DatabaseError/Reason/callback`` with that error in ``DatabaseError/underlyingError``. If the process dies
    /// before the closure has ended, the next opening runs it again.
    public var onCreate: (@Sendable (Connection) throws -> Void)?
    /// Runs at the end of each opening, also for each connection of a pool, whose readers cannot write. If it throws, opening
    /// throws that error, or ``DatabaseError/Reason/callback`` with that error in ``DatabaseError/underlyingError``.
    public var prepareDatabase: (@Sendable (Connection) throws -> Void)?

    /// The defaults.
    public init() {}

    /// The settings of a ``DatabasePool``.
    public struct Pool: Hashable, Sendable {
        /// The number of concurrent reads, from 1 to 1,000. Each has its own connection and page cache. Default: 5.
        public var maximumReaders = 5
        /// The time that an unused reader stays open; it is closed after one to two times this duration. Default: 60 seconds.
        public var readerIdleTime: Duration = .seconds(60)
        /// The size of the write-ahead log, in bytes, above which each commit moves the log into the database, as far as readers
        /// allow. Default: 4 MB, about the same as SQLite's.
        public var checkpointSize = 4 << 20
        /// The size of the write-ahead log, in bytes, above which a commit makes new reads wait, for at most 100 ms, so that the
        /// log can be emptied. Otherwise reads that always overlap would let the log grow without limit. Default: 64 MB.
        public var maximumWALSize = 64 << 20

        public init() {}
    }
}

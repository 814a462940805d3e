import CSQLCipher

/// How a connection is opened and behaves.
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.access = .readOnly
/// configuration.busyTimeout = .seconds(10)
/// let db = try Connection(.file("notes.db"), key: key, configuration: configuration)
/// ```
public struct DatabaseConfiguration: Sendable {
    /// What may be done to the file.
    public enum Access: Hashable, Sendable {
        /// Read only. The file must exist.
        case readOnly
        /// Read and write. The file must exist.
        case readWrite
        /// Read and write; a file that does not exist is made, with permissions 0600.
        case readWriteCreate
    }

    /// SQLite's journal modes (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    public enum JournalMode: String, Hashable, Sendable, CaseIterable {
        case delete, truncate, persist, memory, wal, off
    }

    /// What may be done to the file. Default: read, write and create.
    public var access: Access = .readWriteCreate
    /// Whether missing folders above a new file are made, with permissions 0700. Default: no.
    public var createsFolders = false
    /// Whether a path may be a symbolic link (`SQLITE_OPEN_NOFOLLOW`). Default: yes.
    public var followsSymbolicLinks = true
    /// Whether SQLite guards the connection with a mutex. This package's types see to it that a connection is used by one
    /// thread at a time, so that none is needed. Default: no.
    public var usesMutex = false
    /// How long a call waits for another connection's lock before it throws ``DatabaseError/Reason/busy``. Default: 5 seconds.
    public var busyTimeout: Duration = .seconds(5)
    /// Whether foreign keys are enforced (<https://sqlite.org/foreignkeys.html>). Default: yes, unlike SQLite's. For an open
    /// connection see ``ConnectionOption/foreignKeys``.
    public var enforcesForeignKeys = true
    /// Whether text in double quotes that names no column is a string, in SQL and in the schema
    /// (<https://sqlite.org/quirks.html#dblquote>): for a database made elsewhere, whose triggers, views and indexes count on it.
    /// Default: no, as a misspelt name would be taken for a string.
    public var allowsDoubleQuotedStrings = false
    /// What guards against a file that is not your own; see ``untrusted``. Default: none, as for a file of your own.
    public var safeguards: Safeguards?
    /// The journal mode to set; nil leaves the file as it is (a new one is in `delete` mode). Default: nil.
    public var journalMode: JournalMode?
    /// How dates, UUIDs and decimals are stored. Default: ``ValueProfile/standard``. Take another one for a database that comes
    /// from somewhere else.
    public var values: ValueProfile = .standard
    /// The number of prepared statements that are kept for reuse. Default: 64.
    public var statementCacheCapacity = 64
    /// Whether errors show the values bound to the failed statement: for debugging only. Default: no.
    public var errorsShowArguments = false
    /// A name for queues and pools, which their descriptions have. Default: none.
    public var label: String?
    /// What a ``DatabasePool`` does beyond that.
    public var pool = Pool()
    /// Whether the file must hold a database already: one of 0 bytes, which SQLite takes for a new database, is refused, and stays
    /// as it is. For what is opened to be read or rewritten.
    var needsContent = false
    /// Whether opening ends before anything is read, for what looks at pages and not at tables.
    var readsPagesOnly = false
    /// Runs before the header of a new file is written, for what must be settled by then.
    var beforeHeader: (@Sendable (Connection) throws -> Void)?
    /// Runs once, for a file that this opening has made, in a transaction. If it throws, the file is removed and opening throws
    /// that error; if the process dies meanwhile, the next opening begins again.
    public var onCreate: (@Sendable (Connection) throws -> Void)?
    /// Runs at the end of each opening, for each connection of a pool too, whose readers cannot write. If it throws, opening throws
    /// that error.
    public var prepare: (@Sendable (Connection) throws -> Void)?

    /// The defaults.
    public init() {}

    /// The settings of a ``DatabasePool``.
    public struct Pool: Hashable, Sendable {
        /// How many reads may be done at a time, from 1 to 1,000: each has a connection with a page cache of its own. Default: 5.
        public var maximumReaders = 5
        /// How long an unused reader stays open; it is closed after once to twice that time. Default: a minute.
        public var readerIdleTime: Duration = .seconds(60)
        /// The size of the write-ahead log, in bytes, from which each commit moves as much of it into the database as readers
        /// allow. Default: 4 MB, about SQLite's own.
        public var checkpointSize = 4 << 20
        /// The size of the write-ahead log, in bytes, from which a commit keeps new reads waiting, for a tenth of a second at most,
        /// so that the log can be emptied: with reads that always overlap it would grow without end. Default: 64 MB.
        public var largestLog = 64 << 20

        public init() {}
    }
}

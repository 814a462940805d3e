import CSQLCipher

/// A result code of SQLite, primary or extended (<https://sqlite.org/rescode.html>).
///
/// A primary code matches itself and all its extended codes in a pattern:
/// ```swift
/// do {
///     try db.execute("INSERT INTO user(email) VALUES (\(email))")
/// } catch let error as DatabaseError {
///     switch error.code {
///     case .constraintUnique: print("this address is taken")
///     case .constraint: print("another rule is broken")
///     default: throw error
///     }
/// }
/// ```
@frozen
public struct ResultCode: RawRepresentable, Hashable, Sendable {
    /// SQLite's number for the code.
    public let rawValue: Int32

    @inlinable public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The code without its extension: the low eight bits.
    @inlinable public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    /// True if this is one of the 31 primary codes.
    @inlinable package var isPrimary: Bool { rawValue == rawValue & 0xff }

    /// A primary code matches its extended codes; an extended code matches only itself.
    @inlinable public static func ~= (pattern: ResultCode, value: ResultCode) -> Bool {
        pattern == value || (pattern.isPrimary && pattern == value.primary)
    }
}

extension ResultCode {
    /// `SQLITE_OK`
    public static let ok = ResultCode(rawValue: SQLITE_OK)
    /// `SQLITE_ERROR`: a generic error, such as a syntax error in SQL
    public static let error = ResultCode(rawValue: SQLITE_ERROR)
    /// `SQLITE_INTERNAL`: a bug in SQLite
    public static let `internal` = ResultCode(rawValue: SQLITE_INTERNAL)
    /// `SQLITE_PERM`: access mode not permitted
    public static let permission = ResultCode(rawValue: SQLITE_PERM)
    /// `SQLITE_ABORT`: a callback requested an abort
    public static let abort = ResultCode(rawValue: SQLITE_ABORT)
    /// `SQLITE_BUSY`: another connection holds a lock
    public static let busy = ResultCode(rawValue: SQLITE_BUSY)
    /// `SQLITE_LOCKED`: a lock within the same connection
    public static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    /// `SQLITE_NOMEM`: out of memory
    public static let outOfMemory = ResultCode(rawValue: SQLITE_NOMEM)
    /// `SQLITE_READONLY`: an attempt to write a read-only database
    public static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    /// `SQLITE_INTERRUPT`: the operation was interrupted
    public static let interrupted = ResultCode(rawValue: SQLITE_INTERRUPT)
    /// `SQLITE_IOERR`: the operating system reported an error while reading or writing
    public static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    /// `SQLITE_CORRUPT`: the database file is damaged
    public static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    /// `SQLITE_NOTFOUND`: an unknown operation or name
    package static let notFound = ResultCode(rawValue: SQLITE_NOTFOUND)
    /// `SQLITE_FULL`: the disk is full
    public static let full = ResultCode(rawValue: SQLITE_FULL)
    /// `SQLITE_CANTOPEN`: the file could not be opened
    public static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    /// `SQLITE_PROTOCOL`: a problem with the locking protocol
    package static let lockProtocol = ResultCode(rawValue: SQLITE_PROTOCOL)
    /// `SQLITE_SCHEMA`: the schema changed while a statement was in use
    public static let schema = ResultCode(rawValue: SQLITE_SCHEMA)
    /// `SQLITE_TOOBIG`: a string or blob exceeds the limit
    public static let tooBig = ResultCode(rawValue: SQLITE_TOOBIG)
    /// `SQLITE_CONSTRAINT`: a constraint is violated
    public static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    /// `SQLITE_MISMATCH`: a value of the wrong type
    public static let mismatch = ResultCode(rawValue: SQLITE_MISMATCH)
    /// `SQLITE_MISUSE`: the interface was used incorrectly
    public static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    /// `SQLITE_NOLFS`: large files are not supported
    package static let noLargeFileSupport = ResultCode(rawValue: SQLITE_NOLFS)
    /// `SQLITE_AUTH`: the authorizer denied the statement
    public static let authorization = ResultCode(rawValue: SQLITE_AUTH)
    /// `SQLITE_RANGE`: a parameter or column index out of range
    public static let range = ResultCode(rawValue: SQLITE_RANGE)
    /// `SQLITE_NOTADB`: the file is not a database, or the key is wrong
    public static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

    /// `SQLITE_IOERR_SHORT_READ`: the file ends before the end of a read
    package static let ioErrorShortRead = extended(.ioError, 2)
    /// `SQLITE_IOERR_DIR_FSYNC`: the folder of a removed journal cannot be flushed
    package static let ioErrorFolderFlush = extended(.ioError, 5)
    /// `SQLITE_IOERR_LOCK`: the system refuses a lock, though nothing else has it
    package static let ioErrorLock = extended(.ioError, 15)
    /// `SQLITE_CONSTRAINT_CHECK`
    public static let constraintCheck = extended(.constraint, 1)
    /// `SQLITE_CONSTRAINT_COMMITHOOK`: a commit hook vetoed the commit
    public static let constraintCommitHook = extended(.constraint, 2)
    /// `SQLITE_CONSTRAINT_FOREIGNKEY`
    public static let constraintForeignKey = extended(.constraint, 3)
    /// `SQLITE_CONSTRAINT_NOTNULL`
    public static let constraintNotNull = extended(.constraint, 5)
    /// `SQLITE_CONSTRAINT_PRIMARYKEY`
    public static let constraintPrimaryKey = extended(.constraint, 6)
    /// `SQLITE_CONSTRAINT_TRIGGER`: `RAISE` in a trigger
    public static let constraintTrigger = extended(.constraint, 7)
    /// `SQLITE_CONSTRAINT_UNIQUE`
    public static let constraintUnique = extended(.constraint, 8)
    /// `SQLITE_CONSTRAINT_ROWID`
    public static let constraintRowID = extended(.constraint, 10)
    /// `SQLITE_CONSTRAINT_DATATYPE`: a value that a STRICT table refuses
    public static let constraintDataType = extended(.constraint, 12)
    /// `SQLITE_ERROR_SNAPSHOT`: a snapshot is gone because a checkpoint has overwritten it
    package static let errorSnapshot = extended(.error, 3)
    /// `SQLITE_BUSY_SNAPSHOT`: a read transaction cannot become a write transaction because another connection has written
    public static let busySnapshot = extended(.busy, 2)
    /// `SQLITE_ABORT_ROLLBACK`: the transaction of a running statement was rolled back
    package static let abortRollback = extended(.abort, 2)
    /// `SQLITE_READONLY_ROLLBACK`: an interrupted change has to be rolled back, but the database is open read-only
    package static let readOnlyRollback = extended(.readOnly, 3)
    /// `SQLITE_READONLY_DBMOVED`: the database file was moved or removed while it was open
    package static let readOnlyMoved = extended(.readOnly, 4)

    private static func extended(_ primary: ResultCode, _ number: Int32) -> ResultCode {
        ResultCode(rawValue: primary.rawValue | number << 8)
    }
}

extension ResultCode: CustomStringConvertible {
    /// SQLite's English text for the code and its number, such as `constraint failed (19)`.
    public var description: String { "\(String(cString: sqlite3_errstr(rawValue))) (\(rawValue))" }
}

import CSQLCipher
import Foundation

/// The error type of this package. <doc:Troubleshooting> explains the most frequent messages.
///
/// An error has SQLite's result code, the condition that this package found (``reason-swift.property``), a readable message, and
/// the SQL that caused it. It has no bound values, unless ``DatabaseConfiguration/errorsShowArguments`` is on, and no keys.
public struct DatabaseError: Error, Sendable {
    /// Conditions that this package distinguishes, beyond SQLite's result code.
    ///
    /// A minor version may add reasons.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The reason's name, the same as in Swift.
        public let rawValue: String
        /// Creates a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        private init(_ name: String) { rawValue = name }
        public var description: String { rawValue }

        /// SQLite itself reported the error; see ``DatabaseError/code``.
        public static let engine = Reason("engine")
        /// The key is wrong, the file is not a database, or its cipher settings are different: encryption makes the three
        /// indistinguishable.
        public static let wrongKeyOrNotADatabase = Reason("wrongKeyOrNotADatabase")
        /// A key was given for a file that is a plaintext SQLite database. The file has not been changed.
        public static let notEncrypted = Reason("notEncrypted")
        /// The pages of an encrypted file have no authentication codes, so the file could have been changed without the key. The
        /// call does not accept such a file, and has not changed it.
        public static let missingHMAC = Reason("missingHMAC")
        /// A key of zero bytes.
        public static let emptyKey = Reason("emptyKey")
        /// A key or a cipher setting that SQLCipher would ignore or misunderstand.
        public static let invalidKey = Reason("invalidKey")
        /// The connection, or an object that belongs to it, is closed.
        public static let closed = Reason("closed")
        /// A key change failed; ``DatabaseError/workingKey-swift.property`` says which key opens the file. The connection is
        /// closed, because continuing with it could damage data.
        public static let rekeyFailed = Reason("rekeyFailed")
        /// The last step of a copy over a database failed, and the database could not be read to find out whether the step took
        /// effect. The database is intact: it has either the copy or its former content. Check again when the cause is gone.
        ///
        /// Or a commit in several attached files with rollback journals is done, but the folder could not be flushed afterwards.
        /// The files have the commit; a power cut may still undo it, in all of them.
        public static let unknownOutcome = Reason("unknownOutcome")
        /// A database could not be rewritten with another encryption: the written content differs from the original, or another
        /// process replaced the file in the meantime. The message says what the file contains now.
        public static let conversionFailed = Reason("conversionFailed")
        /// Another connection held a lock for longer than the busy timeout.
        public static let busy = Reason("busy")
        /// A call of a queue or a pool took longer than its timeout, while it waited or while it ran; if it ran, it was rolled
        /// back. Or the work on an untrusted file took longer than ``ResourceLimits/time``.
        public static let timeout = Reason("timeout")
        /// The work on an untrusted file needs more memory or rows than ``ResourceLimits`` allow.
        public static let limitExceeded = Reason("limitExceeded")
        /// A queue or a pool is suspended (``DatabaseWriter/suspend(timeout:)``): it takes no lock until it is resumed.
        public static let suspended = Reason("suspended")
        /// A child process used a database that its parent had opened before `fork`. The parent is not affected.
        public static let usedAfterFork = Reason("usedAfterFork")
        /// The system refuses random bytes, without which nothing can be encrypted. Usually a sandbox does not allow `getrandom`
        /// (<https://man7.org/linux/man-pages/man2/getrandom.2.html>). The message contains the system's error.
        public static let noRandomBytes = Reason("noRandomBytes")
        /// The system refuses another thread, as in a container with a limit of processes
        /// (<https://man7.org/linux/man-pages/man3/pthread_create.3.html>). Nothing was run, and the next call may succeed. The
        /// message contains the system's error.
        public static let noThread = Reason("noThread")
        /// The file could not be opened or created; the message contains its path.
        public static let cannotOpen = Reason("cannotOpen")
        /// SQLite has rolled back the transaction that a closure runs in, after the error in ``DatabaseError/underlyingError``.
        /// Nothing of the transaction is kept, and no statement runs until the outermost closure has ended.
        public static let transactionAborted = Reason("transactionAborted")
        /// A ``DatabaseSnapshot`` has ended or could not be taken, or the read that follows a write in one call could not start
        /// from the state that the write has left.
        public static let snapshotLost = Reason("snapshotLost")
        /// A call at the wrong time, such as a commit without a transaction.
        public static let misuse = Reason("misuse")
        /// An argument outside its documented range.
        public static let invalidArgument = Reason("invalidArgument")
        /// SQL tried to access a key, a cipher setting, a file or SQLCipher's log. The message names the call to use instead.
        /// Nothing was run.
        public static let refusedSQL = Reason("refusedSQL")
        /// Too few, too many, missing or unknown SQL parameters.
        public static let parameters = Reason("parameters")
        /// The result has no column with that name or index.
        public static let noSuchColumn = Reason("noSuchColumn")
        /// NULL was read as a type that cannot be NULL.
        public static let unexpectedNull = Reason("unexpectedNull")
        /// A value that cannot be converted to the requested type without loss.
        public static let typeMismatch = Reason("typeMismatch")
        /// No database is attached under that name, or the name is already in use.
        public static let schemaName = Reason("schemaName")
        /// The schema contains a text that is not the single CREATE statement that it claims to be, as in a malicious file. The
        /// text is not run. The message names the object and the reason.
        public static let malformedSchema = Reason("malformedSchema")
        /// A closure that SQLite called has thrown ``DatabaseError/underlyingError``.
        public static let callback = Reason("callback")
        /// No key slot opens with the given passphrase or recovery key.
        public static let noSlotOpens = Reason("noSlotOpens")
        /// The key slots are damaged, truncated, forged or of an unknown version.
        public static let keySlotsDamaged = Reason("keySlotsDamaged")
        /// The key slots or their database are not the latest: one of them was restored, or comes from a copy.
        /// ``DatabaseError/underlyingError`` is a ``KeySlots/Rollback``, which lists the effects. Unlocking can accept it.
        public static let keySlotsRolledBack = Reason("keySlotsRolledBack")
        /// A change of the key of a database with key slots was interrupted, and the cause that prevents finishing it persists.
        public static let keyRotationUnfinished = Reason("keyRotationUnfinished")
        /// A key provider has no key, or has a key that it must not use; the message says which and why.
        public static let keyProvider = Reason("keyProvider")
        /// No row has the key of the record that a call should update or read again.
        public static let recordNotFound = Reason("recordNotFound")
        /// A trigger (`RAISE(IGNORE)`, <https://sqlite.org/lang_createtrigger.html#raise>) or a conflict rule of the table
        /// (`ON CONFLICT IGNORE`, <https://sqlite.org/lang_conflict.html>) left out the write of a record. Nothing was changed, but
        /// if the call reads nothing back, earlier writes of a trigger to other rows stay.
        public static let writeIgnored = Reason("writeIgnored")
        /// A migration failed, or the database has migrations that the program does not know; the message says which.
        public static let migration = Reason("migration")
        /// A store of replicas or changes refuses a call or cannot be reached; the message says why, and
        /// ``DatabaseError/underlyingError`` is the error of the store. A later call may succeed.
        public static let storeUnavailable = Reason("storeUnavailable")
        /// A store lacks a feature that replication needs, and no later call can succeed; the message names it. Nothing was stored.
        public static let storeUnsupported = Reason("storeUnsupported")
        /// Another writer has taken over the replica in a store; this writer stores nothing more.
        public static let replicaFenced = Reason("replicaFenced")
        /// A replica in a store is damaged, incomplete, or sealed with another key; the message says which.
        public static let replicaDamaged = Reason("replicaDamaged")
        /// The key of a replicated database was changed; the given key opens only earlier states, or no state.
        public static let replicaKeyChanged = Reason("replicaKeyChanged")
        /// A store has an older state of a replica than it had before: the store was restored from a backup, or it answers with old
        /// versions. Nothing was changed on this side.
        public static let replicaRolledBack = Reason("replicaRolledBack")
        /// The history of the replica in a store differs from the history here: two writers continued from the same state. Nothing
        /// was changed on this side.
        public static let replicaForked = Reason("replicaForked")
        /// The file of an open database was replaced by another file, for example by a key change with a new file, or was moved
        /// away. Open connections read the former file, and cannot write.
        public static let databaseReplaced = Reason("databaseReplaced")
        /// A ``ChangeLog`` lacks entries that precede a message, or has pruned entries that another peer lacks; the message says
        /// which, and what to do.
        public static let changesMissing = Reason("changesMissing")
        /// Other copies or a store have changes that this copy of a database made and no longer has: the copy was restored from an
        /// older state. Nothing was changed; call `ChangeLog.resolveRestore(_:)` to choose how to continue.
        public static let copyRestored = Reason("copyRestored")
    }

    // One reference, so that every call that may throw returns the error in a register.
    private let storage: Storage

    private final class Storage: Sendable {
        let code: ResultCode
        let reason: Reason
        let message: String
        let sql: String?
        let offset: Int?
        let arguments: String?
        let path: String?
        let underlying: (any Error)?
        let workingKey: WorkingKey?
        let statementIndex: Int?

        init(
            code: ResultCode, reason: Reason, message: String, sql: String?, offset: Int?, arguments: String?, path: String?,
            underlying: (any Error)?, workingKey: WorkingKey? = nil, statementIndex: Int? = nil
        ) {
            (self.code, self.reason, self.message, self.sql, self.offset) = (code, reason, message, sql, offset)
            (self.arguments, self.path, self.underlying, self.workingKey) = (arguments, path, underlying, workingKey)
            self.statementIndex = statementIndex
        }
    }

    /// Creates an error, such as one to throw from your function that SQL calls.
    ///
    /// SQL that could hold a key, such as `PRAGMA key = '…'`, is not stored, and neither is a message that repeats a word of that
    /// SQL.
    /// - Parameters:
    ///   - code: SQLite's result code. Default: ``ResultCode/error``.
    ///   - reason: the condition. Default: ``Reason-swift.struct/engine``.
    ///   - message: a sentence in English, without values of the database.
    ///   - sql: the SQL that caused the error. Default: nil.
    ///   - offset: the place of the error in `sql`, in bytes of UTF-8. Default: nil.
    ///   - arguments: the bound values. They end up in logs. Default: nil.
    ///   - path: the file that the error is about. Default: nil.
    ///   - underlying: the error that caused this error. Default: nil.
    public init(
        code: ResultCode = .error, reason: Reason = .engine, message: String, sql: String? = nil, offset: Int? = nil,
        arguments: String? = nil, path: String? = nil, underlying: (any Error)? = nil
    ) {
        let redaction = sql.flatMap { KeyRedaction($0) }
        let isRefused = reason == .refusedSQL
        let hasKey = redaction != nil || isRefused && sql != nil
        // The engine's message for refused SQL does not depend on the SQL.
        let isLeak = !isRefused && redaction?.leaks(into: message) == true
        let message = isLeak ? "\(code), in SQL with a key" : KeyRedaction.cleanURI(message)
        // The key may be one of the arguments.
        storage = Storage(
            code: code, reason: reason, message: message, sql: hasKey ? KeyRedaction.mark : sql, offset: hasKey ? nil : offset,
            arguments: hasKey ? nil : arguments, path: path.map { KeyRedaction.cleanURI($0) }, underlying: underlying)
    }

    /// Creates the error of a change of key that failed.
    package init(changingKeyOf path: String?, code: ResultCode, workingKey: WorkingKey, message: String) {
        storage = Storage(
            code: code, reason: .rekeyFailed, message: message, sql: nil, offset: nil, arguments: nil, path: path, underlying: nil,
            workingKey: workingKey)
    }

    /// The error of a statement of a script.
    init(_ error: any Error, inStatement index: Int) {
        let error = DatabaseError(wrapping: error)
        storage = Storage(
            code: error.code, reason: error.reason, message: error.message, sql: error.sql, offset: error.offset,
            arguments: error.arguments, path: error.path, underlying: error.underlyingError, workingKey: error.workingKey,
            statementIndex: index)
    }

    /// SQLite's extended result code, or the primary code if there is no extended code.
    public var code: ResultCode { storage.code }

    /// The condition that this package found, beyond the code.
    public var reason: Reason { storage.reason }

    /// A sentence about the error, in English and without bound values.
    public var message: String { storage.message }

    /// The SQL text, with its placeholders and without the values bound to them.
    public var sql: String? { storage.sql }

    /// The index of the statement of an ``SQLScript`` that failed, counted from 0; comments alone do not count. Nil for other
    /// errors.
    public var statementIndex: Int? { storage.statementIndex }

    /// The place of the error in ``sql``, as an offset in bytes of UTF-8, if SQLite reports it
    /// (<https://sqlite.org/c3ref/errcode.html>).
    public var offset: Int? { storage.offset }

    /// The bound values, only if ``DatabaseConfiguration/errorsShowArguments`` is on.
    public var arguments: String? { storage.arguments }

    /// The file that the error is about, if any.
    public var path: String? { storage.path }

    /// The key that opens the file after a failed change of key; nil for other errors.
    public var workingKey: WorkingKey? { storage.workingKey }

    /// The underlying error, such as an error that your closure has thrown; nil if there is none.
    public var underlyingError: (any Error)? { storage.underlying }
}

extension DatabaseError: CustomStringConvertible {
    /// All parts of the error, in one line.
    public var description: String {
        var text = statementIndex.map { "statement \($0 + 1) of the script: " } ?? ""
        text += "\(message) [\(code.rawValue)]"
        if let path, !message.contains(path) { text += " (\(path))" }
        if let sql { text += " in: \(sql)" }
        if let offset { text += " (at byte \(offset))" }
        if let arguments { text += " with: \(arguments)" }
        return text
    }
}

extension DatabaseError: Equatable {
    public static func == (a: DatabaseError, b: DatabaseError) -> Bool {
        a.code == b.code && a.reason == b.reason && a.message == b.message && a.sql == b.sql && a.offset == b.offset
            && a.arguments == b.arguments && a.path == b.path && a.workingKey == b.workingKey
            && a.statementIndex == b.statementIndex
    }
}

extension DatabaseError {
    /// Creates the error that the engine has just reported on a connection. Call this before any other call on the connection.
    /// - Parameter statement: the running statement, whose values the message must not show.
    @usableFromInline
    @inline(never)
    package init(
        rc: Int32, database: OpaquePointer?, sql: String? = nil, arguments: String? = nil, path: String? = nil,
        statement: OpaquePointer? = nil
    ) {
        var code = ResultCode(rawValue: rc)
        var message = String(cString: sqlite3_errstr(rc))
        var offset: Int?
        // The connection remembers only its last error; if that is not the one meant, its text would mislead.
        if let database, sqlite3_errcode(database) & 0xff == rc & 0xff {
            message = String(cString: sqlite3_errmsg(database))
            let position = sqlite3_error_offset(database)
            if position >= 0 { offset = Int(position) }
            if let statement, arguments == nil { message = ValueRedaction.clean(message, code, statement) }
            if message.hasSuffix(Self.doubleQuotes + "?") { message = "\(message.dropLast()); \(Self.doubleQuotesAllowed)" }
            if message == "too many SQL variables" {
                message += ": bind fewer values, insert them into a table for the query, or read records by fetchAll(_:ids:)"
            }
            // If a function alone is denied by the authorizer, SQLite reports a plain error.
            if rc == SQLITE_ERROR, message.hasPrefix("not authorized to use function") { code = .authorization }
        }
        // The engine's messages for what it refuses are constants: they name the pragma but none of its argument. VACUUM drops the
        // message of the ATTACH that it runs.
        if rc == SQLITE_AUTH, message == String(cString: sqlite3_errstr(rc)) {
            message = "VACUUM INTO is refused: use backup(toFileAt:)"
        }
        let isRefused = rc == SQLITE_AUTH && message.contains(" is refused")
            && ["PRAGMA ", "ATTACH ", "VACUUM ", "CHANGE "].contains { message.hasPrefix($0) }
        var reason = isRefused ? .refusedSQL : Self.reason(for: code)
        if code == .readOnlyMoved {
            reason = .databaseReplaced
            message = "the file was replaced or removed, as by a change of key into a new file: open it again"
        } else if [.cannotOpen, .ioErrorLock].contains(code), let number = database.map({ sqlite3_system_errno($0) }), number != 0 {
            // An extended code of cannotOpen says that it was not the system. EMLINK is files.h's.
            let reason = number != EMLINK ? String(cString: strerror(number))
                : "a journal, log or shared memory beside it has another name too, as in a folder that was copied by hard links"
            message = (code == .cannotOpen ? message : "the system refuses a lock") + ": \(reason)"
        }
        if code == .ioErrorFolderFlush {
            message = "the commit is done, but the folder of its journal cannot be flushed: a power cut may still undo the commit"
        }
        // SQLite and SQLCipher have no such error, and report a missing salt or vector as a lack of memory, or without a message.
        let isVague = code.primary == .outOfMemory || code == .error && message == String(cString: sqlite3_errstr(SQLITE_ERROR))
        if let refusal = Self.refusalOfRandomBytes, isVague {
            (code, reason, message, offset) = (refusal.code, refusal.reason, refusal.message, nil)
        }
        self.init(
            code: code, reason: reason, message: message, sql: sql, offset: sql == nil ? nil : offset, arguments: arguments,
            path: path)
    }

    /// The end of the engine's message about a double-quoted name that is not a column, without its question mark.
    package static let doubleQuotes = "should this be a string literal in single-quotes"
    private static let doubleQuotesAllowed = "DatabaseConfiguration.allowsDoubleQuotedStrings accepts one in double quotes"

    /// The error to throw if the call that has just failed on this thread was refused random bytes; nil if it was not.
    private static var refusalOfRandomBytes: DatabaseError? {
        let number = sqlcipherkit_take_random_refusal()
        guard number != 0 else { return nil }
        let reason = String(cString: strerror(number))
        return DatabaseError(reason: .noRandomBytes, message: "the system refuses random bytes: \(reason)")
    }

    /// - Parameter number: the errno with which the system refused a thread.
    package static func noThread(_ number: Int32) -> DatabaseError {
        DatabaseError(reason: .noThread, message: "the system refuses another thread: \(String(cString: strerror(number)))")
    }

    /// Creates the error for one thrown by a closure that SQLite has called.
    package init(thrownBy what: String, _ error: any Error, code: ResultCode = .error) {
        if let error = error as? DatabaseError {
            self = error
        } else {
            let text = (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
            let isCancelled = error is CancellationError && code == .error
            self.init(code: isCancelled ? .interrupted : code, reason: .callback, message: "\(what): \(text)", underlying: error)
        }
    }

    /// Creates the error for whatever was thrown: a `DatabaseError` is taken as it is.
    package init(wrapping error: any Error) { self = error as? DatabaseError ?? DatabaseError(thrownBy: "it failed", error) }

    /// Returns the error with the SQL of the statement that caused it, unless it already has SQL.
    func within(_ sql: String?, arguments: String?) -> DatabaseError {
        guard self.sql == nil, let sql else { return self }
        return DatabaseError(
            code: code, reason: reason, message: message, sql: sql, arguments: arguments, path: path, underlying: underlyingError)
    }

    private static func reason(for code: ResultCode) -> Reason {
        switch code {
        case .busy: .busy
        case .notADatabase: .wrongKeyOrNotADatabase
        case .cannotOpen: .cannotOpen
        case .misuse: .misuse
        case .ioErrorFolderFlush: .unknownOutcome
        default: .engine
        }
    }

    @usableFromInline package static let closedConnection = DatabaseError(
        code: .misuse, reason: .closed, message: "the connection is closed")

    package static func misuse(_ message: String, sql: String? = nil) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .misuse, message: message, sql: sql)
    }

    package static func invalidArgument(_ message: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .invalidArgument, message: message)
    }
}

extension DatabaseError {
    /// The key that opens a file after its key change failed, found by reading the file again.
    public enum WorkingKey: Hashable, Sendable {
        /// The key from before the change: nothing has changed.
        case old
        /// The new key: the change took effect.
        case new
        /// The file could not be read again, so keep both keys: one of them opens it.
        case unknown
    }
}

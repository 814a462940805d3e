/// The error type of this package. <doc:Troubleshooting> explains the messages that are met most often.
///
/// An error has SQLite's result code, the condition that this package found (``reason-swift.property``), a readable message, and
/// the SQL that caused it. It never contains bound values, unless ``DatabaseConfiguration/errorsShowArguments`` is on, and never
/// key material.
public struct DatabaseError: Error, Sendable {
    /// Conditions that this package distinguishes, beyond SQLite's result code.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum Reason: Hashable, Sendable {
        /// SQLite itself reported the error; see ``DatabaseError/code``.
        case engine
        /// The key is wrong, the file is not a database, or its cipher settings are different: encryption makes the three
        /// indistinguishable.
        case wrongKeyOrNotADatabase
        /// A key was given for a file that is a plaintext SQLite database. The file has not been changed.
        case notEncrypted
        /// The pages of an encrypted file have no authentication codes, so it could have been changed without the key, and the call
        /// does not accept that. The file has not been changed.
        case notAuthenticated
        /// A key of zero bytes.
        case emptyKey
        /// A key or a cipher setting that SQLCipher would ignore or misunderstand.
        case invalidKey
        /// The connection, or an object that belongs to it, is closed.
        case closed
        /// A change of key met an error; ``DatabaseError/workingKey-swift.property`` says which key opens the file. The connection
        /// is closed, because continuing with it could damage data.
        case rekeyFailed
        /// The last step of a copy over a database failed, and the database could not be read to find out whether the step took
        /// effect. The database is intact: it has either the copy or its former content. Check again when the cause is gone.
        case unknownOutcome
        /// A database could not be rewritten with another encryption: what was written differs from what was read, or another
        /// process replaced the file in the meantime. The message says what the file contains now.
        case conversionFailed
        /// Another connection held a lock for longer than the busy timeout.
        case busy
        /// A call of a queue or a pool took longer than its timeout, while it waited or while it ran; if it ran, it was rolled
        /// back. Or the work on an untrusted file took longer than ``WorkLimits/time``.
        case timeout
        /// The work on an untrusted file needs more memory or rows than ``WorkLimits`` allow.
        case limitExceeded
        /// A queue or a pool is suspended (``SharedDatabase/suspend(timeout:)``): it takes no lock until it is resumed.
        case suspended
        /// A child process used what its parent had opened before `fork`. The parent is not affected.
        case forked
        /// The system refuses random bytes, without which nothing can be encrypted. Usually a sandbox does not allow `getrandom`
        /// (<https://man7.org/linux/man-pages/man2/getrandom.2.html>). The message contains the system's error.
        case noRandomBytes
        /// The system refuses another thread, as in a container with a limit of processes
        /// (<https://man7.org/linux/man-pages/man3/pthread_create.3.html>). Nothing was run, and the next call may succeed. The message
        /// contains the system's error.
        case noThread
        /// The file could not be opened or created; the message contains its path.
        case cannotOpen
        /// SQLite has rolled back the transaction that a closure runs in, after the error in ``DatabaseError/underlyingError``.
        /// Nothing of the transaction is kept, and no statement runs until the outermost closure has ended.
        case aborted
        /// A ``DatabaseSnapshot`` has ended or could not be taken, or a read could not start from the end of its write; the message
        /// says why.
        case snapshotLost
        /// A call at the wrong time, such as a commit without a transaction.
        case misuse
        /// An argument outside its documented range.
        case invalidArgument
        /// SQL tried to access a key, a cipher setting, a file or SQLCipher's log. The message names the call to use instead.
        /// Nothing was run.
        case refusedSQL
        /// Too few, too many, missing or unknown SQL parameters.
        case parameters
        /// The result has no column with that name or index.
        case noSuchColumn
        /// NULL for a type that cannot be NULL.
        case unexpectedNull
        /// A value that cannot be converted to the requested type without loss.
        case typeMismatch
        /// No database is attached under that name, or the name is already in use.
        case schemaName
        /// The schema contains a text that is not the single CREATE statement that it claims to be, as in a malicious file. It is
        /// not run. The message says which one and why.
        case schemaText
        /// A closure that SQLite called has thrown ``DatabaseError/underlyingError``.
        case callback
        /// No key slot opens with the given passphrase or recovery key.
        case noSlotOpens
        /// The key slots are damaged, truncated, forged or of an unknown version.
        case keySlotsDamaged
        /// The key slots or their database are not the latest: one of them was restored, or comes from a copy.
        /// ``DatabaseError/underlyingError`` is a ``KeySlots/Rollback``, which says what would become valid again. Unlocking can
        /// accept it.
        case keySlotsRolledBack
        /// A change of the key of a database with key slots was interrupted, and the cause that prevents finishing it persists.
        case keyRotationUnfinished
        /// A key provider has no key, or has one that it must not use; the message says which and why.
        case keyProvider
        /// There is no row with the key of the record that was to be changed or read again.
        case recordNotFound
        /// A migration failed, or the database has migrations that the program does not know; the message says which.
        case migration
        /// A store of replicas or changes refuses a call or cannot be reached; the message says why, and
        /// ``DatabaseError/underlyingError`` is what the store has thrown. A later call may succeed.
        case storeUnavailable
        /// A store lacks what replication needs, and no later call can succeed; the message says what. Nothing was stored.
        case storeUnsupported
        /// Another writer has taken over the replica in a store; this one stores nothing more.
        case replicaFenced
        /// What a store holds of a replica is damaged, incomplete, or sealed with another key; the message says which.
        case replicaDamaged
        /// The key of a replicated database was changed; what is given opens only earlier states, or none any more.
        case replicaKeyChanged
        /// A store shows an earlier state of a replica than what it has shown or stored before: it was restored from a backup, or
        /// answers with old versions. Nothing was changed on this side.
        case replicaRolledBack
        /// A store has a history of a replica that branches off before what is here: two writers have gone on from one state.
        /// Nothing was changed on this side.
        case replicaForked
        /// The file of an open database was replaced by another one, as by a change of key into a new file, or was moved away. What
        /// was open reads the former file, and cannot write.
        case databaseReplaced
        /// A ``ChangeLog`` lacks entries that precede a message, or has pruned those that another peer lacks; the message says
        /// which, and what to do.
        case changesMissing
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
    /// SQL that could hold a key, such as `PRAGMA key = '…'`, is not stored, nor is a message that repeats a word of it.
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
    init(_ error: DatabaseError, inStatement index: Int) {
        storage = Storage(
            code: error.code, reason: error.reason, message: error.message, sql: error.sql, offset: error.offset,
            arguments: error.arguments, path: error.path, underlying: error.underlyingError, workingKey: error.workingKey,
            statementIndex: index)
    }

    /// SQLite's result code, extended if there is an extended one.
    public var code: ResultCode { storage.code }

    /// The condition that this package found, beyond the code.
    public var reason: Reason { storage.reason }

    /// What happened, in English and without bound values.
    public var message: String { storage.message }

    /// The SQL text, with its placeholders and without the values bound to them.
    public var sql: String? { storage.sql }

    /// In an ``SQLScript``, which of its statements failed, counted from 0; comments alone do not count. Nil for other errors.
    public var statementIndex: Int? { storage.statementIndex }

    /// Where in ``sql`` the error is, as an offset in bytes of UTF-8, if SQLite reports it
    /// (<https://sqlite.org/c3ref/errcode.html>).
    public var offset: Int? { storage.offset }

    /// The bound values, only if ``DatabaseConfiguration/errorsShowArguments`` is on.
    public var arguments: String? { storage.arguments }

    /// The file that the error is about, if any.
    public var path: String? { storage.path }

    /// Which key opens the file after a failed change of key; nil for other errors.
    public var workingKey: WorkingKey? { storage.workingKey }

    /// The underlying error, such as the one that your closure has thrown; nil if there is none.
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

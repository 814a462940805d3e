/// What went wrong: the one error type of this package.
///
/// An error tells SQLite's result code, what this package knows beyond it (``reason-swift.property``), a message for
/// people, and the SQL it happened in. It never holds bound values, unless ``DatabaseConfiguration/errorsShowArguments`` is on,
/// and never key material.
public struct DatabaseError: Error, Sendable {
    /// Conditions that this package tells apart, beyond SQLite's result code.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum Reason: Hashable, Sendable {
        /// SQLite itself reported the error; see ``DatabaseError/code``.
        case engine
        /// The key is wrong, or the file is not a database, or its cipher settings are others: encryption makes the three
        /// indistinguishable.
        case wrongKeyOrNotADatabase
        /// A key was given for a file that is a plaintext SQLite database. Its bytes are untouched.
        case notEncrypted
        /// A key without a single byte.
        case emptyKey
        /// A key or a cipher setting that SQLCipher would ignore or misunderstand.
        case invalidKey
        /// The connection, or what belongs to it, is closed.
        case closed
        /// A change of key met an error; ``DatabaseError/workingKey-swift.property`` says with which key the file opens. The
        /// connection is closed, as going on with it could harm data.
        case rekeyFailed
        /// The last step of a copy over a database failed, and the database could not be read to find out whether it took effect.
        /// It is whole: the copy, or what it held before. Look again when the cause is gone.
        case unknownOutcome
        /// A database could not be rewritten with another encryption: what was written is not what was read, or the file was
        /// replaced meanwhile. The message says what the file is now.
        case conversionFailed
        /// Another connection held a lock for longer than the busy timeout.
        case busy
        /// A call of a queue or a pool took longer than its timeout: it waited, or ran and was rolled back.
        case timeout
        /// A queue or a pool is suspended (``SharedDatabase/suspend(timeout:)``): it takes no lock before it is resumed.
        case suspended
        /// What the parent process opened is used by its child, after `fork`. The parent goes on undisturbed.
        case forked
        /// The system refuses random bytes, without which nothing can be encrypted: as a rule in a sandbox that does not allow
        /// `getrandom` (<https://man7.org/linux/man-pages/man2/getrandom.2.html>). The message has the system's error.
        case noRandomBytes
        /// The file could not be opened or created; the message names it.
        case cannotOpen
        /// SQLite itself has rolled back the transaction that a closure runs in, after an error: ``DatabaseError/underlyingError``
        /// is that error. Nothing of the transaction is kept, and no statement runs until the outermost closure has ended.
        case aborted
        /// A ``DatabaseSnapshot`` could not be kept, or a read could not begin at the end of its write; the message says why.
        case snapshotLost
        /// A call at the wrong time, such as a commit without a transaction.
        case misuse
        /// An argument out of its documented range.
        case invalidArgument
        /// SQL reached for a key, a cipher setting, a file or SQLCipher's log; the message names the call that does it. Nothing was
        /// run.
        case refusedSQL
        /// Too few, too many, missing or unknown SQL parameters.
        case parameters
        /// No column of that name or index in the result.
        case noSuchColumn
        /// NULL where the requested type has no place for it.
        case unexpectedNull
        /// A value that cannot be had as the requested type without a loss.
        case typeMismatch
        /// No database is attached under that name, or one is already.
        case schemaName
        /// The schema of a database has a text that is not the one CREATE statement that it claims to be, as an untrusted file may:
        /// it is not run. The message says which and why.
        case schemaText
        /// A closure of yours that SQLite called has thrown: ``DatabaseError/underlyingError`` is what it threw.
        case callback
        /// No key slot opens with the passphrase or recovery key given.
        case noSlotOpens
        /// The key slots are damaged, cut short, forged or of an unknown version.
        case keySlotsDamaged
        /// The key slots, or their database, are not the latest: one of them was put back, or taken from a copy.
        /// ``DatabaseError/underlyingError`` is a ``KeySlotsRollback``, which says what would come back, and unlocking can accept
        /// it.
        case keySlotsRolledBack
        /// A change of the key of a database with key slots was cut off, and what stands in the way of finishing it is still there.
        case keyRotationUnfinished
        /// A key provider has no key, or one that it must not use; the message says which and why.
        case keyProvider
        /// There is no row with the key of the record that was to be changed or read again.
        case recordNotFound
        /// A migration could not be done, or the database has migrations that the program does not know; the message says which.
        case migration
    }

    // One reference: an error is a word in a register on the way out of every call that may throw.
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

        init(
            code: ResultCode, reason: Reason, message: String, sql: String?, offset: Int?, arguments: String?, path: String?,
            underlying: (any Error)?, workingKey: WorkingKey? = nil
        ) {
            self.code = code
            self.reason = reason
            self.message = message
            self.sql = sql
            self.offset = offset
            self.arguments = arguments
            self.path = path
            self.underlying = underlying
            self.workingKey = workingKey
        }
    }

    /// Makes an error, for instance one thrown by a function of yours that SQL calls.
    ///
    /// SQL that could hold a key, as `PRAGMA key = '…'` does, is not kept, nor is a message that repeats a word of it.
    public init(
        code: ResultCode = .error, reason: Reason = .engine, message: String, sql: String? = nil, offset: Int? = nil,
        arguments: String? = nil, path: String? = nil, underlying: (any Error)? = nil
    ) {
        let redaction = sql.flatMap { KeyRedaction($0) }
        let isRefused = reason == .refusedSQL
        let hasKey = redaction != nil || isRefused && sql != nil
        // What the engine says of SQL that it refuses is the same whatever the SQL was.
        let isLeak = !isRefused && redaction?.leaks(into: message) == true
        let message = isLeak ? "\(code), in SQL with a key" : KeyRedaction.cleanURI(message)
        // The key may well be one of the arguments.
        storage = Storage(
            code: code, reason: reason, message: message, sql: hasKey ? KeyRedaction.mark : sql, offset: hasKey ? nil : offset,
            arguments: hasKey ? nil : arguments, path: path.map { KeyRedaction.cleanURI($0) }, underlying: underlying)
    }

    /// A change of key that met an error.
    init(changingKeyOf path: String?, code: ResultCode, workingKey: WorkingKey, message: String) {
        storage = Storage(
            code: code, reason: .rekeyFailed, message: message, sql: nil, offset: nil, arguments: nil, path: path, underlying: nil,
            workingKey: workingKey)
    }

    /// SQLite's result code, extended where it has one.
    public var code: ResultCode { storage.code }

    /// What this package knows beyond the code.
    public var reason: Reason { storage.reason }

    /// What happened, in English, without bound values.
    public var message: String { storage.message }

    /// The SQL text, with its placeholders and without the values bound to them.
    public var sql: String? { storage.sql }

    /// Where in ``sql`` the error is, in bytes of UTF-8, if SQLite can tell
    /// (<https://sqlite.org/c3ref/errcode.html>).
    public var offset: Int? { storage.offset }

    /// The bound values, only if ``DatabaseConfiguration/errorsShowArguments`` is on.
    public var arguments: String? { storage.arguments }

    /// The file that the error is about, if it is about one.
    public var path: String? { storage.path }

    /// Which key opens the file after a change of key that met an error; nil for other errors.
    public var workingKey: WorkingKey? { storage.workingKey }

    /// The error that a closure of yours threw, if that is where it began.
    public var underlyingError: (any Error)? { storage.underlying }
}

extension DatabaseError: CustomStringConvertible {
    /// All parts of the error in a line.
    public var description: String {
        var text = "\(message) [\(code.rawValue)]"
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
    }
}

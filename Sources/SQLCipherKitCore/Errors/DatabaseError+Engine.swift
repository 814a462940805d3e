import CSQLCipher
import Foundation

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
            message = "the file at the path is another one by now, as after a change of key into a new file, or gone: open it again"
        } else if [.cannotOpen, .ioErrorLock].contains(code), let number = database.map({ sqlite3_system_errno($0) }), number != 0 {
            // An extended code of cannotOpen says that it was not the system.
            message = (code == .cannotOpen ? message : "the system refuses a lock") + ": \(String(cString: strerror(number)))"
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

    /// Runs what throws nothing but `DatabaseError`, except what a closure or a provider of the caller throws; that becomes
    /// ``underlyingError``.
    package static func only<R>(_ what: String, _ body: () throws -> sending R) throws(DatabaseError) -> sending R {
        do { return try body() } catch { throw DatabaseError(thrownBy: what, error) }
    }

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

import CSQLCipher

extension DatabaseError {
    /// The error that the engine has just reported on a connection. To be made before anything else is called on it.
    @usableFromInline
    @inline(never)
    init(rc: Int32, database: OpaquePointer?, sql: String? = nil, arguments: String? = nil, path: String? = nil) {
        let code = ResultCode(rawValue: rc)
        var message = String(cString: sqlite3_errstr(rc))
        var offset: Int?
        // The connection remembers its last error only: where another one is meant, its text would mislead.
        if let database, sqlite3_errcode(database) & 0xff == rc & 0xff {
            message = String(cString: sqlite3_errmsg(database))
            let position = sqlite3_error_offset(database)
            if position >= 0 { offset = Int(position) }
        }
        self.init(
            code: code, reason: Self.reason(for: code), message: message, sql: sql, offset: sql == nil ? nil : offset,
            arguments: arguments, path: path)
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

    @usableFromInline static let closedConnection = DatabaseError(
        code: .misuse, reason: .closed, message: "the connection is closed")

    static func misuse(_ message: String, sql: String? = nil) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .misuse, message: message, sql: sql)
    }

    static func invalidArgument(_ message: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .invalidArgument, message: message)
    }
}

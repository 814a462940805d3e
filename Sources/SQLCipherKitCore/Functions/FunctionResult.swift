import CSQLCipher
import Foundation

/// Passes the result of a function, or its error, to SQLite.
@usableFromInline
struct FunctionResult {
    let context: OpaquePointer

    @inlinable
    func set(_ value: some SQLValueConvertible, _ profile: ValueProfile) throws {
        try set(value.sqlValue(in: profile))
    }

    @usableFromInline
    func set(_ value: SQLValue) throws {
        switch value {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number):
            if number.isNaN { throw DatabaseError.invalidArgument("a function returned NaN, which SQLite would turn into NULL") }
            sqlite3_result_double(context, number)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    let copied = sqlcipherkit_transient()
                    guard let base = bytes.baseAddress else { return sqlite3_result_text(context, "", 0, copied) }
                    sqlite3_result_text64(context, base, UInt64(bytes.count), copied, UInt8(SQLITE_UTF8))
                }
            }
        case .blob(let data):
            data.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return sqlite3_result_zeroblob(context, 0) }
                sqlite3_result_blob64(context, base, UInt64(bytes.count), sqlcipherkit_transient())
            }
        }
    }

    /// Passes the message to SQLite; the error itself is kept on the connection until the statement fails. SQLite does not get the
    /// error's code, because some codes would make it roll the transaction back.
    func fail(_ error: any Error, in function: String, _ connection: Connection) {
        let error = DatabaseError(thrownBy: "the function \(function)", error)
        let message = String(error.message.prefix { $0 != "\0" })
        connection.keepCallbackError(error, rc: SQLITE_ERROR, message: message)
        sqlite3_result_error(context, message, -1)
    }
}

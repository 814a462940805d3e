import CSQLCipher

/// A statement that is run once for each of very many rows, with values whose bytes are at hand.
package struct RowStatement {
    private let connection: Connection
    private let statement: RawStatement

    package init(_ connection: Connection, _ sql: String) throws {
        self.connection = connection
        statement = try RawStatement(connection, sql)
    }

    /// Binds a value to a parameter, counted from 1, until the statement has run: its bytes are not copied.
    package func bind(_ value: LentValue, at parameter: Int) throws {
        let handle = statement.handle, parameter = Int32(truncatingIfNeeded: parameter)
        let rc = switch value {
        case .null: sqlite3_bind_null(handle, parameter)
        case .integer(let value): sqlite3_bind_int64(handle, parameter, value)
        case .real(let value): sqlite3_bind_double(handle, parameter, value)
        case .text(let bytes):
            bytes.isEmpty
                ? sqlite3_bind_text64(handle, parameter, "", 0, sqlcipherkit_transient(), UInt8(SQLITE_UTF8))
                : sqlite3_bind_text64(
                    handle, parameter, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), nil,
                    UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, parameter, 0)
                : sqlite3_bind_blob64(handle, parameter, bytes.baseAddress, UInt64(bytes.count), nil)
        }
        if rc != SQLITE_OK { throw connection.failure(rc, running: handle) }
    }

    /// Runs the statement, and forgets its values.
    /// - Returns: the first column of the row that it returns, if that is an integer.
    @discardableResult
    package func run() throws -> Int64? {
        defer {
            statement.reset()
            sqlite3_clear_bindings(statement.handle)
        }
        var result: Int64?
        while try statement.step() {
            if case .integer(let value) = try LentValue(statement.handle, 0) { result = value }
        }
        return result
    }
}

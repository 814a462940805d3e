import CSQLCipher
import Foundation

/// An internal statement for very large numbers of rows: it bypasses the cache, and only reads values where necessary.
package final class RawStatement {
    private let connection: Connection
    package let handle: OpaquePointer
    package let columns: Int32

    package init(_ connection: Connection, _ sql: String) throws {
        self.connection = connection
        var statement: OpaquePointer?
        let rc = sqlite3_prepare_v2(try connection.liveForUse(), sql, -1, &statement, nil)
        guard rc == SQLITE_OK, let statement else { throw connection.failure(rc, sql: sql) }
        handle = statement
        columns = sqlite3_column_count(statement)
    }

    deinit { sqlite3_finalize(handle) }

    package func step() throws -> Bool {
        let rc = sqlite3_step(handle)
        if rc == SQLITE_ROW { return true }
        if rc == SQLITE_DONE { return false }
        throw connection.failure(rc, running: handle)
    }

    package func reset() { sqlite3_reset(handle) }

    /// Binds a column of another statement's row to a parameter, counted from 1.
    package func bind(_ column: Int32, of other: RawStatement, at parameter: Int32) throws {
        try connection.check(sqlite3_bind_value(handle, parameter, sqlite3_column_value(other.handle, column)))
    }

    /// Returns whether both rows hold the same values, byte for byte.
    package func equals(_ other: RawStatement) -> Bool {
        columns == other.columns && (0..<columns).allSatisfy { equals(other, column: $0) }
    }

    package func equals(_ other: RawStatement, column: Int32) -> Bool {
        let type = sqlite3_column_type(handle, column)
        guard type == sqlite3_column_type(other.handle, column) else { return false }
        switch type {
        case SQLITE_INTEGER: return sqlite3_column_int64(handle, column) == sqlite3_column_int64(other.handle, column)
        case SQLITE_FLOAT: return sqlite3_column_double(handle, column) == sqlite3_column_double(other.handle, column)
        case SQLITE_TEXT, SQLITE_BLOB:
            // Read as blobs, texts are not converted from the database's encoding, but compared as stored.
            let a = sqlite3_column_blob(handle, column), b = sqlite3_column_blob(other.handle, column)
            let count = sqlite3_column_bytes(handle, column)
            guard count == sqlite3_column_bytes(other.handle, column) else { return false }
            if count == 0 { return true }
            guard let a, let b else { return false }
            return memcmp(a, b, Int(count)) == 0
        default: return true
        }
    }
}

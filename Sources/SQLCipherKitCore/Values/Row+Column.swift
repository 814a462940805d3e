import CSQLCipher
import Foundation

extension Row {
    /// Some columns, in order, from the one at the index `first`.
    /// - Parameter own: the profiles of those with their own.
    @inline(__always)
    package func values<each Value: SQLValueConvertible>(
        from first: Int = 0, _ own: ColumnProfiles? = nil
    ) throws -> (repeat each Value) {
        var index = -1
        func next() -> Int {
            index += 1
            return index
        }
        return (repeat try column(next(), first, own).read(as: (each Value).self))
    }

    @inline(__always)
    private func column(_ index: Int, _ first: Int, _ own: ColumnProfiles?) -> Row._Column {
        Row._Column(handle, Int32(first + index), own?.pointers[index])
    }

    /// A column of a statement's current row, which `_readSQL(from:)` reads from.
    ///
    /// A column cannot be stored: it is only lent for the duration of a call.
    @frozen
    public struct _Column: ~Copyable {
        @usableFromInline package let handle: OpaquePointer
        @usableFromInline package let index: Int32
        /// The column's own profile; nil for the connection's.
        @usableFromInline let own: UnsafePointer<ValueProfile>?

        @inlinable
        @inline(__always)
        package init(_ handle: OpaquePointer, _ index: Int32, _ own: UnsafePointer<ValueProfile>? = nil) {
            self.handle = handle
            self.index = index
            self.own = own
        }

        /// The forms in which the column stores dates, UUIDs and decimals: the profile of a record's column
        /// (``ColumnCodingCustomizable/columnProfiles``), or the connection's.
        public var profile: ValueProfile { .resolved(own?.pointee, .of(handle)) }

        /// The value's storage class, before any conversion. `null` if the statement has left the row.
        public var storageClass: StorageClass {
            switch sqlite3_column_type(handle, index) {
            case SQLITE_INTEGER: .integer
            case SQLITE_FLOAT: .real
            case SQLITE_TEXT: .text
            case SQLITE_BLOB: .blob
            default: .null
            }
        }

        /// The column's name in the result.
        public var name: String {
            guard let name = sqlite3_column_name(handle, index) else { return "" }
            return String(cString: name)
        }

        /// Returns whether the value is NULL.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn`` if the statement has left the row.
        @inlinable
        @inline(__always)
        public func isNull() throws -> Bool {
            if sqlcipherkit_sqlite3_column_type(handle, index) != SQLITE_NULL { return false }
            if index < 0 || index >= sqlcipherkit_sqlite3_data_count(handle) { throw mismatch("a value") }
            return true
        }

        /// The value in its own storage class.
        /// - Throws: ``DatabaseError/Reason/typeMismatch`` for text that is not UTF-8: read its bytes instead.
        public func value() throws -> SQLValue {
            switch sqlite3_column_type(handle, index) {
            case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, index))
            case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, index))
            case SQLITE_TEXT: return .text(try String._readSQL(from: self))
            case SQLITE_BLOB: return .blob(try Data._readSQL(from: self))
            default:
                _ = try isNull()
                return .null
            }
        }

        /// The bytes of a text (its UTF-8) or of a blob, without a copy.
        ///
        /// - Throws: ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for anything else, or any
        ///   error that `body` throws.
        @inlinable
        public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
            try body(rawBytes(text: true, blob: true, as: "bytes"))
        }

        /// Reads the value as a type, by the type's fast path if it has one, otherwise exactly. The type is always named: if the
        /// context expects an optional, the compiler would infer the optional type, and NULL would not be an error.
        @inlinable
        @inline(__always)
        package func read<T: SQLValueConvertible>(as type: T.Type) throws -> T {
            if let value = T._tryReadSQL(from: self) { return value }
            return try T._readSQL(from: self)
        }

        /// The value; nil if it is NULL and the type has no value for NULL.
        @inlinable
        @inline(__always)
        func readUnlessNull<T: SQLValueConvertible>(as type: T.Type) throws -> T? {
            if let value = T._tryReadSQL(from: self) { return value }
            return try isNull() ? T(sqlValue: .null) : T._readSQL(from: self)
        }

        /// The column's bytes, valid until the statement moves on.
        @inlinable
        @inline(__always)
        package func rawBytes(text: Bool, blob: Bool, as type: StaticString) throws -> UnsafeRawBufferPointer {
            var bytes: UnsafeRawPointer?
            var count: Int32 = 0
            let storage = sqlcipherkit_column_bytes(handle, index, &bytes, &count)
            guard (text && storage == SQLITE_TEXT) || (blob && storage == SQLITE_BLOB) else { throw mismatch(type) }
            if count < 0 { throw outOfMemory() }
            return UnsafeRawBufferPointer(start: bytes, count: Int(count))
        }

        /// The column's bytes for the fast paths; nil for any other storage class, or if memory ran out.
        @inlinable
        @inline(__always)
        package func fastBytes(text: Bool, blob: Bool) -> UnsafeRawBufferPointer? {
            var bytes: UnsafeRawPointer?
            var count: Int32 = 0
            let storage = sqlcipherkit_column_bytes(handle, index, &bytes, &count)
            guard (text && storage == SQLITE_TEXT) || (blob && storage == SQLITE_BLOB), count >= 0 else { return nil }
            return UnsafeRawBufferPointer(start: bytes, count: Int(count))
        }

        /// The error for a value that cannot be read as `type`: NULL, another storage class, or no such column.
        @inlinable
        func mismatch(_ type: StaticString) -> DatabaseError { mismatch("\(type)") }

        @usableFromInline
        @inline(never)
        package func mismatch(_ type: String) -> DatabaseError {
            let count = sqlite3_data_count(handle)
            let sql = sqlite3_sql(handle).map { String(cString: $0) }
            guard index >= 0, index < count else {
                let what = count == 0 ? "the statement has no current row" : "the row has \(count) column\(count == 1 ? "" : "s")"
                return DatabaseError(
                    code: .range, reason: .noSuchColumn, message: "no column with index \(index): \(what)", sql: sql)
            }
            let storage = storageClass
            if storage == .null {
                return DatabaseError(
                    code: .mismatch, reason: .unexpectedNull, message: "column \(label) is NULL and was read as \(type)", sql: sql)
            }
            return DatabaseError(
                code: .mismatch, reason: .typeMismatch,
                message: "column \(label) holds \(storage.rawValue) that cannot be read as \(type) without loss"
                    + hint(storage, type),
                sql: sql)
        }

        /// Why there may be a number where text was written: a column that is declared as STRING, say, has numeric affinity
        /// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
        private func hint(_ storage: StorageClass, _ type: String) -> String {
            guard type == "String", storage == .integer || storage == .real,
                let declared = sqlite3_column_decltype(handle, index).map({ String(cString: $0) })
            else { return "" }
            return ": its declared type, \(declared), makes numbers of text in digits, so declare it as TEXT"
        }

        /// The name for errors, with the table's name if it is a table's column
        /// (<https://sqlite.org/c3ref/column_database_name.html>).
        package var label: String {
            guard let table = sqlite3_column_table_name(handle, index) else { return name }
            return "\(name) of \(String(cString: table))"
        }

        /// The error for a value that a type fails to decode, without the value itself. Other errors are described in the message.
        @inline(never)
        func undecodable(_ type: Any.Type, _ error: any Error) -> DatabaseError {
            if let error = error as? DatabaseError, error.reason != .typeMismatch || error.sql != nil { return error }
            return DatabaseError(
                code: .mismatch, reason: .typeMismatch, message: "column \(label) holds no \(type): \(error.jsonDescription)",
                sql: sqlite3_sql(handle).map { String(cString: $0) })
        }

        @usableFromInline
        @inline(never)
        func outOfMemory() -> DatabaseError {
            DatabaseError(rc: SQLITE_NOMEM, database: sqlite3_db_handle(handle))
        }
    }
}

import CSQLCipher

extension Statement {
    /// A parameter of a statement, which `_bindSQL(to:)` writes to.
    ///
    /// A parameter cannot be stored: it is only lent for the duration of a call. SQLite copies text and blobs before a call
    /// returns.
    @frozen
    public struct _Parameter: ~Copyable {
        @usableFromInline package let handle: OpaquePointer
        @usableFromInline package let index: Int32
        /// The forms in which dates, UUIDs and decimals are stored.
        public let profile: ValueProfile

        @inlinable
        @inline(__always)
        package init(_ handle: OpaquePointer, _ index: Int32, _ profile: ValueProfile) {
            self.handle = handle
            self.index = index
            self.profile = profile
        }

        /// Binds NULL.
        /// - Throws: ``DatabaseError/Reason/parameters`` if the statement has no such parameter, or SQLite's error.
        @inlinable
        @inline(__always)
        public func bindNull() throws {
            try check(sqlcipherkit_sqlite3_bind_null(handle, index))
        }

        /// Binds an integer.
        /// - Throws: the same errors as ``bindNull()``.
        @inlinable
        @inline(__always)
        public func bind(_ value: Int64) throws {
            try check(sqlcipherkit_sqlite3_bind_int64(handle, index, value))
        }

        /// Binds a floating-point number.
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for NaN, which SQLite would store as NULL, and the same errors as
        ///   ``bindNull()``.
        @inlinable
        @inline(__always)
        public func bind(_ value: Double) throws {
            if value.isNaN { throw notANumber() }
            try check(sqlcipherkit_sqlite3_bind_double(handle, index, value))
        }

        /// Binds UTF-8 text by its length, NUL characters included.
        /// - Throws: ``ResultCode/tooBig`` for more bytes than the connection's limit, ``ResultCode/outOfMemory``, and the same
        ///   errors as ``bindNull()``.
        @inlinable
        @inline(__always)
        public func bind(utf8 text: UnsafeBufferPointer<UInt8>) throws { try check(bindText(text)) }

        @inlinable
        @inline(__always)
        func bindText(_ text: UnsafeBufferPointer<UInt8>) -> Int32 {
            // An empty buffer may have a nil pointer, which would bind NULL.
            guard let base = text.baseAddress else {
                return sqlcipherkit_sqlite3_bind_text64(handle, index, "", 0, sqlcipherkit_transient(), UInt8(SQLITE_UTF8))
            }
            return sqlcipherkit_sqlite3_bind_text64(
                handle, index, UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self), UInt64(text.count),
                sqlcipherkit_transient(), UInt8(SQLITE_UTF8))
        }

        /// Binds bytes as a blob.
        /// - Throws: the same errors as ``bind(utf8:)``.
        @inlinable
        @inline(__always)
        public func bind(bytes: UnsafeRawBufferPointer) throws { try check(bindBlob(bytes)) }

        @inlinable
        @inline(__always)
        func bindBlob(_ bytes: UnsafeRawBufferPointer) -> Int32 {
            // A nil pointer would bind NULL instead of an empty blob.
            guard let base = bytes.baseAddress else { return sqlcipherkit_sqlite3_bind_zeroblob(handle, index, 0) }
            return sqlcipherkit_sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), sqlcipherkit_transient())
        }

        /// Binds a value, by its type's fast path if it has one.
        @inlinable
        @inline(__always)
        package func put<T: SQLValueConvertible>(_ value: T) throws {
            if !value._tryBindSQL(to: self) { try value._bindSQL(to: self) }
        }

        /// Binds a blob of zero bytes without allocating it, to be filled by incremental writes.
        /// - Parameter count: the number of bytes.
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a negative number, ``ResultCode/tooBig`` for more bytes than the
        ///   connection's limit, and the same errors as ``bindNull()``.
        public func bindZeroes(count: Int) throws {
            guard let count = UInt64(exactly: count) else {
                throw DatabaseError.invalidArgument("a blob cannot have \(count) bytes")
            }
            try check(sqlite3_bind_zeroblob64(handle, index, count))
        }

        @inlinable
        @inline(__always)
        package func check(_ rc: Int32) throws { if rc != SQLITE_OK { throw failure(rc) } }

        @usableFromInline
        @inline(never)
        func failure(_ rc: Int32) -> DatabaseError {
            let name = sqlite3_bind_parameter_name(handle, index).map { String(cString: $0) } ?? "?\(index)"
            let message = "parameter \(name): \(String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))"
            return DatabaseError(
                code: ResultCode(rawValue: rc), reason: rc == SQLITE_RANGE ? .parameters : .engine, message: message,
                sql: sqlite3_sql(handle).map { String(cString: $0) })
        }

        @usableFromInline
        @inline(never)
        func notANumber() -> DatabaseError {
            .invalidArgument("NaN cannot be stored: SQLite would turn it into NULL")
        }
    }
}

/// Reading rows as `Decodable` types, which need nothing else: their coding keys are the columns' names. See ``Row/decode(_:)``.
///
/// A type that is also an ``SQLRow``, such as every record, is read as that, and one that is an ``SQLValueConvertible`` from the
/// first column.
extension Connection {
    /// Returns each row as a `Decodable` type.
    /// ```swift
    /// struct Note: Codable { var id: Int; var title: String?; var tags: [String] }
    /// let notes = try db.fetchAll(Note.self, "SELECT * FROM note")
    /// ```
    /// - Throws: ``DatabaseError``, or any error that the type's own decoding throws.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(type, arguments) }
    }

    /// Returns each row as a `Decodable` type.
    /// - Throws: ``DatabaseError``, or any error that the type's own decoding throws.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try fetchAll(T.self, sql, arguments)
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: ``DatabaseError``, or any error that the type's own decoding throws.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(type, arguments) }
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: ``DatabaseError``, or any error that the type's own decoding throws.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try fetchOne(T.self, sql, arguments)
    }

    /// A cursor over rows as a `Decodable` type.
    @_disfavoredOverload
    public func cursor<T: Decodable>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> RowCursor<T> {
        RowCursor(try openCursor(sql, arguments)) { row in try row.decode(type) }
    }
}

extension Statement {
    /// Returns each row as a `Decodable` type; see ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> [T] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        return try collect(handle) { try $0.decode(type) }
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return nil }
        let value = try Row(handle, names(handle)).decode(type)
        try finish(handle)
        return value
    }
}

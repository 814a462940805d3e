/// Reading results. Each method exists with the type as the first argument, and without it for when the context determines the
/// type.
extension Connection {
    /// Returns the first column of each row.
    /// - Throws: SQLite's error, ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchAll<T: SQLValueConvertible>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> [T] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(type, arguments) }
    }

    /// Returns the first column of each row.
    /// - Throws: SQLite's error, ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchAll<T: SQLValueConvertible>(
        _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> [T] {
        try fetchAll(T.self, sql, arguments)
    }

    /// Returns the first column of the first row; nil if there is no row or the value is NULL.
    /// ```swift
    /// let newest = try db.fetchOne(Int.self, "SELECT max(id) FROM note")      // nil if there is no note
    /// ```
    /// To tell the two apart, ask for an ``SQLValue``, or fetch all rows.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> T? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(type, arguments) }
    }

    /// Returns the first column of the first row for an optional type, without wrapping nil twice.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T?.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> T? {
        try fetchOne(T.self, sql, arguments)
    }

    /// Returns the first column of the first row; nil if there is no row or the value is NULL.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchOne<T: SQLValueConvertible>(
        _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> T? {
        try fetchOne(T.self, sql, arguments)
    }

    /// Returns each row as a record.
    /// - Throws: the errors of ``execute(_:_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchAll<T: SQLRowConvertible>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(type, arguments) }
    }

    /// Returns each row as a record.
    /// - Throws: the errors of ``execute(_:_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchAll<T: SQLRowConvertible>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try fetchAll(T.self, sql, arguments)
    }

    /// Returns the first row as a record, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchOne<T: SQLRowConvertible>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(type, arguments) }
    }

    /// Returns the first row as a record, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchOne<T: SQLRowConvertible>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try fetchOne(T.self, sql, arguments)
    }

    /// Returns the first columns of each row as a tuple. The rows may have more columns than the tuple.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the rows have fewer columns than the tuple.
    @inlinable
    public func fetchAll<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> [(A, B, repeat each T)] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(type, arguments) }
    }

    /// Returns the first columns of each row as a tuple.
    /// ```swift
    /// let cities: [(Int, String)] = try db.fetchAll("SELECT id, name FROM city")
    /// ```
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the rows have fewer columns than the tuple.
    @inlinable
    public func fetchAll<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> [(A, B, repeat each T)] {
        try fetchAll((A, B, repeat each T).self, sql, arguments)
    }

    /// Returns the first columns of the first row as a tuple, or nil if there is no row.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the row has fewer columns than the tuple.
    @inlinable
    public func fetchOne<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> (A, B, repeat each T)? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(type, arguments) }
    }

    /// Returns the first columns of the first row as a tuple, or nil if there is no row.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the row has fewer columns than the tuple.
    @inlinable
    public func fetchOne<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> (A, B, repeat each T)? {
        try fetchOne((A, B, repeat each T).self, sql, arguments)
    }

    /// A cursor over the first column of each row.
    /// - Throws: the errors of ``prepare(_:)``, or ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters.
    ///   The cursor throws the errors of reading rows.
    public func cursor<T: SQLValueConvertible>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> RowCursor<T> {
        RowCursor(try openCursor(sql, arguments)) { row in try row[0] }
    }

    /// A cursor over rows as records; ``OwnedRow`` for rows of any shape.
    /// - Throws: the errors of ``prepare(_:)``, or ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters.
    ///   The cursor throws the errors of reading rows.
    public func cursor<T: SQLRowConvertible>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> RowCursor<T> {
        RowCursor(try openCursor(sql, arguments)) { row in try T(row: row) }
    }
}

/// Reading rows as `Decodable` types, which need nothing else: their coding keys are the columns' names. See ``Row/decode(_:)``.
///
/// A type that is also an ``SQLRowConvertible``, such as every record, is read by its own initializer, and a type that is an
/// ``SQLValueConvertible`` from the first column.
extension Connection {
    /// Returns each row as a `Decodable` type.
    /// ```swift
    /// struct Note: Codable { var id: Int; var title: String?; var tags: [String] }
    /// let notes = try db.fetchAll(Note.self, "SELECT * FROM note")
    /// ```
    /// - Throws: the errors of ``execute(_:_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(type, arguments) }
    }

    /// Returns each row as a `Decodable` type.
    /// - Throws: the errors of ``execute(_:_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> [T] {
        try fetchAll(T.self, sql, arguments)
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(type, arguments) }
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ sql: SQL, _ arguments: StatementArguments = []) throws -> T? {
        try fetchOne(T.self, sql, arguments)
    }

    /// A cursor over rows as a `Decodable` type.
    /// - Throws: the errors of ``prepare(_:)``, or ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters.
    ///   The cursor throws the errors of reading rows.
    @_disfavoredOverload
    public func cursor<T: Decodable>(
        _ type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> RowCursor<T> {
        RowCursor(try openCursor(sql, arguments)) { row in try row.decode(type) }
    }
}

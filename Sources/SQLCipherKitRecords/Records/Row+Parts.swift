import SQLCipherKitCore

/// Several records in one row, as of a join in SQL.
///
/// The columns of each record follow a column that names it, which `\(columns:of:as:)` writes:
/// ```swift
/// struct Shown: Decodable {
///     var note: Note
///     var author: Author?
/// }
/// let shown = try db.fetchAll(Shown.self, """
///     SELECT \(columns: Note.self, of: "n", as: "note"), \(columns: Author.self, of: "a", as: "author")
///     FROM note AS n LEFT JOIN author AS a ON a.id = n.author
///     """)
/// ```
/// A `Decodable` type finds a part by the key of a property. An ``SQLRowConvertible`` reads it by `scope(_:as:)`. Columns
/// before the first part belong to the row itself. A part ends where the next one begins.
extension Row {
    /// Reads the columns of one part of the row as a record.
    /// ```swift
    /// init(row: borrowing Row) throws {
    ///     note = try row.scope("note")
    ///     author = try row.scope("author")                     // nil where the join has found none
    /// }
    /// ```
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` if the row has no part of this name, or any error from reading it.
    public func scope<T: SQLRowConvertible>(_ name: String, as type: T.Type = T.self) throws -> T {
        guard let part = names.part(name, handle) else { throw noColumn(name) }
        return try T(row: Row(handle, Unmanaged.passUnretained(part)))
    }

    /// Reads the columns of one part of the row as a `Decodable` type; nil if all of them are NULL.
    /// - Parameters:
    ///   - name: the part's name.
    ///   - type: the type of the value.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` if the row has no part of this name, and the errors of ``Row/decode(_:)``.
    @_disfavoredOverload
    public func scope<T: Decodable>(_ name: String, as type: T?.Type = T?.self) throws -> T? {
        guard let part = names.part(name, handle) else { throw noColumn(name) }
        let row = Row(handle, Unmanaged.passUnretained(part))
        return row.isAllNull ? nil : try row.decode(T.self)
    }

    /// Reads the columns of one part of the row as a `Decodable` type.
    /// - Parameters:
    ///   - name: the part's name.
    ///   - type: the type of the value.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` if the row has no part of this name, and the errors of ``Row/decode(_:)``.
    @_disfavoredOverload
    public func scope<T: Decodable>(_ name: String, as type: T.Type = T.self) throws -> T {
        guard let part = names.part(name, handle) else { throw noColumn(name) }
        return try Row(handle, Unmanaged.passUnretained(part)).decode(type)
    }
}

extension SQL.StringInterpolation {
    /// Writes the columns of a record as a part of the result. It is read by `scope(_:as:)` or by the property of that name in a
    /// `Decodable` type.
    /// ```swift
    /// let sql: SQL = "SELECT \(columns: Note.self, of: "n", as: "note") FROM note AS n"
    /// // SELECT NULL AS "sqlcipherkit_part_note", "n"."id", "n"."title" FROM note AS n
    /// ```
    /// - Parameters:
    ///   - type: the record. If its table is not described, all columns of the table are written.
    ///   - table: the table's name in the statement. Default: nil, for the record's table.
    ///   - part: the name of the part.
    public mutating func appendInterpolation<Record: SQLRecord>(
        columns type: Record.Type, of table: String? = nil, as part: String
    ) {
        let columns = SQLClauses.Side(table: Record.source, alias: table ?? Record.tableName).columns
        appendInterpolation("NULL AS \(identifier: ColumnNames.partPrefix + part), \(columns)" as SQL)
    }
}

import SQLCipherKitCore

extension Schema {
    /// Creates an index on the values at a path of documents (<https://sqlite.org/expridx.html>). Queries that compare or sort by
    /// ``JSONExpression/value(_:)`` of the same column and path use it.
    /// ```swift
    /// try db.main.createJSONIndex("note_city", on: "note", column: "meta", "address", "city")
    /// let meta = JSONExpression(column: "meta")
    /// // This uses the index.
    /// try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(meta.value("address", "city")) = \("Roma")")
    /// ```
    /// - Parameters:
    ///   - name: the index's name.
    ///   - table: the table.
    ///   - column: the column with the documents, text or JSONB.
    ///   - path: the components of the path, as everywhere else.
    ///   - isUnique: whether no two documents may have the same value. NULLs, and so documents without the value, are all
    ///     different.
    ///   - condition: which rows are indexed (<https://sqlite.org/partialindex.html>), without bound values; nil for all.
    /// - Throws: the errors of ``createJSONIndex(_:on:column:paths:isUnique:where:)``; nothing is changed then.
    public func createJSONIndex(
        _ name: String, on table: String, column: String, _ path: any JSONPathComponent..., isUnique: Bool = false,
        where condition: SQL? = nil
    ) throws {
        try createJSONIndex(name, on: table, column: column, paths: [JSONPath(list: path)], isUnique: isUnique, where: condition)
    }

    /// Creates an index on the values at several paths of documents, in this order; see
    /// ``createJSONIndex(_:on:column:_:isUnique:where:)``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for no path, for the path of a whole document, and for a key with the
    ///   character U+0000; ``DatabaseError/Reason/schemaName``; or SQLite's error, such as ``ResultCode/constraintUnique``, or an
    ///   error for a document that is not JSON. Nothing is changed then.
    public func createJSONIndex(
        _ name: String, on table: String, column: String, paths: [JSONPath], isUnique: Bool = false, where condition: SQL? = nil
    ) throws {
        guard !paths.isEmpty, !paths.contains(where: \.isRoot) else {
            throw DatabaseError.invalidArgument("an index needs a path")
        }
        for path in paths { if let refusal = path.refusal { throw refusal } }
        let document = JSONExpression(column: column)
        let terms = paths.map { SQLIndex.Term.expression("\(document.value($0))") }
        try create(SQLIndex(name, on: terms, isUnique: isUnique, where: condition), on: table)
    }

    /// Adds a column to a table, with the value at a path of each row's document (<https://sqlite.org/gencol.html>). It is
    /// computed when it is read, takes no space, and can be queried, indexed and joined like any other column.
    /// ```swift
    /// try db.main.addJSONColumn("city", to: "note", from: "meta", at: "city", type: .text)
    /// try db.execute("CREATE INDEX note_city ON note(city)")
    /// ```
    /// - Parameters:
    ///   - name: the new column's name.
    ///   - table: the table.
    ///   - column: the column with the documents, text or JSONB.
    ///   - path: the path of the value.
    ///   - type: the declared type, which gives the column its affinity (<https://sqlite.org/datatype3.html>); nil leaves the
    ///     values unchanged.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for the type `null`, or a path with a NUL character in a key; and the
    ///   errors of ``addColumn(_:to:)``.
    public func addJSONColumn(
        _ name: String, to table: String, from column: String, at path: some JSONPathComponent, type: StorageClass? = nil
    ) throws {
        let declared: SQLColumn.DeclaredType
        switch type {
        case .integer: declared = .integer
        case .real: declared = .real
        case .text: declared = .text
        case .blob: declared = .blob
        case .null: throw DatabaseError.invalidArgument("a column cannot have the type null")
        // Each value stays unchanged.
        case nil: declared = .any
        }
        if let refusal = JSONPath(path).refusal { throw refusal }
        let value = JSONExpression(column: column).value(path)
        try addColumn(SQLColumn(name, declared).generated(as: "\(value)"), to: table)
    }
}

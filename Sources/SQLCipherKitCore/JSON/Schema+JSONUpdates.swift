extension Schema {
    /// Changes parts of stored documents in place, in one statement. Each document keeps its form, text or JSONB; a column that is
    /// NULL stays NULL.
    /// ```swift
    /// try db.main.updateJSON(
    ///     "meta", in: "note", where: "id = \(7)",
    ///     .set("city", to: "Roma"), .append("new", toArrayAt: "tags"), .remove(JSONPath("stars")))
    /// ```
    /// Changes are made one after the other. A path through a value that is not a container changes nothing. Values are coded as in
    /// ``JSONColumn``; for documents whose type is ``JSONCodingCustomizable``, name the type with ``updateJSON(_:in:of:where:_:)``.
    /// - Parameters:
    ///   - column: the column with the documents.
    ///   - table: the table.
    ///   - condition: which rows to change; `"TRUE"` for all.
    ///   - changes: the changes, in this order.
    /// - Returns: the number of rows that meet the condition.
    /// - Throws: SQLite's error, whose message says "malformed JSON" if a column contains a value that is not JSON;
    ///   ``DatabaseError/Reason/invalidArgument`` for a document in which a key has the character U+0000; or
    ///   ``DatabaseError/Reason/schemaName``. Nothing is changed then.
    @discardableResult
    public func updateJSON(
        _ column: String, in table: String, where condition: SQL, _ changes: JSONChange...
    ) throws -> Int {
        try update(JSONExpression(column: column), column, table, condition, changes)
    }

    /// Changes parts of stored documents of a type. Values are coded with the type's options, so dates keep the form that the type
    /// reads.
    /// ```swift
    /// try db.main.updateJSON("meta", in: "note", of: Meta.self, where: "id = \(7)", .set("seen", to: Date()))
    /// ```
    /// Otherwise like ``updateJSON(_:in:where:_:)``.
    /// - Throws: the same errors as ``updateJSON(_:in:where:_:)``.
    @discardableResult
    public func updateJSON(
        _ column: String, in table: String, of type: any JSONCodingCustomizable.Type, where condition: SQL, _ changes: JSONChange...
    ) throws -> Int {
        try update(JSONExpression(column: column).withCodingOptions(of: type), column, table, condition, changes)
    }

    private func update(
        _ document: JSONExpression, _ column: String, _ table: String, _ condition: SQL, _ changes: [JSONChange]
    ) throws -> Int {
        try live()
        let text = document.changed(by: changes, .text)
        let jsonb = document.changed(by: changes, .jsonb)
        try connection.changeRows(
            """
            UPDATE \(raw: qualified(table)) SET \(identifier: column) =
            CASE typeof(\(document)) WHEN 'blob' THEN \(jsonb) WHEN 'text' THEN \(text) ELSE \(document) END
            WHERE \(condition)
            """)
        return connection.changes
    }
}

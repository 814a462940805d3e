/// One change of a stored document; see ``Schema/updateJSON(_:in:where:_:)``.
public struct JSONChange: Sendable {
    /// Changes a document into one of the same form.
    private let apply: @Sendable (JSONExpression, JSONFormat) -> JSONExpression

    /// Replaces the value at a path, or adds it if there is none.
    public static func set(_ path: some JSONPathComponent, to value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.setting(path, to: value, as: $1) }
    }

    /// Sets the value at a path to one that SQL computes.
    public static func set(_ path: some JSONPathComponent, toSQL value: SQL) -> JSONChange {
        JSONChange { $0.setting(path, toSQL: value, as: $1) }
    }

    /// Adds a value if there is none yet.
    public static func insert(_ value: some Codable & Sendable, at path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.inserting(value, at: path, as: $1) }
    }

    /// Replaces a value if there is one.
    public static func replace(_ path: some JSONPathComponent, with value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.replacing(path, with: value, as: $1) }
    }

    /// Adds a value after the last element of the array at a path. If nothing is there, creates an array with only that value.
    public static func append(_ value: some Codable & Sendable, toArrayAt path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.appending(value, toArrayAt: path, as: $1) }
    }

    /// Inserts a value before the element at a path that ends in an index.
    public static func insertElement(_ value: some Codable & Sendable, before path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.insertingElement(value, before: path, as: $1) }
    }

    /// Removes the value at a path.
    public static func remove(_ path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.removing(JSONPath(path), as: $1) }
    }

    /// Applies a merge patch (RFC 7396): its members replace those of the document, and null removes them.
    public static func patch(_ patch: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.patching(patch, as: $1) }
    }

    fileprivate func callAsFunction(_ document: JSONExpression, _ format: JSONFormat) -> JSONExpression { apply(document, format) }
}

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
    /// - Throws: ``DatabaseError``; its message says "malformed JSON" if a column contains something else.
    ///   ``DatabaseError/Reason/invalidArgument`` for a document in which a key has the character U+0000. In each case nothing is
    ///   changed.
    @discardableResult
    public func updateJSON(
        _ column: String, in table: String, where condition: SQL, _ changes: JSONChange...
    ) throws(DatabaseError) -> Int {
        try update(JSONExpression(column: column), column, table, condition, changes)
    }

    /// Changes parts of stored documents of a type. Values are coded with the type's options, so dates keep the form that it reads.
    /// ```swift
    /// try db.main.updateJSON("meta", in: "note", of: Meta.self, where: "id = \(7)", .set("seen", to: Date()))
    /// ```
    /// Otherwise like ``updateJSON(_:in:where:_:)``.
    @discardableResult
    public func updateJSON(
        _ column: String, in table: String, of type: any JSONCodingCustomizable.Type, where condition: SQL, _ changes: JSONChange...
    ) throws(DatabaseError) -> Int {
        try update(JSONExpression(column: column).coded(like: type), column, table, condition, changes)
    }

    private func update(
        _ document: JSONExpression, _ column: String, _ table: String, _ condition: SQL, _ changes: [JSONChange]
    ) throws(DatabaseError) -> Int {
        try live()
        let text = changes.reduce(document) { $1($0, .text) }
        let jsonb = changes.reduce(document) { $1($0, .jsonb) }
        try connection.changeRows(
            """
            UPDATE \(raw: qualified(table)) SET \(identifier: column) =
            CASE typeof(\(document)) WHEN 'blob' THEN \(jsonb) WHEN 'text' THEN \(text) ELSE \(document) END
            WHERE \(condition)
            """)
        return connection.changes
    }
}

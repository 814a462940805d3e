/// One change of a stored document; see ``Schema/updateJSON(_:in:where:_:)``.
public struct JSONChange: Sendable {
    /// The change of a document into one of the same form.
    private let apply: @Sendable (JSONExpression, JSONFormat) -> JSONExpression

    /// The value at a path is replaced, or added where there is none.
    public static func set(_ path: some JSONPathComponent, to value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.setting(path, to: value, as: $1) }
    }

    /// The value at a path becomes one that SQL computes.
    public static func set(_ path: some JSONPathComponent, toSQL value: SQL) -> JSONChange {
        JSONChange { $0.setting(path, toSQL: value, as: $1) }
    }

    /// A value is added where there is none yet.
    public static func insert(_ value: some Codable & Sendable, at path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.inserting(value, at: path, as: $1) }
    }

    /// A value is replaced where there is one already.
    public static func replace(_ path: some JSONPathComponent, with value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.replacing(path, with: value, as: $1) }
    }

    /// A value is added after the last element of the array at a path; where nothing is, it becomes an array of that value alone.
    public static func append(_ value: some Codable & Sendable, toArrayAt path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.appending(value, toArrayAt: path, as: $1) }
    }

    /// A value is put before the element at a path, which ends in an index.
    public static func insertElement(_ value: some Codable & Sendable, before path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.insertingElement(value, before: path, as: $1) }
    }

    /// The value at a path is taken out.
    public static func remove(_ path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.removing(JSONPath(path), as: $1) }
    }

    /// A merge patch (RFC 7396): its members replace those of the document, and null removes.
    public static func patch(_ patch: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.patching(patch, as: $1) }
    }

    fileprivate func callAsFunction(_ document: JSONExpression, _ format: JSONFormat) -> JSONExpression { apply(document, format) }
}

extension Schema {
    /// Changes parts of stored documents where they are, in one statement. Each document keeps the form that it is in, text or
    /// JSONB; a column that is NULL stays NULL.
    /// ```swift
    /// try db.main.updateJSON(
    ///     "meta", in: "note", where: "id = \(7)",
    ///     .set("city", to: "Roma"), .append("new", toArrayAt: "tags"), .remove(JSONPath("stars")))
    /// ```
    /// Changes are made one after the other. A path that leads through something that is no container changes nothing. Values are
    /// coded as ``JSONColumn`` would; for documents whose type is ``JSONCodingCustomizable``, name it with
    /// ``updateJSON(_:in:of:where:_:)``.
    /// - Parameters:
    ///   - column: the documents' column.
    ///   - table: its table.
    ///   - condition: which rows; `"TRUE"` for all.
    ///   - changes: what is changed, in this order.
    /// - Returns: the number of rows that the condition holds for.
    /// - Throws: ``DatabaseError``; its message says "malformed JSON" if a column holds something else.
    @discardableResult
    public func updateJSON(
        _ column: String, in table: String, where condition: SQL, _ changes: JSONChange...
    ) throws(DatabaseError) -> Int {
        try update(JSONExpression(column: column), column, table, condition, changes)
    }

    /// Changes parts of stored documents of a type, by whose options the values are coded: dates stay in the form that it reads.
    /// ```swift
    /// try db.main.updateJSON("meta", in: "note", of: Meta.self, where: "id = \(7)", .set("seen", to: Date()))
    /// ```
    /// Apart from that as ``updateJSON(_:in:where:_:)``.
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
        try connection.execute(
            """
            UPDATE \(raw: qualified(table)) SET \(identifier: column) =
            CASE typeof(\(document)) WHEN 'blob' THEN \(jsonb) WHEN 'text' THEN \(text) ELSE \(document) END
            WHERE \(condition)
            """)
        return connection.changes
    }
}

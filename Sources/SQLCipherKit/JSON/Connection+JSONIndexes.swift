extension Connection {
    /// Makes an index on the values at paths of documents (<https://sqlite.org/expridx.html>). It serves queries that compare or
    /// sort by ``JSONExpression/value(_:)`` of the same column and path.
    /// ```swift
    /// try db.createJSONIndex("note_city", on: "note", column: "meta", ["city"])
    /// let meta = JSONExpression(column: "meta")
    /// try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(meta.value("city")) = \("Roma")")   // uses the index
    /// ```
    /// - Parameters:
    ///   - name: the index's name.
    ///   - table: the table.
    ///   - column: the column with the documents, text or JSONB.
    ///   - paths: what is indexed, in order.
    ///   - schema: the attached database that the table is in. Default: `main`.
    ///   - isUnique: whether no two documents may have the same values. NULLs, and so documents without the value, are all different.
    ///   - condition: which rows are indexed (<https://sqlite.org/partialindex.html>), without bound values; nil for all.
    /// - Throws: ``DatabaseError``, among others for a document that is no JSON, and ``ResultCode/constraintUnique``.
    public func createJSONIndex(
        _ name: String, on table: String, column: String, _ paths: [any JSONPathComponent], schema: String = "main",
        isUnique: Bool = false, where condition: SQL? = nil
    ) throws(DatabaseError) {
        guard !paths.isEmpty else { throw .invalidArgument("an index on no path at all") }
        let document = JSONExpression(column: column)
        let values = paths.map { document.value($0) }
        let filter: SQL = if let condition { " WHERE \(condition)" } else { "" }
        try execute(
            """
            CREATE \(raw: isUnique ? "UNIQUE " : "")INDEX \(identifier: schema).\(identifier: name)
            ON \(identifier: table)(\(list: values))\(filter)
            """)
    }

    /// Adds a column to a table that is the value at a path of each row's document (<https://sqlite.org/gencol.html>). It is
    /// computed when it is read, takes no space, and can be queried, indexed and joined like any other column.
    /// ```swift
    /// try db.addJSONColumn("city", to: "note", from: "meta", at: "city", type: .text)
    /// try db.execute("CREATE INDEX note_city ON note(city)")
    /// ```
    /// - Parameters:
    ///   - name: the new column's name.
    ///   - table: the table.
    ///   - column: the column with the documents, text or JSONB.
    ///   - path: where the value is.
    ///   - type: the declared type, which gives the column its affinity (<https://sqlite.org/datatype3.html>); nil leaves the
    ///     values as they are.
    ///   - schema: the attached database that the table is in. Default: `main`.
    /// - Throws: ``DatabaseError``.
    public func addJSONColumn(
        _ name: String, to table: String, from column: String, at path: some JSONPathComponent, type: StorageClass? = nil,
        schema: String = "main"
    ) throws(DatabaseError) {
        guard type != .null else { throw .invalidArgument("a column of the type null") }
        // A column without a type keeps each value as it is. STRICT tables want a type, and have ANY for that; in other tables ANY
        // would turn text into numbers where it can.
        let isStrict = try fetchOne(Bool.self, "SELECT strict FROM pragma_table_list(\(table)) WHERE schema = \(schema)") ?? false
        let declared = type?.rawValue.uppercased() ?? (isStrict ? "ANY" : "")
        try execute(
            """
            ALTER TABLE \(identifier: schema).\(identifier: table) ADD COLUMN \(identifier: name) \(raw: declared)
            GENERATED ALWAYS AS (\(JSONExpression(column: column).value(path))) VIRTUAL
            """)
    }
}

import SQLCipherKitCore

/// Full-text search in JSON documents.
extension FTS5Table.Column {
    /// Creates a column with the words at paths of JSON documents, text or JSONB: the string or number at each path, or those of an
    /// array and of arrays in it, each on its own line. Objects are not searched: name their members.
    ///
    /// Use it in a table with external content, whose index follows every change of the documents:
    /// ```swift
    /// try db.create(FTS5Table(
    ///     "note_fts",
    ///     columns: [.json("city", in: "meta", at: JSONPath("city")), .json("words", in: "meta", at: JSONPath("tags"),
    ///     JSONPath("text"))], content: .external(table: "note")))
    /// try db.main.updateJSON("meta", in: "note", where: "id = \(7)", .append("harbour", toArrayAt: "tags"))
    /// let hits = try db.fullText("note_fts").search("words:harbour").hits
    /// ```
    /// A document that is NULL has no words, nor does a path that leads nowhere. If a document is not JSON, the statement that
    /// writes it fails.
    /// - Parameters:
    ///   - name: the full-text column's name.
    ///   - column: the content table's column with the documents.
    ///   - paths: where the words are.
    ///   - isIndexed: whether the words are in the index. Default: true.
    public static func json(
        _ name: String, in column: String, at paths: JSONPath..., isIndexed: Bool = true
    ) -> FTS5Table.Column {
        let texts = paths.map { path in
            // SQL text with a NUL character is refused.
            text(of: column.quotedSQLIdentifier, at: path.refusal == nil ? path.description.quotedSQLLiteral : "'\0'")
        }
        let expression = texts.count == 1 ? texts[0] : "concat_ws(char(10), \((texts + ["NULL"]).joined(separator: ", ")))"
        return FTS5Table.Column(name, isIndexed: isIndexed, expression: expression)
    }

    /// FTS5 reads its content without virtual tables, and so without `json_tree`; a recursive query goes through arrays instead.
    private static func text(of document: String, at path: String) -> String {
        let words = "('text', 'integer', 'real')"
        let element = "(walk_array || '[' || walk_index || ']')"
        return """
            CASE WHEN json_type(\(document), \(path)) IN \(words) THEN \(document) ->> \(path)
            WHEN json_array_length(\(document), \(path)) > 0 THEN (
            WITH RECURSIVE walk(walk_array, walk_index) AS (
            SELECT \(path), 0
            UNION ALL SELECT walk_array, walk_index + 1 FROM walk WHERE walk_index + 1 < json_array_length(\(document), walk_array)
            UNION ALL SELECT \(element), 0 FROM walk WHERE json_array_length(\(document), \(element)) > 0)
            SELECT group_concat(\(document) ->> \(element), char(10)) FROM walk
            WHERE json_type(\(document), \(element)) IN \(words)) END
            """
    }
}

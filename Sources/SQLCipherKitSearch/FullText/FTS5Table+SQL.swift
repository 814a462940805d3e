import SQLCipherKitCore

extension FTS5Table {
    /// Rejects descriptions that FTS5 would accept silently, or reject with a message about its own grammar.
    func validate() throws(DatabaseError) {
        guard !name.isEmpty else { throw .invalidArgument("a full-text table needs a name") }
        guard !columns.isEmpty else { throw .invalidArgument("the full-text table \(name) has no columns") }
        var seen: Set<SQLName> = []
        for column in columns {
            guard !column.name.isEmpty else { throw .invalidArgument("a column of \(name) has no name") }
            guard seen.insert(SQLName(column.name)).inserted else {
                throw .invalidArgument("the full-text table \(name) has two columns named \(column.name)")
            }
            guard column.expression == nil || isSynchronized else {
                throw .invalidArgument("the column \(column.name) has an expression, which needs synchronised external content")
            }
        }
        guard columns.contains(where: \.isIndexed) else { throw .invalidArgument("no column of \(name) is indexed") }
        guard prefixes.allSatisfy({ (1...999).contains($0) }), prefixes.count <= 31 else {
            throw .invalidArgument("prefix lengths are from 1 to 999 characters, and 31 of them at most")
        }
        if case .contentless(deletes: true, _) = content, !storesColumnSizes {
            throw .invalidArgument("a contentless table without column sizes cannot delete: see FTS5's contentless_delete")
        }
    }

    var isSynchronized: Bool {
        if case .external(_, _, isSynchronized: true) = content { return true }
        return false
    }

    /// The statement that creates the virtual table.
    /// - Parameters:
    ///   - schema: the database to create it in.
    ///   - source: with external content, the table or view that FTS5 reads, and its key column.
    func creationSQL(in schema: Schema, source: (table: String, rowID: String)? = nil) -> String {
        var parts = columns.map { $0.name.quotedSQLIdentifier + ($0.isIndexed ? "" : " UNINDEXED") }
        switch content {
        case .own: break
        case .external:
            if let source {
                parts.append("content=\(source.table.quotedSQLLiteral)")
                parts.append("content_rowid=\(source.rowID.quotedSQLLiteral)")
            }
        case .contentless(let deletes, let keepsUnindexed):
            parts.append("content=''")
            if deletes { parts.append("contentless_delete=1") }
            if keepsUnindexed { parts.append("contentless_unindexed=1") }
        }
        // Each word is a literal inside the option's own literal, to preserve `'`, spaces and `=`.
        let words = tokenizer.arguments.map(\.quotedSQLLiteral).joined(separator: " ")
        parts.append("tokenize=\(words.quotedSQLLiteral)")
        if !prefixes.isEmpty { parts.append("prefix='\(prefixes.map(String.init).joined(separator: " "))'") }
        if detail != .full { parts.append("detail=\(detail.rawValue)") }
        if !storesColumnSizes { parts.append("columnsize=0") }
        if acceptsLocales { parts.append("locale=1") }
        if hasTokenData { parts.append("tokendata=1") }
        return "CREATE VIRTUAL TABLE \(schema.qualified(name)) USING fts5(\(parts.joined(separator: ", ")))"
    }
}

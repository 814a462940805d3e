import SQLCipherKitCore

/// Reads the declaration of a full-text table from the schema, however the table was created.
extension FullTextIndex {
    /// Where external content is: the table, which queries name `t`; an expression for its row id; the join that the expression
    /// needs; and the columns of the key, if row ids come from a table of keys.
    package typealias Content = (rows: String, rowID: String, join: String, key: [String])

    /// The options of the table's declaration as they were written, by name in lower case.
    package func options() throws -> [String: String] {
        let sql = try connection.fetchOne(
            String.self,
            """
            SELECT sql FROM \(raw: schema.qualified("sqlite_schema"))
            WHERE type = 'table' AND name = \(name) COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL TABLE%'
            """)
        guard let sql else { throw schema.noFullText(name) }
        return FTS5Declaration.options(in: sql)
    }

    /// Where the table's external content is; nil if the full-text table stores the text itself or is contentless.
    package func content() throws -> Content? {
        guard let synchronized = try synchronizedTable() else {
            let options = try options()
            guard let table = options["content"], !table.isEmpty else { return nil }
            return (schema.qualified(table), "t.\((options["content_rowid"] ?? "rowid").quotedSQLIdentifier)", "", [])
        }
        let rows = schema.qualified(synchronized)
        switch try schema.contentTable(synchronized).rowID {
        case .integer(let column): return (rows, "t.\(column.quotedSQLIdentifier)", "", [])
        case .mapped(let key):
            // The key's columns are renamed, so that the columns in a filter are those of the content table. They are matched by
            // order, because they may have been renamed in the content table since the table of keys was created.
            let names = try keyTableColumns().prefix(key.count).enumerated()
                .map { "\($1.quotedSQLIdentifier) AS \"sqlcipherkit_key\($0)\"" }
            let match = key.enumerated().map { "k.\"sqlcipherkit_key\($0)\" = t.\($1.column.quotedSQLIdentifier)" }
            let keys = "SELECT \"sqlcipherkit_id\", \(names.joined(separator: ", ")) FROM \(companion(ContentSync.Suffix.keys))"
            return (rows, "k.\"sqlcipherkit_id\"", " JOIN (\(keys)) AS k ON \(match.joined(separator: " AND "))", key.map(\.column))
        }
    }

    /// The table that the index is kept in step with; nil if its content is not synchronized. SQLite adapts the triggers and the
    /// view when the table is renamed, and some of the triggers may be missing.
    private func synchronizedTable() throws -> String? {
        let triggers = ContentSync.Suffix.triggers.map { name + $0 }
        let objects = schema.qualified("sqlite_schema")
        let table = try connection.fetchOne(
            String.self,
            """
            SELECT tbl_name FROM \(raw: objects) WHERE type = 'trigger' AND name COLLATE NOCASE IN \(triggers) ORDER BY name LIMIT 1
            """)
        if let table { return table }
        let view = try connection.fetchOne(
            String.self,
            """
            SELECT sql FROM \(raw: objects) WHERE type = 'view' AND name = \(name + ContentSync.Suffix.source) COLLATE NOCASE
            """)
        return view.flatMap(ContentSync.contentTable(inView:))
    }

    /// The columns of the table of keys that hold a key, in the key's order.
    func keyTableColumns() throws -> [String] {
        try connection.fetchAll(
            String.self,
            "SELECT name FROM pragma_table_info(\(name + ContentSync.Suffix.keys), \(schema.name)) WHERE pk = 0 ORDER BY cid")
    }

    func tokenizerArguments() throws -> [String] {
        let words = FTS5Declaration.words(try options()["tokenize"] ?? "unicode61")
        return words.isEmpty ? ["unicode61"] : words
    }
}

/// Parses a `CREATE VIRTUAL TABLE … USING fts5(…)` statement by bytes, as FTS5 does.
package enum FTS5Declaration {
    package static func options(in sql: String) -> [String: String] {
        // A name or a comment may have parentheses too.
        var (tokens, opening, closing) = (SQLTokens(sql), nil as Int?, 0)
        while let token = tokens.next() {
            if token.kind == .opening, opening == nil { opening = token.range.upperBound }
            if token.kind == .closing { closing = token.range.lowerBound }
        }
        let sql = Array(sql.utf8)
        guard let opening, opening <= closing else { return [:] }
        var options: [String: String] = [:]
        for argument in parts(sql[opening..<closing], quotes: UInt8.quotes, isSeparator: { $0 == UInt8(ascii: ",") }) {
            // A column's name may contain `=`, but only in quotes.
            guard let equals = argument.firstIndex(of: UInt8(ascii: "=")), !argument[..<equals].contains(where: \.isQuote) else {
                continue
            }
            let name = argument[..<equals].filter { !$0.isBlank }.map(\.lowercasedASCII)
            options[String(decoding: name, as: UTF8.self)] = argument[(equals + 1)...].trimmed.unquoted
        }
        return options
    }

    /// The words of a `tokenize` option, quoted or bare.
    static func words(_ option: String) -> [String] {
        parts(option.utf8, quotes: "'\"", isSeparator: \.isBlank).filter { !$0.isEmpty }.map(\.unquoted)
    }

    /// Splits text at the separators that are not in quotes.
    private static func parts(
        _ text: some Sequence<UInt8>, quotes: String, isSeparator: (UInt8) -> Bool
    ) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        var quote: UInt8?
        for byte in text {
            if let open = quote {
                if byte == open { quote = nil }
            } else if isSeparator(byte) {
                parts.append([])
                continue
            } else if quotes.utf8.contains(byte) {
                quote = byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte
            }
            parts[parts.count - 1].append(byte)
        }
        return parts
    }
}

extension ArraySlice<UInt8> {
    fileprivate var trimmed: ArraySlice<UInt8> {
        var rest = drop(while: \.isBlank)
        while rest.last?.isBlank == true { rest.removeLast() }
        return rest
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 32 || (9...13).contains(self) }
    fileprivate static let quotes = "'\"`["
    fileprivate var isQuote: Bool { Self.quotes.utf8.contains(self) }
}

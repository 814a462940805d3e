import SQLCipherKitCore

/// The description of an FTS5 full-text table (<https://sqlite.org/fts5.html>).
///
/// ```swift
/// try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"),
///                         tokenizer: .multilingual()))
/// let hits = try db.fullText("note_fts").search("swift sq", limit: 20).hits
/// ```
/// A description is only a value. To create the table, pass it to ``Connection/create(_:ifNotExists:populate:progress:)``, for the
/// main database, or to ``Schema/create(_:ifNotExists:populate:progress:)``, for any database.
public struct FTS5Table: Hashable, Sendable {
    /// A column of a full-text table.
    public struct Column: Hashable, Sendable, ExpressibleByStringLiteral {
        package var name: String
        package var isIndexed: Bool
        package var expression: String?

        /// Creates a column.
        /// ```swift
        /// FTS5Table.Column("city", expression: "meta->>'$.address.city'")
        /// ```
        /// - Parameters:
        ///   - name: the column's name.
        ///   - isIndexed: whether the column's words are in the index. A column that is not indexed is stored beside the text, or
        ///     read from the content table, and cannot be searched. Default: yes.
        ///   - expression: with synchronized external content, the text to index, as an SQL expression over the content table's
        ///     columns; nil for the column of the same name. The expression must always give the same value for the same row. It
        ///     becomes part of SQL unchanged, so never take it from an untrusted source. Default: nil.
        public init(_ name: String, isIndexed: Bool = true, expression: String? = nil) {
            self.name = name
            self.isIndexed = isIndexed
            self.expression = expression
        }

        /// Creates an indexed column.
        public init(stringLiteral name: String) { self.init(name) }

        /// A column that is stored but not searched (FTS5's `UNINDEXED`).
        public static func unindexed(_ name: String) -> Column { Column(name, isIndexed: false) }
    }

    /// The place where the text is stored (<https://sqlite.org/fts5.html#external_content_and_contentless_tables>).
    public enum Content: Hashable, Sendable {
        /// In the full-text table itself.
        case own
        /// In an ordinary table. Triggers keep the index in step with every insert, update, upsert, replacement and deletion of its
        /// rows, through this package or not.
        ///
        /// With synchronization the content table must have a primary key, which may be of any kind. An `INTEGER PRIMARY KEY` is
        /// the row id of the hits. For any other key, the table `<name>_keys` gives each key a row id that survives `VACUUM`; rows
        /// whose key is NULL are not indexed.
        /// - Parameters:
        ///   - table: the content table's name, in the same database; without synchronization it may be a view.
        ///   - rowID: the column with the integer key. Default: the `INTEGER PRIMARY KEY` in the schema; without synchronization,
        ///     `rowid`.
        ///   - isSynchronized: whether to create the triggers. Without triggers, the application itself must tell FTS5 of each
        ///     change. Default: yes.
        case external(table: String, rowID: String? = nil, isSynchronized: Bool = true)
        /// Nowhere: only the index is stored, and a hit has only its row id and rank.
        /// - Parameters:
        ///   - deletes: whether rows can be deleted and replaced without their old text (`contentless_delete`). Default: yes.
        ///   - keepsUnindexed: whether the columns that are not indexed are stored (`contentless_unindexed`). Default: no.
        case contentless(deletes: Bool = true, keepsUnindexed: Bool = false)
    }

    /// The detail in which the index records where a word occurs (<https://sqlite.org/fts5.html#the_detail_option>).
    public enum Detail: String, Hashable, Sendable {
        /// Row, column and position.
        case full
        /// Row and column. A phrase, `NEAR` or an initial word becomes a search for all of its words, wherever they occur.
        case column
        /// Only the row, which gives the smallest index. Phrases are as with ``column``; a query for certain columns finds nothing.
        case none
    }

    /// The table's name.
    public var name: String
    package var columns: [Column]
    package var content: Content
    package var tokenizer: FTS5Tokenizer
    package var prefixes: [Int]
    package var detail: Detail
    package var storesColumnSizes: Bool
    package var acceptsLocales: Bool
    package var hasTokenData: Bool

    /// Creates a description.
    /// - Parameters:
    ///   - name: the table's name.
    ///   - columns: the columns, in order.
    ///   - content: where the text is stored. Default: in the table itself.
    ///   - tokenizer: how text is split into words: `.multilingual()` for every script. Default: `unicode61`, a tokenizer that
    ///     other programs have too, with all accents removed.
    ///   - prefixes: the lengths, in characters, of prefixes that get a separate index, so that searches for them are faster: at
    ///     most 31 lengths, from 1 to 999. Default: none.
    ///   - detail: the detail in which the index records where a word occurs. Default: row, column and position.
    ///   - storesColumnSizes: whether the size of each text is stored (`columnsize`). Without it, ranking by bm25 is slow, a
    ///     contentless table cannot delete, and, with synchronized content, your own triggers must not write to the row that fires
    ///     them. Default: yes.
    ///   - acceptsLocales: whether text may be written together with a locale, as `fts5_locale(locale, text)`, for tokenizers that
    ///     use it (<https://sqlite.org/fts5.html#the_locale_option>). Default: no.
    ///   - hasTokenData: whether the part of a token after a NUL byte is stored but not searched for
    ///     (<https://sqlite.org/fts5.html#the_tokendata_option>), for tokenizers that store data there. Default: no.
    public init(
        _ name: String, columns: [Column], content: Content = .own, tokenizer: FTS5Tokenizer = .unicode61(), prefixes: [Int] = [],
        detail: Detail = .full, storesColumnSizes: Bool = true, acceptsLocales: Bool = false, hasTokenData: Bool = false
    ) {
        self.name = name
        self.columns = columns
        self.content = content
        self.tokenizer = tokenizer
        self.prefixes = prefixes
        self.detail = detail
        self.storesColumnSizes = storesColumnSizes
        self.acceptsLocales = acceptsLocales
        self.hasTokenData = hasTokenData
    }
}

extension FTS5Table {
    /// Rejects descriptions that FTS5 would accept silently, or reject with a message about its own grammar.
    func validate() throws {
        guard !name.isEmpty else { throw DatabaseError.invalidArgument("a full-text table needs a name") }
        guard !columns.isEmpty else { throw DatabaseError.invalidArgument("the full-text table \(name) has no columns") }
        var seen: Set<SQLName> = []
        for column in columns {
            guard !column.name.isEmpty else { throw DatabaseError.invalidArgument("a column of \(name) has no name") }
            guard seen.insert(SQLName(column.name)).inserted else {
                throw DatabaseError.invalidArgument("the full-text table \(name) has two columns named \(column.name)")
            }
            guard column.expression == nil || isSynchronized else {
                throw DatabaseError.invalidArgument(
                    "the column \(column.name) has an expression, which needs synchronized external content"
                )
            }
        }
        guard columns.contains(where: \.isIndexed) else { throw DatabaseError.invalidArgument("no column of \(name) is indexed") }
        guard prefixes.allSatisfy({ (1...999).contains($0) }), prefixes.count <= 31 else {
            throw DatabaseError.invalidArgument("up to 31 prefix lengths are possible, from 1 to 999 characters")
        }
        if case .contentless(deletes: true, _) = content, !storesColumnSizes {
            throw DatabaseError.invalidArgument(
                "a contentless table without column sizes cannot delete: see FTS5's contentless_delete"
            )
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

/// Full-text search in JSON documents.
extension FTS5Table.Column {
    /// Creates a column with the words at paths of JSON documents, text or JSONB: the string or number at each path, or the strings
    /// and numbers of an array and of arrays in it, each on its own line. Objects are not searched: name their members.
    ///
    /// Use it in a table with external content, whose index follows every change of the documents:
    /// ```swift
    /// try db.create(FTS5Table(
    ///     "note_fts",
    ///     columns: [.json("city", in: "meta", at: JSONPath("city")), .json("words", in: "meta", at: JSONPath("tags"),
    ///     JSONPath("text"))], content: .external(table: "note"), tokenizer: .multilingual()))
    /// try db.main.updateJSON("meta", in: "note", where: "id = \(7)", .append("harbour", toArrayAt: "tags"))
    /// let hits = try db.fullText("note_fts").search("words:harbour").hits
    /// ```
    /// A NULL document has no words, and neither has a path that leads nowhere. If a document is not JSON, the statement that
    /// writes it fails.
    /// - Parameters:
    ///   - name: the full-text column's name.
    ///   - column: the content table's column with the documents.
    ///   - paths: the paths of the words in a document.
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

/// The description of an FTS5 full-text table (<https://sqlite.org/fts5.html>).
///
/// ```swift
/// try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"),
///                         tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
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
        ///   - expression: with synchronised external content, the text to index, as an SQL expression over the content table's
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

    /// Where the text is stored (<https://sqlite.org/fts5.html#external_content_and_contentless_tables>).
    public enum Content: Hashable, Sendable {
        /// In the full-text table itself.
        case own
        /// In an ordinary table. Triggers keep the index in step with it, whatever inserts, updates, upserts, replaces or deletes
        /// rows there, through this package or not.
        ///
        /// With synchronisation the content table must have a primary key, which may be of any kind. An `INTEGER PRIMARY KEY` is
        /// the row id of the hits. For any other key, the table `<name>_keys` gives each key a row id that survives `VACUUM`; rows
        /// with NULL in that key are not indexed.
        /// - Parameters:
        ///   - table: the content table's name, in the same database; without synchronisation it may be a view.
        ///   - rowID: the column with the integer key. Default: the one in the schema; without synchronisation, `rowid`.
        ///   - isSynchronized: whether to create the triggers. Without them, the application itself must tell FTS5 of each change.
        ///     Default: yes.
        case external(table: String, rowID: String? = nil, isSynchronized: Bool = true)
        /// Nowhere: only the index is stored, and a hit has only its row id and rank.
        /// - Parameters:
        ///   - deletes: whether rows can be deleted and replaced without their old text (`contentless_delete`). Default: yes.
        ///   - keepsUnindexed: whether the columns that are not indexed are stored (`contentless_unindexed`). Default: no.
        case contentless(deletes: Bool = true, keepsUnindexed: Bool = false)
    }

    /// How much the index records of where a word occurs (<https://sqlite.org/fts5.html#the_detail_option>).
    public enum Detail: String, Hashable, Sendable {
        /// Row, column and position.
        case full
        /// Row and column. A phrase, `NEAR` or an initial word becomes a search for all of its words, wherever they occur.
        case column
        /// Only the row, which gives the smallest index. Phrases are as with ``column``; a query in columns finds nothing.
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
    ///   - tokenizer: how text is split into words. Default: `unicode61`, with all accents removed.
    ///   - prefixes: the lengths, in characters, of the prefixes that get an index of their own, which makes searching for them
    ///     faster: from 1 to 999 each, and at most 31 of them. Default: none.
    ///   - detail: how much the index records of where a word occurs. Default: row, column and position.
    ///   - storesColumnSizes: whether the size of each text is stored (`columnsize`). Without it, ranking by bm25 is slow, a
    ///     contentless table cannot delete, and a table with synchronised content must have no triggers of the application that
    ///     write to the very row they are fired for. Default: yes.
    ///   - acceptsLocales: whether text may be written together with a locale, as `fts5_locale(locale, text)`, for tokenizers that
    ///     use it (<https://sqlite.org/fts5.html#the_locale_option>). Default: no.
    ///   - hasTokenData: whether the part of a token after a NUL byte is stored but not searched for
    ///     (<https://sqlite.org/fts5.html#the_tokendata_option>), for tokenizers that put data there. Default: no.
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

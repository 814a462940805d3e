/// The description of an FTS5 full-text table (<https://sqlite.org/fts5.html>).
///
/// ```swift
/// try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"),
///                         tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
/// let hits = try db.fullText("note_fts").search(FTS5Query(userInput: "swift sql*"), limit: 20)
/// ```
/// A description is a value: nothing happens before ``Connection/create(_:ifNotExists:populate:progress:)`` or
/// ``Schema/create(_:ifNotExists:populate:progress:)``, which say what database the table is made in.
public struct FTS5Table: Hashable, Sendable {
    /// A column of a full-text table.
    public struct Column: Hashable, Sendable, ExpressibleByStringLiteral {
        /// Its name.
        public var name: String
        /// Whether its words are in the index. A column that is not indexed is stored beside the text, or read from the content
        /// table, and cannot be searched.
        public var isIndexed: Bool
        /// With external content: what is indexed, as an SQL expression over the content table's columns; nil for the column of
        /// the same name. The expression must give the same value each time for the same row, and is spliced into SQL as it is.
        public var expression: String?

        /// A column.
        /// ```swift
        /// FTS5Table.Column("city", expression: "meta->>'$.address.city'")
        /// ```
        public init(_ name: String, isIndexed: Bool = true, expression: String? = nil) {
            self.name = name
            self.isIndexed = isIndexed
            self.expression = expression
        }

        /// An indexed column.
        public init(stringLiteral name: String) { self.init(name) }

        /// A column that is kept but not searched (FTS5's `UNINDEXED`).
        public static func unindexed(_ name: String) -> Column { Column(name, isIndexed: false) }
    }

    /// Where the text is (<https://sqlite.org/fts5.html#external_content_and_contentless_tables>).
    public enum Content: Hashable, Sendable {
        /// In the full-text table itself.
        case own
        /// In an ordinary table, which triggers keep the index in step with: whatever inserts, updates, upserts, replaces or
        /// deletes rows there, through this package or not.
        ///
        /// The content table may have any primary key. With an `INTEGER PRIMARY KEY` that key is the row id of the hits.
        /// With any other key, the table `<name>_keys` gives each key a row id that survives `VACUUM`; rows with a NULL in
        /// their key are not indexed then.
        /// - Parameters:
        ///   - table: the content table's name, in the same database; without synchronisation it may be a view.
        ///   - rowID: the column with the integer key; nil finds it in the schema.
        ///   - isSynchronized: whether triggers are made. Without them the application itself tells FTS5 of each change.
        case external(table: String, rowID: String? = nil, isSynchronized: Bool = true)
        /// Nowhere: the index alone is kept, and a hit has only its row id and rank.
        /// - Parameters:
        ///   - deletes: whether rows can be deleted and replaced without their former text (`contentless_delete`). Default: yes.
        ///   - keepsUnindexed: whether the columns that are not indexed are stored (`contentless_unindexed`). Default: no.
        case contentless(deletes: Bool = true, keepsUnindexed: Bool = false)
    }

    /// How much is known of where a word stands (<https://sqlite.org/fts5.html#the_detail_option>).
    public enum Detail: String, Hashable, Sendable {
        /// Everything: row, column and position.
        case full
        /// Row and column. A phrase, NEAR and an initial word become all of their words, wherever they stand.
        case column
        /// The row alone. What is asked for in a column is found in no row. The smallest index.
        case none
    }

    /// The table's name.
    public var name: String
    /// The columns, in order.
    public var columns: [Column]
    /// Where the text is. Default: in the table itself.
    public var content: Content
    /// How text is cut into words. Default: `unicode61`, with all accents removed.
    public var tokenizer: FTS5Tokenizer
    /// The lengths, in characters, of word beginnings that get an index of their own and are then found faster. Default: none.
    public var prefixes: [Int]
    /// How much is known of where a word stands. Default: everything.
    public var detail: Detail
    /// Whether the size of each text is stored (`columnsize`). Ranking by bm25 is slow without it, and synchronised
    /// content must then have no triggers of the application's that write to the very row they were fired for. Default: yes.
    public var storesColumnSizes: Bool
    /// Whether text may be written together with a locale, as `fts5_locale(locale, text)`, for tokenizers that care
    /// (<https://sqlite.org/fts5.html#the_locale_option>). Default: no.
    public var acceptsLocales: Bool
    /// Whether what follows a NUL byte in a token is kept but not searched for
    /// (<https://sqlite.org/fts5.html#the_tokendata_option>): for tokenizers that put data there. Default: no.
    public var hasTokenData: Bool

    /// How far the indexing of existing rows has come.
    public struct IndexingProgress: Hashable, Sendable {
        /// Rows indexed so far.
        public var indexed: Int
        /// All rows.
        public var total: Int
    }

    /// A description.
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

import SQLCipherKitCore

extension FullTextIndex {
    /// A word of a full-text index, as the tokenizer formed it.
    public struct Term: Hashable, Sendable {
        /// The word.
        public let term: String
        /// The column; nil if all columns are counted together, or if the index does not record it (``FTS5Table/Detail/none``).
        public let column: String?
        /// The number of rows with the word.
        public let documents: Int
        /// The number of occurrences of the word in all rows; nil for an index without positions (``FTS5Table/Detail/column`` and
        /// ``FTS5Table/Detail/none``), and for suggestions and corrections.
        public let occurrences: Int?
    }

    /// An occurrence of a word in a full-text index.
    package struct Instance: Hashable, Sendable {
        /// The word.
        package let term: String
        /// The row's id.
        package let rowID: Int64
        /// The column; nil if the index does not record it (``FTS5Table/Detail/none``).
        package let column: String?
        /// The position in the column, in words counted from 0; nil if the index does not record it (``FTS5Table/Detail/column``
        /// and ``FTS5Table/Detail/none``).
        package let position: Int?
    }
}

extension FullTextIndex.Term: _HidesValues {}

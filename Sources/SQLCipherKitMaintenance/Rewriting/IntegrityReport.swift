import SQLCipherKitCore

extension Schema.IntegrityReport {
    /// A problem with a database.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum Problem: Hashable, Sendable {
        /// A page, counted from 1, with an authentication code that does not match its content: it was damaged, or written with
        /// another key.
        case damagedPage(Int)
        /// The database is encrypted, and its pages have no authentication codes, so changes to the file go unnoticed. The codes
        /// can be taken off without the key: if the database once had them, it was forged.
        case noAuthentication
        /// The salt at the start of the file, or SQLite's header text in a plaintext header, is not the one that the connection was
        /// opened with: the key will not open the file again.
        case damagedHeader
        /// The header declares more pages than the file has.
        case missingPages(declared: Int, present: Int)
        /// The file does not end with a complete page: it has only this many bytes of the page with this number.
        case incompletePage(Int, bytes: Int)
        /// A row of `PRAGMA integrity_check`: for example an index that lacks a row, pages used twice or never, or a value that
        /// violates a constraint. Also a foreign key that refers to columns without a unique index, so that it cannot be checked
        /// (<https://sqlite.org/foreignkeys.html#fk_indexes>).
        case structure(String)
        /// A row of `table` that refers to a row of `parent` that does not exist. The row id is nil in a table WITHOUT ROWID; the
        /// index is the foreign key's number in `PRAGMA foreign_key_list`.
        case foreignKey(table: String, rowID: Int64?, parent: String, index: Int)
    }
}

extension Schema {
    /// The results of ``Schema/verify(quick:limits:)``.
    public struct IntegrityReport: Hashable, Sendable {
        /// All problems; empty for an intact database.
        public let problems: [IntegrityReport.Problem]
        /// The number of pages in the file.
        public let pageCount: Int
        /// Whether each page has an authentication code. Otherwise, a changed page is only found if it breaks the structure.
        public let isAuthenticated: Bool

        /// Whether no problem was found.
        public var isIntact: Bool { problems.isEmpty }
    }
}

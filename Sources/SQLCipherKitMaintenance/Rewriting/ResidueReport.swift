import SQLCipherKitCore

extension Schema {
    /// A report of where ``Schema/residue(of:progress:)`` found the bytes or words that it searched for.
    public struct ResidueReport: Hashable, Sendable {
        /// The kind of place.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A row of a table, or an entry of an index, that is not deleted.
            case content
            /// The index of a full-text table, as one of its words.
            case fullTextIndex = "full-text index"
            /// A sample taken by `ANALYZE`.
            case statistics
            /// Unused bytes of a page that is in use; in an R-Tree, also those of a node.
            case slack
            /// A page that is not in use, or after the end of the database.
            case freePage = "free page"
            /// A page as it was before a transaction in the write-ahead log changed it.
            case replacedPage = "replaced page"
            /// The write-ahead log, in an older version of a page.
            case log
            /// The rollback journal, in an older version of a page.
            case journal
            /// A file left by a rewrite or a backup that was killed.
            case remains
        }

        /// A place where something was found.
        public struct Place: Hashable, Sendable {
            /// The index of the target that was found, among those given.
            public let target: Int
            /// The kind of place.
            public let kind: Kind
            /// The file's path; nil for a database that is not in a file. For a page that is both in the log and in the database,
            /// this is the database's.
            public let file: String?
            /// The number of the database page, counted from 1; nil if unknown.
            public let page: Int?
            /// The table or index that the page belongs to, if any.
            public let object: String?
            /// Whether the content found is not deleted: a row, a word that occurs in a row, or a sample of such a row.
            public internal(set) var isLive: Bool
        }

        /// All places; each page is listed once per kind.
        public internal(set) var places: [Place] = []
        /// The number of pages searched, including their older images in the log and the journal.
        public internal(set) var pagesSearched = 0
        /// The number of these pages and images that the key does not open, because they are damaged, incomplete or from before a
        /// key change. Their content is unknown.
        public internal(set) var unreadablePages = 0

        /// The places of deleted or at least unused content.
        public var residue: [Place] { places.filter { !$0.isLive } }
        /// Whether all places are in content that is not deleted.
        public var isErased: Bool { places.allSatisfy(\.isLive) }
    }
}

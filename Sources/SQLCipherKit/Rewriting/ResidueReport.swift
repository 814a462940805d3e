/// Where the bytes or words stand that ``Schema/residue(of:progress:)`` has looked for.
public struct ResidueReport: Hashable, Sendable {
    /// What holds them.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A row of a table, or an entry of an index, that is not deleted.
        case content
        /// The index of a full-text table, as a word of it.
        case fullTextIndex = "full-text index"
        /// A sample that `ANALYZE` has taken.
        case statistics
        /// A page that is in use, outside of what it holds; in an R-Tree, a node outside of its entries.
        case slack
        /// A page that is not in use, or after the end of the database.
        case freePage = "free page"
        /// A page as it was before a transaction that is in the write-ahead log changed it.
        case replacedPage = "replaced page"
        /// The write-ahead log, in a page as it was once.
        case log
        /// The rollback journal, in a page as it was once.
        case journal
        /// A file that a rewrite or a backup has left, which was killed.
        case remains
    }

    /// A place where something stands.
    public struct Place: Hashable, Sendable {
        /// The index of what was found in what was given.
        public let target: Int
        /// What holds it.
        public let kind: Kind
        /// The file's path; nil for a database that is not in a file. For a page that is in the log as well as in the database it
        /// is the database.
        public let file: String?
        /// The number of the page of the database, from 1; nil where none is known.
        public let page: Int?
        /// The table or index that the page belongs to, where it belongs to one.
        public let object: String?
        /// Whether what stands there is not deleted: a row, a word that some row has, a sample of either.
        public internal(set) var isLive: Bool
    }

    /// All places, each page once for each kind.
    public internal(set) var places: [Place] = []
    /// The pages that were looked at, and their older images in the log and the journal.
    public internal(set) var pagesSearched = 0
    /// The pages and images among them that the key does not open, because they are damaged, incomplete or from before a change of
    /// key. What they hold is not known.
    public internal(set) var unreadablePages = 0

    /// The places of what is deleted, or at least not in use.
    public var residue: [Place] { places.filter { !$0.isLive } }
    /// Whether nothing of it stands anywhere but in what is not deleted.
    public var isErased: Bool { places.allSatisfy(\.isLive) }
}

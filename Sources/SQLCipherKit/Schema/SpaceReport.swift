/// Where the pages of a database go, table by table and index by index, as `sqlite3_analyzer` tells it
/// (<https://sqlite.org/dbstat.html>).
///
/// ```swift
/// let report = try db.main.spaceReport()
/// for object in report.objects { print(object.name, object.bytes, Int(object.fill * 100), "%") }
/// print(report.freePages, "pages are free:", report.freePages * report.pageSize, "bytes that a vacuum gives back")
/// ```
public struct SpaceReport: Hashable, Sendable {
    /// One table or index.
    public struct Object: Hashable, Sendable {
        /// What it is.
        public enum Kind: String, Hashable, Sendable {
            case table, index
        }

        /// Its name. The table of all tables is `sqlite_schema`.
        public let name: String
        /// What it is.
        public let kind: Kind
        /// The table that an index belongs to; a table's own name.
        public let table: String
        /// All its pages.
        public let pages: Int
        /// Those that lead to other pages.
        public let internalPages: Int
        /// Those with the content.
        public let leafPages: Int
        /// Those with the ends of rows that are too long for their page.
        public let overflowPages: Int
        /// Its rows, or the entries of an index.
        public let entries: Int
        /// How many pages lie on the way from the root to a leaf, both included.
        public let depth: Int
        /// The bytes of its content.
        public let payload: Int
        /// The bytes of the largest entry.
        public let largestPayload: Int
        /// The bytes that hold nothing.
        public let unused: Int
        /// The bytes of its pages on the disk.
        public let bytes: Int
        /// The bytes that each page keeps for its encryption are no room for content.
        let usableBytes: Int

        /// How full the pages are, from 0 to 1. What is not content of use is bookkeeping.
        public var fill: Double { usableBytes == 0 ? 0 : 1 - Double(unused) / Double(usableBytes) }
        /// The mean bytes of an entry.
        public var meanPayload: Double { entries == 0 ? 0 : Double(payload) / Double(entries) }
    }

    /// The tables and indexes, the largest first.
    public let objects: [Object]
    /// The bytes of a page.
    public let pageSize: Int
    /// The bytes at the end of each page that an encrypted database keeps for the initialisation vector and the MAC.
    public let reservedBytesPerPage: Int
    /// All pages of the database.
    public let pageCount: Int
    /// The pages that are not in use. ``Schema/vacuum()`` gives them back.
    public let freePages: Int
    /// The pages that `auto_vacuum` keeps its map in, and the one that is left free for locks in a database over 1 GB.
    public let otherPages: Int

    /// The bytes of the whole database.
    public var bytes: Int { pageCount * pageSize }
    /// The bytes of all content.
    public var payload: Int { objects.reduce(0) { $0 + $1.payload } }
    /// The bytes within used pages that hold nothing.
    public var unused: Int { objects.reduce(0) { $0 + $1.unused } }
    /// The bytes that encryption takes.
    public var reservedBytes: Int { pageCount * reservedBytesPerPage }

    /// The table or index of a name.
    public subscript(name: String) -> Object? { objects.first { $0.name.isSameName(as: name) } }

    /// The bytes of a table with all its indexes.
    public func bytes(ofTable table: String) -> Int {
        objects.reduce(0) { $0 + ($1.table.isSameName(as: table) ? $1.bytes : 0) }
    }
}

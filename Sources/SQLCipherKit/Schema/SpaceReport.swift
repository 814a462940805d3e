/// Where the pages of a database go, table by table and index by index, as `sqlite3_analyzer` tells it
/// (<https://sqlite.org/dbstat.html>).
///
/// ```swift
/// let report = try db.spaceReport()
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
    /// The bytes at the end of each page that an encrypted database keeps for the initialisation vector and the authentication code.
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
    public subscript(name: String) -> Object? { objects.first { $0.name.lowercased() == name.lowercased() } }

    /// The bytes of a table with all its indexes.
    public func bytes(ofTable table: String) -> Int {
        objects.reduce(0) { $0 + ($1.table.lowercased() == table.lowercased() ? $1.bytes : 0) }
    }
}

extension Connection {
    /// Where the pages of a database go. Every page is read; no other connection's writing is kept waiting with a write-ahead log.
    /// - Parameter schema: `main`, or what the database was attached as.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what reading the file throws.
    public func spaceReport(_ schema: String = "main") throws -> SpaceReport {
        try requireSchema(schema)
        // One look at the database for all of it.
        return try savepoint { db in try db.makeSpaceReport(schema) }
    }

    private func makeSpaceReport(_ schema: String) throws -> SpaceReport {
        let layout = try PageLayout(Schema(self, schema))
        let name = schema.quotedSQLIdentifier
        // A row of a table without row ids, or of an index, may be on any page; of other tables, on the leaves.
        let objects = try fetchAll(
            SpaceReport.Object.self,
            SQL(raw: """
                SELECT s.name, coalesce(o.type, 'table'), coalesce(o.tbl_name, s.name), count(*), sum(s.pagetype = 'internal'),
                    sum(s.pagetype = 'leaf'), sum(s.pagetype = 'overflow'),
                    coalesce(sum(s.ncell) FILTER (WHERE s.pagetype = 'leaf' OR (s.pagetype = 'internal' AND (o.type = 'index' OR l.wr))), 0),
                    coalesce(max(length(s.path) - length(replace(s.path, '/', ''))) FILTER (WHERE s.pagetype <> 'overflow'), 0),
                    sum(s.payload), max(s.mx_payload), sum(s.unused), sum(s.pgsize), ?
                FROM dbstat AS s LEFT JOIN \(name).sqlite_schema AS o ON o.name = s.name AND o.rootpage > 0
                LEFT JOIN pragma_table_list AS l ON l.name = s.name AND l.schema = ? COLLATE NOCASE
                WHERE s.schema = ? GROUP BY s.name ORDER BY sum(s.pgsize) DESC, s.name
                """, [layout.reservedBytes, schema, schema]))
        let pages = try fetchOne(Int.self, SQL(raw: "PRAGMA \(name).page_count")) ?? 0
        let free = try fetchOne(Int.self, SQL(raw: "PRAGMA \(name).freelist_count")) ?? 0
        return SpaceReport(
            objects: objects, pageSize: layout.pageSize, reservedBytesPerPage: layout.reservedBytes, pageCount: pages, freePages: free,
            otherPages: pages - free - objects.reduce(0) { $0 + $1.pages })
    }
}

extension SpaceReport.Object: SQLRow {
    public init(row: borrowing Row) throws {
        name = try row[0]
        kind = Kind(rawValue: try row[1]) ?? .table
        table = try row[2]
        pages = try row[3]
        internalPages = try row[4]
        leafPages = try row[5]
        overflowPages = try row[6]
        entries = try row[7]
        depth = try row[8]
        payload = try row[9]
        largestPayload = try row[10]
        unused = try row[11]
        bytes = try row[12]
        let reserved: Int = try row[13]
        usableBytes = bytes - pages * reserved
    }
}

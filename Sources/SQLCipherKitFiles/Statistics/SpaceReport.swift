import SQLCipherKitCore

extension Schema {
    /// The use of a database's pages, for each table and index, as `sqlite3_analyzer` reports it
    /// (<https://sqlite.org/dbstat.html>).
    ///
    /// ```swift
    /// let report = try db.main.spaceReport()
    /// for object in report.objects { print(object.name, object.bytes, Int(object.fill * 100), "%") }
    /// print(report.freePages, "pages are free:", report.freePages * report.pageSize, "bytes that a vacuum gives back")
    /// ```
    public struct SpaceReport: Hashable, Sendable {
        /// A table or an index.
        public struct Object: Hashable, Sendable {
            /// The kinds of objects that have pages.
            public enum Kind: String, Hashable, Sendable {
                case table, index
            }

            /// The object's name. The table that holds the schema is `sqlite_schema`.
            public let name: String
            /// The kind: a table or an index.
            public let kind: Kind
            /// The table that an index belongs to; for a table, its own name.
            public let table: String
            /// The number of the object's pages.
            public let pages: Int
            /// The number of pages that lead to other pages.
            package let internalPages: Int
            /// The number of pages with content.
            package let leafPages: Int
            /// The number of pages that continue rows too long for one page.
            public let overflowPages: Int
            /// The number of the table's rows, or of the index's entries.
            public let entries: Int
            /// The number of pages on the path from the root to a leaf, including both.
            public let depth: Int
            /// The size of its content in bytes.
            package let payload: Int
            /// The size of the largest entry in bytes.
            package let largestPayload: Int
            /// The number of unused bytes on the object's pages.
            public let unusedBytes: Int
            /// The size of the object's pages on disk in bytes.
            public let bytes: Int
            /// The size of its pages without the bytes reserved for encryption, which cannot hold content.
            let usableBytes: Int

            /// The fraction of the pages' bytes that content and bookkeeping use, from 0 to 1.
            public var fill: Double { usableBytes == 0 ? 0 : 1 - Double(unusedBytes) / Double(usableBytes) }
            /// The mean size of an entry in bytes.
            package var meanPayload: Double { entries == 0 ? 0 : Double(payload) / Double(entries) }
        }

        /// The tables and indexes, the largest first.
        public let objects: [Object]
        /// The size of a page in bytes.
        public let pageSize: Int
        /// The number of bytes that an encrypted database reserves at the end of each page for the initialization vector and the
        /// MAC.
        package let reservedBytesPerPage: Int
        /// The number of pages of the database.
        public let pageCount: Int
        /// The number of free pages, which ``Schema/vacuum()`` returns to the file system.
        public let freePages: Int
        /// The number of other pages: those in which `auto_vacuum` keeps its map, and the one that a database over 1 GB leaves free
        /// for locks.
        package let otherPages: Int

        /// The size of the whole database in bytes.
        public var bytes: Int { pageCount * pageSize }
        /// The size of all content in bytes.
        package var payload: Int { objects.reduce(0) { $0 + $1.payload } }
        /// The number of unused bytes on pages in use.
        public var unusedBytes: Int { objects.reduce(0) { $0 + $1.unusedBytes } }
        /// The number of bytes that encryption uses in the pages.
        public var reservedBytes: Int { pageCount * reservedBytesPerPage }

        /// The table or index of a name, or nil if there is none.
        public subscript(name: String) -> Object? { objects.first { $0.name.isSameName(as: name) } }

        /// The size of a table with all its indexes in bytes.
        public func bytes(ofTable table: String) -> Int {
            objects.reduce(0) { $0 + ($1.table.isSameName(as: table) ? $1.bytes : 0) }
        }
    }
}

extension Schema {
    /// Reports how the database uses its pages. Every page is read. With a write-ahead log, no other connection has to wait.
    /// - Throws: ``DatabaseError/Reason/schemaName``, or any error from reading the file.
    public func spaceReport() throws -> SpaceReport {
        try live()
        // One snapshot of the database for the whole report.
        return try connection.savepoint { db in
            let layout = try PageLayout(self)
            // Rows of indexes and of tables without row ids may be on any page; rows of other tables are on the leaves.
            let objects = try db.fetchAll(
                SpaceRow.self,
                SQL(raw: """
                    WITH o AS MATERIALIZED (
                        SELECT m.name, type, tbl_name, EXISTS (SELECT 1 FROM pragma_index_info(m.name, ?)) AS isIndex
                        FROM \(qualified("sqlite_schema")) AS m WHERE rootpage > 0)
                    SELECT s.name, coalesce(o.type, 'table'), coalesce(o.tbl_name, s.name), count(*),
                        sum(s.pagetype = 'internal'), sum(s.pagetype = 'leaf'), sum(s.pagetype = 'overflow'),
                        coalesce(sum(s.ncell) FILTER (
                            WHERE s.pagetype = 'leaf' OR (s.pagetype = 'internal' AND o.isIndex)), 0),
                        coalesce(
                            max(length(s.path) - length(replace(s.path, '/', ''))) FILTER (WHERE s.pagetype <> 'overflow'), 0),
                        sum(s.payload), max(s.mx_payload), sum(s.unused), sum(s.pgsize), ?
                    FROM dbstat AS s LEFT JOIN o ON o.name = s.name
                    WHERE s.schema = ? GROUP BY s.name ORDER BY sum(s.pgsize) DESC, s.name
                    """, [name, layout.reservedBytes, name])
            ).map(\.object)
            let pages = try pageCount, free = try freePageCount
            return SpaceReport(
                objects: objects, pageSize: layout.pageSize, reservedBytesPerPage: layout.reservedBytes, pageCount: pages,
                freePages: free, otherPages: pages - free - objects.reduce(0) { $0 + $1.pages })
        }
    }
}

/// A row of the statement above.
private struct SpaceRow: SQLRowConvertible {
    let object: Schema.SpaceReport.Object

    init(row: borrowing Row) throws { object = try Schema.SpaceReport.Object(row) }
}

extension Schema.SpaceReport.Object {
    fileprivate init(_ row: borrowing Row) throws {
        let type: String, reserved: Int
        (
            name, type, table, pages, internalPages, leafPages, overflowPages, entries, depth, payload, largestPayload, unusedBytes,
            bytes, reserved
        ) = try row.values()
        kind = Kind(rawValue: type) ?? .table
        usableBytes = bytes - pages * reserved
    }
}

extension Schema {
    /// Where the pages of the database go. Every page is read; with a write-ahead log no other connection waits for it.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what reading the file throws.
    public func spaceReport() throws -> SpaceReport {
        try live()
        // One look at the database for all of it.
        return try connection.savepoint { db in
            let layout = try PageLayout(self)
            // A row of a table without row ids, or of an index, may be on any page; of other tables, on the leaves.
            let objects = try db.fetchAll(
                SpaceReport.Object.self,
                SQL(raw: """
                    SELECT s.name, coalesce(o.type, 'table'), coalesce(o.tbl_name, s.name), count(*), sum(s.pagetype = 'internal'),
                        sum(s.pagetype = 'leaf'), sum(s.pagetype = 'overflow'),
                        coalesce(sum(s.ncell) FILTER (
                            WHERE s.pagetype = 'leaf' OR (s.pagetype = 'internal' AND (o.type = 'index' OR l.wr))), 0),
                        coalesce(max(length(s.path) - length(replace(s.path, '/', ''))) FILTER (WHERE s.pagetype <> 'overflow'), 0),
                        sum(s.payload), max(s.mx_payload), sum(s.unused), sum(s.pgsize), ?
                    FROM dbstat AS s LEFT JOIN \(qualified("sqlite_schema")) AS o ON o.name = s.name AND o.rootpage > 0
                    LEFT JOIN pragma_table_list AS l ON l.name = s.name AND l.schema = ? COLLATE NOCASE
                    WHERE s.schema = ? GROUP BY s.name ORDER BY sum(s.pgsize) DESC, s.name
                    """, [layout.reservedBytes, name, name]))
            let pages = try pageCount, free = try freePageCount
            return SpaceReport(
                objects: objects, pageSize: layout.pageSize, reservedBytesPerPage: layout.reservedBytes, pageCount: pages,
                freePages: free, otherPages: pages - free - objects.reduce(0) { $0 + $1.pages })
        }
    }
}

extension SpaceReport.Object: SQLRow {
    public init(row: borrowing Row) throws {
        let type: String, reserved: Int
        (
            name, type, table, pages, internalPages, leafPages, overflowPages, entries, depth, payload, largestPayload, unused,
            bytes, reserved
        ) = try row.values()
        kind = Kind(rawValue: type) ?? .table
        usableBytes = bytes - pages * reserved
    }
}

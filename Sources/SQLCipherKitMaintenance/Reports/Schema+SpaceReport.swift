import SQLCipherKitCore

extension Schema {
    /// Reports how the database uses its pages. Every page is read. With a write-ahead log, no other connection has to wait.
    /// - Throws: ``DatabaseError/Reason/schemaName``, or any error from reading the file.
    public func spaceReport() throws(DatabaseError) -> SpaceReport {
        try DatabaseError.typed {
            try live()
            // One snapshot of the database for the whole report.
            return try connection.savepoint { db in
                let layout = try PageLayout(self)
                // Rows of indexes and of tables without row ids may be on any page; rows of other tables are on the leaves.
                let objects = try db.fetchAll(
                    SpaceRow.self,
                    SQL(raw: """
                        SELECT s.name, coalesce(o.type, 'table'), coalesce(o.tbl_name, s.name), count(*),
                            sum(s.pagetype = 'internal'), sum(s.pagetype = 'leaf'), sum(s.pagetype = 'overflow'),
                            coalesce(sum(s.ncell) FILTER (
                                WHERE s.pagetype = 'leaf' OR (s.pagetype = 'internal' AND (o.type = 'index' OR l.wr))), 0),
                            coalesce(
                                max(length(s.path) - length(replace(s.path, '/', ''))) FILTER (WHERE s.pagetype <> 'overflow'), 0),
                            sum(s.payload), max(s.mx_payload), sum(s.unused), sum(s.pgsize), ?
                        FROM dbstat AS s LEFT JOIN \(qualified("sqlite_schema")) AS o ON o.name = s.name AND o.rootpage > 0
                        LEFT JOIN pragma_table_list AS l ON l.name = s.name AND l.schema = ? COLLATE NOCASE
                        WHERE s.schema = ? GROUP BY s.name ORDER BY sum(s.pgsize) DESC, s.name
                        """, [layout.reservedBytes, name, name])
                ).map(\.object)
                let pages = try pageCount, free = try freePageCount
                return SpaceReport(
                    objects: objects, pageSize: layout.pageSize, reservedBytesPerPage: layout.reservedBytes, pageCount: pages,
                    freePages: free, otherPages: pages - free - objects.reduce(0) { $0 + $1.pages })
            }
        }
    }
}

/// A row of the statement above.
private struct SpaceRow: SQLRow {
    let object: Schema.SpaceReport.Object

    init(row: borrowing Row) throws { object = try Schema.SpaceReport.Object(row) }
}

extension Schema.SpaceReport.Object {
    fileprivate init(_ row: borrowing Row) throws {
        let type: String, reserved: Int
        (
            name, type, table, pages, internalPages, leafPages, overflowPages, entries, depth, payload, largestPayload, unused,
            bytes, reserved
        ) = try row.values()
        kind = Kind(rawValue: type) ?? .table
        usableBytes = bytes - pages * reserved
    }
}

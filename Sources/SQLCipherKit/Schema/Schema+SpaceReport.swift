extension Schema {
    /// Where the pages of the database go. Every page is read; with a write-ahead log no other connection waits for it.
    /// - Throws: ``DatabaseError/Reason/schemaName``, and what reading the file throws.
    public func spaceReport() throws -> SpaceReport {
        try live()
        // One look at the database for all of it.
        return try connection.savepoint { db in try makeSpaceReport(db) }
    }

    private func makeSpaceReport(_ db: Connection) throws -> SpaceReport {
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

import CSQLCipher

/// Regions made by hand. Names are looked up when a region is put to use, and again after each change of the schema.
extension DatabaseRegion {
    /// Whole tables: any change of their rows counts.
    public init(_ table: DatabaseTable, _ more: DatabaseTable...) { self.init([table] + more) }

    /// Whole tables.
    public init(_ tables: some Sequence<DatabaseTable>) {
        for table in tables { columns[table] = Columns(isWhole: true, bits: .max) }
    }

    /// Columns of a table: what counts is an UPDATE that gives one of them another value, and rows that come and go.
    /// - Parameters:
    ///   - table: the table.
    ///   - columns: the columns' names, in any case. None of them for the rows alone, as `count(*)` reads them. As long as the
    ///     table does not have one of these names, all its columns count.
    public init(_ table: DatabaseTable, columns: [String]) {
        self.columns[table] = Columns(names: Set(columns.map { SQLName($0) }), bits: .max)
    }

    /// The whole table of a record type.
    public init<R: SQLRecord>(_ type: R.Type) { self.init(DatabaseTable(R.tableName)) }

    /// The same, with the columns' indexes as they are now.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a view, in which nothing ever changes.
    func resolved(on db: Connection) throws(DatabaseError) -> DatabaseRegion {
        let handle = try db.live()
        for table in columns.keys {
            let found = sqlcipherkit_find_table(handle, table.schemaName, table.name, nil)
            guard found.kind == SQLCIPHERKIT_VIEW else { continue }
            throw .invalidArgument("\(table) is a view: a region has the tables that it reads, as recordingReads(_:) finds them")
        }
        return resolved(handle)
    }

    /// What cannot be found counts as all columns.
    func resolved(_ db: OpaquePointer) -> DatabaseRegion {
        var result = self
        for (table, columns) in columns where !columns.isWhole {
            let found = sqlcipherkit_find_table(db, table.schemaName, table.name, nil)
            result.columns[table]?.bits = found.kind == SQLCIPHERKIT_TABLE ? Self.bits(columns.names, table, db) : .max
        }
        return result
    }

    private static func bits(_ names: Set<SQLName>, _ table: DatabaseTable, _ db: OpaquePointer) -> UInt64 {
        names.reduce(0) { bits, name in
            let column = sqlcipherkit_find_table(db, table.schemaName, table.name, name.text).column
            if column >= 0 { return bits | 1 << UInt64(min(column, 63)) }
            // A row whose id changes counts as another row.
            return rowIDs.contains(name) ? bits : .max
        }
    }

    private static let rowIDs: Set<SQLName> = ["rowid", "oid", "_rowid_"]
}

extension SharedDatabase {
    /// The results of a read, now and after each commit that touches a region.
    ///
    /// As ``observe(_:)``, but what the closure reads is not found out: commits elsewhere lead to no new element. That saves the
    /// compiling of its statements at each read, and is for closures that always read the same.
    /// ```swift
    /// let counts = pool.observe(tracking: DatabaseRegion(Note.self)) { db in try db.fetchCount(Note.self) }
    /// ```
    /// - Parameters:
    ///   - region: what has to be touched. Several regions are one by ``DatabaseRegion/union(_:)``. After a change of the schema
    ///     there is an element in any case. A view in it is an ``DatabaseError/Reason/invalidArgument``, thrown by the loop.
    ///   - fetch: reads, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(
        tracking region: DatabaseRegion, _ fetch: @escaping @Sendable (Connection) throws -> T
    ) -> DatabaseObservation<T> {
        DatabaseObservation(ObservationSource(database: self, fetch: fetch, region: region))
    }
}

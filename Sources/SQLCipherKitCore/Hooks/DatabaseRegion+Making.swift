import CSQLCipher

/// Regions made by hand. Names are looked up when a region is put to use, and again after each schema change.
extension DatabaseRegion {
    /// Whole tables: any change to their rows counts.
    public init(_ table: DatabaseTable, _ more: DatabaseTable...) { self.init([table] + more) }

    /// Whole tables.
    public init(_ tables: some Sequence<DatabaseTable>) {
        for table in tables { columns[table] = Columns(isWhole: true, bits: .max) }
    }

    /// Columns of a table: an UPDATE that gives one of them another value counts, and so do inserted and deleted rows.
    /// - Parameters:
    ///   - table: the table.
    ///   - columns: the columns' names, ignoring case. Empty for the rows alone, as `count(*)` reads them. While the table lacks
    ///     one of these columns, all its columns count.
    public init(_ table: DatabaseTable, columns: [String]) {
        self.columns[table] = Columns(names: Set(columns.map { SQLName($0) }), bits: .max)
    }

    /// This region with the columns' current indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a view, which has no rows of its own that could change.
    package func resolved(on db: Connection) throws(DatabaseError) -> DatabaseRegion {
        let handle = try db.live()
        for table in columns.keys {
            let found = sqlcipherkit_find_table(handle, table.schema, table.name, nil)
            guard found.kind == SQLCIPHERKIT_VIEW else { continue }
            throw .invalidArgument("\(table) is a view: name the tables that it reads, which recordingReads(_:) finds")
        }
        return resolved(handle)
    }

    /// This region with the columns' current indexes. If a table or a column cannot be found, all columns count.
    package func resolved(_ db: OpaquePointer) -> DatabaseRegion {
        var result = self
        for (table, columns) in columns where !columns.isWhole {
            let found = sqlcipherkit_find_table(db, table.schema, table.name, nil)
            result.columns[table]?.bits = found.kind == SQLCIPHERKIT_TABLE ? Self.bits(columns.names, table, db) : .max
        }
        return result
    }

    private static func bits(_ names: Set<SQLName>, _ table: DatabaseTable, _ db: OpaquePointer) -> UInt64 {
        names.reduce(0) { bits, name in
            let column = sqlcipherkit_find_table(db, table.schema, table.name, name.text).column
            if column >= 0 { return bits | 1 << UInt64(min(column, 63)) }
            // A change of row id counts as a different row.
            return rowIDs.contains(name) ? bits : .max
        }
    }

    private static let rowIDs: Set<SQLName> = ["rowid", "oid", "_rowid_"]
}

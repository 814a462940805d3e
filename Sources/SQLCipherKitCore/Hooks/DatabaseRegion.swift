import CSQLCipher

/// A table in one of a connection's databases. As in SQLite, names are compared by bytes, ignoring ASCII case.
public struct DatabaseTable: Hashable, Sendable, CustomStringConvertible {
    /// The name of the table's database in SQL: `main`, `temp` or the name it was attached under.
    public let schema: String
    /// The table's name.
    public let name: String

    package init(_ name: String, schemaName: String) {
        self.name = name
        self.schema = schemaName
    }

    /// A table of the main database.
    public init(_ name: String) { self.init(name, schemaName: "main") }

    /// A table of a database of the connection.
    /// ```swift
    /// if changes.tables.contains(DatabaseTable("note", in: archive)) { reload() }
    /// ```
    public init(_ name: String, in schema: Schema) { self.init(name, schemaName: schema.name) }

    public static func == (a: DatabaseTable, b: DatabaseTable) -> Bool {
        a.name.isSameName(as: b.name) && a.schema.isSameName(as: b.schema)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(SQLName(schema))
        hasher.combine(SQLName(name))
    }

    public var description: String { schema.isSameName(as: "main") ? name : "\(schema).\(name)" }
}

/// The tables and columns that queries read, either recorded (``Connection/recordingReads(_:)``) or made by hand.
/// ```swift
/// let region = DatabaseRegion(DatabaseTable("note"), columns: ["title"]).union(DatabaseRegion(DatabaseTable("tag")))
/// for try await titles in pool.observe(tracking: region, fetchTitles) { show(titles) }
/// ```
public struct DatabaseRegion: Hashable, Sendable {
    package struct Columns: Hashable, Sendable {
        /// Their names; empty if only rows were counted.
        package var names: Set<SQLName> = []
        /// True if all columns count, whatever their names.
        package var isWhole = false
        /// Their indexes in the table, as bits. The last bit stands for all indexes from 63 on. All bits are set while the indexes
        /// are unknown.
        package var bits: UInt64 = 0

        // The bits follow from the names.
        package static func == (a: Self, b: Self) -> Bool { a.isWhole == b.isWhole && (a.isWhole || a.names == b.names) }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(isWhole)
            if !isWhole { hasher.combine(names) }
        }
    }

    package var columns: [DatabaseTable: Columns] = [:]
    /// True if any commit at all may change the results, as with `PRAGMA user_version`.
    package internal(set) var isEverything = false

    init() {}

    /// The empty region.
    public static let empty = DatabaseRegion()

    /// All tables, and everything else in a database.
    public static let fullDatabase = {
        var region = DatabaseRegion()
        region.isEverything = true
        return region
    }()

    /// The tables of the region. A full-text table is listed itself, not the tables that hold its index.
    public var tables: Set<DatabaseTable> { Set(columns.keys) }

    /// The columns of a table; empty if only its rows count or if the region has the whole table; nil if the table is not in the
    /// region.
    public func columns(of table: DatabaseTable) -> Set<String>? { columns[table].map { Set($0.names.map(\.text)) } }

    /// Returns whether the region has all columns of a table, as a region made by hand without column names does.
    package func isWhole(_ table: DatabaseTable) -> Bool { isEverything || columns[table]?.isWhole == true }

    /// Returns the union of both regions.
    public func union(_ other: DatabaseRegion) -> DatabaseRegion {
        var result = self
        result.formUnion(other)
        return result
    }

    /// Adds another region to this one.
    package mutating func formUnion(_ other: DatabaseRegion) {
        if other.isEverything { isEverything = true }
        for (table, more) in other.columns {
            let known = columns[table] ?? Columns()
            let isWhole = known.isWhole || more.isWhole
            columns[table] = Columns(
                names: isWhole ? [] : known.names.union(more.names), isWhole: isWhole, bits: known.bits | more.bits)
        }
    }
}

extension DatabaseRegion: CustomStringConvertible {
    /// The tables with their columns, such as `note(body,title), tag(), word(*)`.
    public var description: String {
        if isEverything { return "everything" }
        let tables = columns.map { table, columns in
            "\(table)(\(columns.isWhole ? "*" : columns.names.map(\.text).sorted().joined(separator: ",")))"
        }
        return tables.sorted().joined(separator: ", ")
    }
}

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
    ///   - columns: the columns' names, ignoring case. Without names, only inserted and deleted rows count, as for a query of
    ///     `count(*)`. While the table lacks one of these columns, all its columns count.
    public init(_ table: DatabaseTable, columns: [String]) {
        self.columns[table] = Columns(names: Set(columns.map { SQLName($0) }), bits: .max)
    }

    /// Returns the region with the columns' current indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a view, which has no rows of its own that could change.
    package func resolved(on db: Connection) throws -> DatabaseRegion {
        let handle = try db.live()
        for table in columns.keys {
            let found = sqlcipherkit_find_table(handle, table.schema, table.name, nil)
            guard found.kind == SQLCIPHERKIT_VIEW else { continue }
            throw DatabaseError.invalidArgument("\(table) is a view: name the tables that it reads, which recordingReads(_:) finds")
        }
        return resolved(handle)
    }

    /// Returns the region with the columns' current indexes. If a table or a column cannot be found, all columns count.
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

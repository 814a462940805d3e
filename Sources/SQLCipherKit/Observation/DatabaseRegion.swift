/// A table of one of a connection's databases.
public struct DatabaseTable: Hashable, Sendable, CustomStringConvertible {
    /// The database: `main`, `temp` or what it was attached as.
    public let schema: String
    /// The table's name.
    public let name: String

    /// A table.
    /// - Parameters:
    ///   - name: the table's name.
    ///   - schema: the database. Default: `main`.
    public init(_ name: String, in schema: String = "main") {
        self.name = name
        self.schema = schema
    }

    public var description: String { schema == "main" ? name : "\(schema).\(name)" }
}

/// What queries have read: tables and their columns. See ``Connection/recordingReads(_:)``.
public struct DatabaseRegion: Hashable, Sendable {
    /// The columns that were read of one table.
    struct Columns: Hashable, Sendable {
        /// Their names; without any it was rows that were counted.
        var names: Set<String> = []
        /// Their indexes in the table, as bits; the last bit stands for all from 63 on.
        var bits: UInt64 = 0
    }

    var columns: [DatabaseTable: Columns] = [:]
    /// Whether any commit at all may change what was read, as with `PRAGMA user_version`.
    public internal(set) var isEverything = false

    /// Nothing at all.
    public static let nothing = DatabaseRegion()

    /// All tables, and whatever else is in a database.
    public static let everything = {
        var region = DatabaseRegion()
        region.isEverything = true
        return region
    }()

    /// The tables that were read. Of a full-text table this is the table itself, whatever it keeps its index in.
    public var tables: Set<DatabaseTable> { Set(columns.keys) }

    /// The columns that were read of a table, none where only rows were counted; nil if the table was not read.
    public func columns(of table: DatabaseTable) -> Set<String>? { columns[table]?.names }

    /// Both regions together.
    public func union(_ other: DatabaseRegion) -> DatabaseRegion {
        var result = self
        result.isEverything = isEverything || other.isEverything
        for (table, more) in other.columns {
            let known = result.columns[table] ?? Columns()
            result.columns[table] = Columns(names: known.names.union(more.names), bits: known.bits | more.bits)
        }
        return result
    }
}

extension DatabaseRegion: CustomStringConvertible {
    /// The tables with their columns, such as `note(body,title), tag()`.
    public var description: String {
        if isEverything { return "everything" }
        return columns.map { "\($0.key)(\($0.value.names.sorted().joined(separator: ",")))" }.sorted().joined(separator: ", ")
    }
}

/// A table of one of a connection's databases.
/// Two are the same if the names are to SQLite: byte for byte, the case of ASCII letters apart.
public struct DatabaseTable: Hashable, Sendable, CustomStringConvertible {
    /// The name of the table's database in SQL: `main`, `temp` or what it was attached as.
    public let schemaName: String
    /// The table's name.
    public let name: String

    init(_ name: String, schemaName: String) {
        self.name = name
        self.schemaName = schemaName
    }

    /// A table of the main database.
    public init(_ name: String) { self.init(name, schemaName: "main") }

    /// A table of a connection's database.
    /// ```swift
    /// if changes.tables.contains(DatabaseTable("note", in: archive)) { reload() }
    /// ```
    public init(_ name: String, in schema: Schema) { self.init(name, schemaName: schema.name) }

    /// A table of a database of a queue or a pool.
    public init(_ name: String, in schema: SharedSchema) { self.init(name, schemaName: schema.name) }

    public static func == (a: DatabaseTable, b: DatabaseTable) -> Bool {
        a.name.isSameName(as: b.name) && a.schemaName.isSameName(as: b.schemaName)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(SQLName(schemaName))
        hasher.combine(SQLName(name))
    }

    public var description: String { schemaName.isSameName(as: "main") ? name : "\(schemaName).\(name)" }
}

/// What queries have read: tables and their columns. See ``Connection/recordingReads(_:)``.
public struct DatabaseRegion: Hashable, Sendable {
    struct Columns: Hashable, Sendable {
        /// Their names; empty if only rows were counted.
        var names: Set<SQLName> = []
        /// Their indexes in the table, as bits; the last bit stands for all from 63 on.
        var bits: UInt64 = 0
    }

    var columns: [DatabaseTable: Columns] = [:]
    /// Whether any commit at all may change what was read, as with `PRAGMA user_version`.
    public internal(set) var isEverything = false

    /// Nothing.
    public static let nothing = DatabaseRegion()

    /// All tables, and whatever else is in a database.
    public static let everything = {
        var region = DatabaseRegion()
        region.isEverything = true
        return region
    }()

    /// The tables that were read. Of a full-text table this is the table itself, whatever it keeps its index in.
    public var tables: Set<DatabaseTable> { Set(columns.keys) }

    /// The columns that were read of a table, empty if only rows were counted; nil if the table was not read.
    public func columns(of table: DatabaseTable) -> Set<String>? { columns[table].map { Set($0.names.map(\.text)) } }

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

extension DatabaseRegion {
    /// The same, with the columns' indexes as they are now. What cannot be found counts as all columns.
    func resolved(on db: Connection) throws(DatabaseError) -> DatabaseRegion { resolved(try db.live()) }

    func resolved(_ db: OpaquePointer) -> DatabaseRegion { self }
}

extension DatabaseRegion: CustomStringConvertible {
    /// The tables with their columns, such as `note(body,title), tag()`.
    public var description: String {
        if isEverything { return "everything" }
        let tables = columns.map { "\($0.key)(\($0.value.names.map(\.text).sorted().joined(separator: ",")))" }
        return tables.sorted().joined(separator: ", ")
    }
}

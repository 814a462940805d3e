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

/// What queries read: tables and their columns. Recorded (``Connection/recordingReads(_:)``), or made by hand.
/// ```swift
/// let region = DatabaseRegion(DatabaseTable("note"), columns: ["title"]).union(DatabaseRegion(DatabaseTable("tag")))
/// for try await titles in pool.observe(tracking: region, fetchTitles) { show(titles) }
/// ```
public struct DatabaseRegion: Hashable, Sendable {
    struct Columns: Hashable, Sendable {
        /// Their names; empty if only rows were counted.
        var names: Set<SQLName> = []
        /// Whether it is all of them, whatever they are called.
        var isWhole = false
        /// Their indexes in the table, as bits; the last bit stands for all from 63 on. All of them, as long as they are not known.
        var bits: UInt64 = 0

        // The bits follow from the names.
        static func == (a: Self, b: Self) -> Bool { a.isWhole == b.isWhole && (a.isWhole || a.names == b.names) }

        func hash(into hasher: inout Hasher) {
            hasher.combine(isWhole)
            if !isWhole { hasher.combine(names) }
        }
    }

    var columns: [DatabaseTable: Columns] = [:]
    /// Whether any commit at all may change what was read, as with `PRAGMA user_version`.
    public internal(set) var isEverything = false

    init() {}

    /// Nothing.
    public static let nothing = DatabaseRegion()

    /// All tables, and whatever else is in a database.
    public static let everything = {
        var region = DatabaseRegion()
        region.isEverything = true
        return region
    }()

    /// The tables of the region. Of a full-text table this is the table itself, whatever it keeps its index in.
    public var tables: Set<DatabaseTable> { Set(columns.keys) }

    /// The columns of a table; empty if only its rows count, or if the region has the whole table; nil if it has nothing of it.
    public func columns(of table: DatabaseTable) -> Set<String>? { columns[table].map { Set($0.names.map(\.text)) } }

    /// Whether the region has all columns of a table, as if it was made by hand without any names.
    public func isWhole(_ table: DatabaseTable) -> Bool { isEverything || columns[table]?.isWhole == true }

    /// Both regions together.
    public func union(_ other: DatabaseRegion) -> DatabaseRegion {
        var result = self
        result.formUnion(other)
        return result
    }

    /// Adds another region to this one.
    public mutating func formUnion(_ other: DatabaseRegion) {
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

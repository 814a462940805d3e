import SQLCipherKitCore

/// A type whose values are the rows of a table.
///
/// A `Codable` type needs nothing more: its coding keys are the column names, and its own name, with a lowercase beginning, is the
/// table's unless you define ``tableName``.
/// ```swift
/// struct Note: SQLRecord {
///     var id: Int64?
///     var title: String
///     var stars = 0
/// }
/// var note = Note(title: "Plan")
/// try db.insert(&note)                                        // note.id is filled in
/// let best = try db.fetchAll(Note.filter { $0.stars > 3 }.order { $0.title }.limit(10))
/// ```
/// With a description, ``SQLTable`` can also create the table, knows its keys without reading the database, and can give columns
/// names other than the properties':
/// ```swift
/// extension Note {
///     static let table = SQLTable(of: Note.self) {
///         $0.id.primaryKey()
///         $0.title.unique().collate("NOCASE")
///         $0.stars.default(0).check("stars BETWEEN 0 AND 5")
///     }
/// }
/// try db.create(Note.table)
/// ```
/// Values are read and written as by ``Row/decode(_:)`` and ``Connection/insert(_:into:onConflict:in:)``.
public protocol SQLRecord: Codable, SQLSource {
    /// The table's name. Default: the type's name with its first letter or initials in lowercase: `note` for `Note`, `httpRequest`
    /// for `HTTPRequest`.
    static var tableName: String { get }

    /// The table's description. Default: the name alone; keys, defaults and generated columns are then read from the database.
    static var table: SQLTable { get }

    /// How individual columns, by name, store dates, UUIDs and decimals, if they differ from the connection's
    /// ``DatabaseConfiguration/values``. It applies whenever the record is read and written and in its queries; values in your own
    /// SQL have the connection's profile. If a name does not match a column exactly, writing a record throws. Default: empty.
    /// ```swift
    /// static let columnProfiles: [String: ValueProfile] = ["created": .sap]
    /// ```
    static var columnProfiles: [String: ValueProfile] { get }

    // What an ``SQLPositionalRecord`` answers. Default: nil, and nothing is written, as `Codable` is used.
    static var _recordColumns: SQLRecordColumns? { get }
    func _write(to columns: inout SQLColumnWriter) throws
}

extension SQLRecord {
    public static var tableName: String { "\(Self.self)".withSmallInitials }

    public static var table: SQLTable { SQLTable(tableName) }

    public static var columnProfiles: [String: ValueProfile] { [:] }

    public static var _recordColumns: SQLRecordColumns? { nil }
    public func _write(to columns: inout SQLColumnWriter) throws {}

    /// The table as queries and statements use it, with the columns of a positional record.
    static var source: SQLTable {
        guard let columns = _recordColumns else { return table }
        var table = table
        table.positions = columns.positions
        return table
    }

    public static func readSQL(from row: borrowing Row) throws -> Self {
        let profiles = columnProfiles
        return profiles.isEmpty ? try row.decode(Self.self) : try row.decode(Self.self, profiles: profiles)
    }
}

extension String {
    /// The table name for a type's name.
    fileprivate var withSmallInitials: String {
        let capitals = prefix { $0.isUppercase }.count
        // The last of several capitals begins the next word.
        let next = dropFirst(capitals).first
        let count = capitals > 1 && next?.isLowercase == true ? capitals - 1 : max(capitals, 1)
        return prefix(count).lowercased() + dropFirst(count)
    }
}

/// The value that a query reads from one of its tables: a record, or an optional record where an outer join may find none.
///
/// ``SQLRecord`` and optionals of such types conform to it.
public protocol SQLSource: Sendable {
    /// The type to read where an outer join may find no row.
    associatedtype SQLOptional = Self?

    /// Reads the record from a row of a query's result. Default: as by ``Row/decode(_:)``.
    /// - Parameter row: the row. If the query joins tables, only this table's columns can be found by name.
    /// - Throws: any error from reading the columns.
    static func readSQL(from row: borrowing Row) throws -> Self
}

extension Optional: SQLSource where Wrapped: SQLRecord {
    public typealias SQLOptional = Wrapped?

    /// Reads the record; nil if all of its columns are NULL, as when an outer join has found no row.
    @inlinable
    public static func readSQL(from row: borrowing Row) throws -> Wrapped? {
        row.isAllNull ? nil : try Wrapped.readSQL(from: row)
    }
}

import SQLCipherKitCore

/// A type whose values are the rows of a table.
///
/// A `Codable` type needs nothing more: its coding keys are the names of the columns. The name of the table is the type's name with
/// a lowercase beginning, unless you define ``tableName``.
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
/// Every call that fetches rows can read such a type (``SQLRowConvertible``), also with SQL:
/// `db.fetchAll(Note.self, "SELECT * FROM note WHERE …")`. Values are read and written by the rules of ``Row/decode(_:)`` and
/// ``Connection/insert(_:into:onConflict:in:)``.
public protocol SQLRecord: Codable, _SQLSource, ColumnCodingCustomizable {
    /// The table's name. Default: the type's name with its first letter or initials in lowercase: `note` for `Note`, `httpRequest`
    /// for `HTTPRequest`.
    static var tableName: String { get }

    /// The table's description. Default: the name alone; keys, defaults and generated columns are then read from the database.
    static var table: SQLTable { get }

    // The columns of an ``SQLPositionalRecord``, and its writing. Default: nil, and nothing is written, as `Codable` is used.
    static var _recordColumns: SQLRecordColumns? { get }
    func _write(to columns: inout SQLColumnWriter) throws
}

extension SQLRecord {
    public static var tableName: String { RecordFacts.of(Self.self).tableName }

    public static var table: SQLTable { SQLTable(tableName) }

    public static var _recordColumns: SQLRecordColumns? { nil }
    public func _write(to columns: inout SQLColumnWriter) throws {}

    /// The table as queries and statements use it, with the columns of a positional record.
    static var source: SQLTable {
        var table = table
        table.record = Self.self
        if let columns = _recordColumns {
            table.positions = columns.positions
        } else if table.columns.isEmpty {
            table.plain = RecordFacts.of(Self.self).columns(ofTable: table.name)
        }
        return table
    }

    /// Reads the record by its coding keys, by the rules of ``Row/decode(_:)``, with ``columnProfiles``.
    /// - Throws: the errors of ``Row/decode(_:)``.
    public init(row: borrowing Row) throws { self = try row.decode(Self.self) }
}

extension String {
    /// The table name for a type's name.
    var withSmallInitials: String {
        let capitals = prefix { $0.isUppercase }.count
        // The last of several capitals begins the next word.
        let next = dropFirst(capitals).first
        let count = capitals > 1 && next?.isLowercase == true ? capitals - 1 : max(capitals, 1)
        return prefix(count).lowercased() + dropFirst(count)
    }
}

/// The value that a query reads from a table: a record, or an optional record where an outer join may find none.
///
/// ``SQLRecord`` types and optionals of them conform to it; you need not conform your own types.
public protocol _SQLSource: SQLRowConvertible, Sendable {
    /// The type to read where an outer join may find no row.
    associatedtype _SQLOptional = Self?
}

extension Optional: _SQLSource where Wrapped: SQLRecord {
    public typealias _SQLOptional = Wrapped?
}

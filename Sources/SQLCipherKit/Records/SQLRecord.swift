/// A type whose values are the rows of a table.
///
/// A `Codable` type needs nothing more: its coding keys are the columns' names, and its name, with a small beginning, is the
/// table's unless ``tableName`` says another one.
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
/// With a description beside the type, ``SQLTable`` makes the table as well, knows its keys without asking the database, and
/// gives properties columns of another name:
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
/// Values are read and written as ``Row/decode(_:)`` and ``Connection/insert(_:into:onConflict:in:)`` do it.
public protocol SQLRecord: Codable, SQLSource {
    /// The table's name. Default: the type's own, with a small first letter, or small initials: `note` for `Note`, `httpRequest`
    /// for `HTTPRequest`.
    static var tableName: String { get }

    /// The table's description. Default: the name alone; keys, defaults and generated columns are then read from the database.
    static var table: SQLTable { get }

    /// How single columns store dates, UUIDs and decimals, by their names, where they do not follow the connection's
    /// ``DatabaseConfiguration/values``. It applies wherever the record is written and in its queries; SQL of your own binds by
    /// the connection's profile. A name that is no column's, in its spelling, is an error when a record is written. Default: none.
    /// ```swift
    /// static let columnProfiles: [String: ValueProfile] = ["created": .sap]
    /// ```
    static var columnProfiles: [String: ValueProfile] { get }
}

extension SQLRecord {
    public static var tableName: String { "\(Self.self)".withSmallInitials }

    public static var table: SQLTable { SQLTable(tableName) }

    public static var columnProfiles: [String: ValueProfile] { [:] }

    @inlinable
    public static func readSQL(from row: borrowing Row) throws -> Self { try row.decode(Self.self) }
}

extension String {
    /// A type's name as a table's.
    fileprivate var withSmallInitials: String {
        let capitals = prefix { $0.isUppercase }.count
        // The last capital of several begins the next word.
        let next = dropFirst(capitals).first
        let count = capitals > 1 && next?.isLowercase == true ? capitals - 1 : max(capitals, 1)
        return prefix(count).lowercased() + dropFirst(count)
    }
}

/// What a query reads from one of its tables: a record, or an optional record where an outer join may have none.
///
/// ``SQLRecord`` and optionals of such types conform to it.
public protocol SQLSource: Sendable {
    /// The same, where an outer join may have no row of it.
    associatedtype SQLOptional = Self?

    /// The record in a row of a query's result. Default: as ``Row/decode(_:)`` reads it.
    /// - Parameter row: the row; where the query joins tables, only the columns of this one are found by name.
    /// - Throws: what reading the columns throws.
    static func readSQL(from row: borrowing Row) throws -> Self
}

extension Optional: SQLSource where Wrapped: SQLRecord {
    public typealias SQLOptional = Wrapped?

    /// The record; nil if all of its columns are NULL, as where an outer join has found no row.
    @inlinable
    public static func readSQL(from row: borrowing Row) throws -> Wrapped? {
        row.isAllNull ? nil : try Wrapped.readSQL(from: row)
    }
}

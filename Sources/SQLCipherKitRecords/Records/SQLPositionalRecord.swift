import SQLCipherKitCore

/// A record that reads and writes its columns by position, without `Codable`. The macro `@Record` generates the conformance.
///
/// Without the macro, a type lists its columns once, in order, and reads and writes them in that order. Everything that takes an
/// ``SQLRecord`` then uses these two methods: inserting, updating, fetching by a key, queries and joins. They take about half the
/// time of `Codable`.
/// ```swift
/// struct Album: SQLPositionalRecord {
///     var id: Int64?
///     var title: String
///     var tags: [String]
///
///     static let recordColumns = SQLRecordColumns(of: Album.self, ["id": \.id, "title": \.title, "tag_list": \.tags])
///
///     init(columns: inout SQLColumnReader) throws {
///         id = try columns.next()
///         title = try columns.next()
///         tags = try columns.next()
///     }
///
///     func write(to columns: inout SQLColumnWriter) throws {
///         try columns.put(id)
///         try columns.put(title)
///         try columns.put(tags)
///     }
/// }
/// ```
/// The stored rows are the same as the rows of a `Codable` record with the same column names. A property of a
/// ``SQLValueConvertible`` type is stored as that type defines. Any other property is stored as the single value that it encodes,
/// or as JSON. A ``ColumnDefault`` takes its column's default until it is set. A description in ``SQLRecord/table`` uses the names
/// of ``recordColumns`` and needs no ``SQLColumn/named(_:)``.
///
/// Rows of your own SQL may have the columns in any order, and further columns. An optional property without a column is nil.
public protocol SQLPositionalRecord: SQLRecord {
    /// The columns, in the order in which ``init(columns:)`` reads and ``write(to:)`` writes them. Keep the value in a
    /// `static let`, because it is read often.
    static var recordColumns: SQLRecordColumns { get }

    /// Reads the record from its columns: call `next()` once for each column, in order.
    /// - Throws: any error that reading a column throws.
    init(columns: inout SQLColumnReader) throws

    /// Writes the record to its columns: call `put` once for each column, in order. Include generated columns, which are not
    /// stored.
    /// - Throws: any error that writing a column throws.
    func write(to columns: inout SQLColumnWriter) throws
}

extension SQLPositionalRecord {
    public static var _recordColumns: SQLRecordColumns? { recordColumns }

    public func _write(to columns: inout SQLColumnWriter) throws { try write(to: &columns) }

    /// Reads the record from the columns with its names.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, or any error that reading a column throws.
    @inlinable
    public init(row: borrowing Row) throws {
        var columns = SQLColumnReader(row, Self.self)
        self = try Self(columns: &columns)
        if !columns.isAtEnd { throw columns.misuse(Self.self) }
    }
}

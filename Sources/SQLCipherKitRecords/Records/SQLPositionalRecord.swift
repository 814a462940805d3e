import SQLCipherKitCore

/// A record that reads and writes its columns by position, without `Codable`. The macro `@Record` generates the conformance.
///
/// Without the macro, a type says its columns once, in order, and reads and writes them in that order. Everything that takes an
/// ``SQLRecord`` then uses these two methods: inserting, updating, fetching by a key, queries and joins. That takes about half of
/// the time of `Codable`.
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
/// Its rows are the same as those of a `Codable` record with these names: a property of a type that is ``SQLValueConvertible`` is
/// stored as that, any other as JSON or as the single value that it codes, and a ``ColumnDefault`` takes its column's default until
/// it is set. A description in ``SQLRecord/table`` uses the names of ``recordColumns`` and needs no ``SQLColumn/named(_:)``.
///
/// Rows of your own SQL may have the columns in any order, and others beside them. An optional property without a column is nil.
public protocol SQLPositionalRecord: SQLRecord {
    /// The columns, in the order in which ``init(columns:)`` reads and ``write(to:)`` writes them. Keep it in a `static let`: it is
    /// asked for often.
    static var recordColumns: SQLRecordColumns { get }

    /// Reads the record from its columns: one call of `next()` for each, in order.
    /// - Throws: any error that reading a column throws.
    init(columns: inout SQLColumnReader) throws

    /// Writes the record to its columns: one call of `put` for each, in order, generated ones included, which are not stored.
    /// - Throws: any error that writing a column throws.
    func write(to columns: inout SQLColumnWriter) throws
}

extension SQLPositionalRecord {
    public static var _recordColumns: SQLRecordColumns? { recordColumns }

    public func _write(to columns: inout SQLColumnWriter) throws { try write(to: &columns) }

    /// Reads the record from the columns of its names.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, or any error that reading a column throws.
    @inlinable
    public init(row: borrowing Row) throws {
        var columns = SQLColumnReader(row, Self.self)
        self = try Self(columns: &columns)
        if !columns.isAtEnd { throw columns.misuse(Self.self) }
    }
}

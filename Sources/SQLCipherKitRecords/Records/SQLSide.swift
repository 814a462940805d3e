import SQLCipherKitCore

/// The columns of a result that belong to one of its tables.
struct SQLSide {
    private let names: ColumnNames

    /// The name of the column that separates two tables' columns.
    static let separator = "sqlcipherkit_next"

    /// The sides of a result, in order, as divided by the separators.
    static func all(_ row: borrowing Row, _ count: Int) throws(DatabaseError) -> [SQLSide] {
        var sides: [SQLSide] = []
        var start = 0
        let names = row.columnNames
        for index in 0...names.count where index == names.count || names[index] == separator {
            sides.append(SQLSide(row, start..<index))
            start = index + 1
        }
        guard sides.count == count else { throw .misuse("a column is named \(separator), which is reserved for joins") }
        return sides
    }

    /// All sides except the last, as one side, and the last side.
    static func divided(_ row: borrowing Row) throws(DatabaseError) -> (first: SQLSide, last: SQLSide) {
        let names = row.columnNames
        let end = names.lastIndex(of: separator) ?? 0
        return (SQLSide(row, 0..<end), SQLSide(row, end + 1..<names.count))
    }

    var range: Range<Int> { names.range }

    private init(_ row: borrowing Row, _ columns: Range<Int>) {
        names = ColumnNames(row.handle, only: columns)
    }

    /// Reads a record from the columns of this side.
    func read<T: SQLRow>(_ row: borrowing Row, as type: T.Type) throws -> T { try withRow(row) { try T(row: $0) } }

    /// Lends the row with only the columns of this side.
    func withRow<R>(_ row: borrowing Row, _ body: (borrowing Row) throws -> R) rethrows -> R {
        try body(Row(row.handle, Unmanaged.passUnretained(names)))
    }
}

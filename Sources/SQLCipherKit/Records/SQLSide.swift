import CSQLCipher

/// The columns of a result that belong to one of its tables.
public struct SQLSide {
    @usableFromInline let names: ColumnNames
    private let columns: Range<Int32>

    /// The name of the column that stands between two tables' columns.
    static let separator = "sqlcipherkit_next"

    /// The sides of a result, in order; a separator stands between each two.
    static func all(_ row: borrowing Row, _ count: Int) throws(DatabaseError) -> [SQLSide] {
        var sides: [SQLSide] = []
        var start = 0
        let names = row.columnNames
        for index in 0...names.count where index == names.count || names[index] == separator {
            sides.append(SQLSide(row, start..<index))
            start = index + 1
        }
        guard sides.count == count else { throw .misuse("a column is named \(separator), which is kept for joins") }
        return sides
    }

    private init(_ row: borrowing Row, _ columns: Range<Int>) {
        names = ColumnNames(row.handle, only: columns)
        self.columns = Int32(columns.lowerBound)..<Int32(columns.upperBound)
    }

    @inlinable
    func decode<T: Decodable>(_ type: T.Type, _ row: borrowing Row) throws -> T {
        try Row(row.handle, Unmanaged.passUnretained(names)).decode(type)
    }

    /// Whether all columns are NULL, as where an outer join has found no row.
    @usableFromInline
    func isAbsent(_ row: borrowing Row) -> Bool {
        for column in columns where sqlite3_column_type(row.handle, column) != SQLITE_NULL { return false }
        return true
    }
}

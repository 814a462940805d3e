import CSQLCipher
import SQLCipherKitCore

/// Writes the rows of a table as INSERT statements. A statement has many rows, each on a line of its own: that is shorter, and runs
/// several times as fast, as one for each row.
struct InsertStatements {
    /// SQLite before 3.8.8 takes 500 rows.
    private static let rowLimit = 100
    private static let byteLimit = 1 << 16
    /// A result or a list of values has at most as many columns as a table (<https://sqlite.org/limits.html#max_column>).
    private static let columnLimit = 2000

    private let start: [UInt8]
    private let table: String
    /// Whether the row id comes first, and leaves no room for the last column: it is then set after the row is inserted.
    private let setsRowID: Bool
    private let rowID: String
    private var sql: [UInt8] = []
    private var rows = 0

    /// - Parameters:
    ///   - table: the table, quoted.
    ///   - list: the columns, quoted.
    init(into table: String, _ list: [String]) {
        (self.table, rowID) = (table, list.first ?? "")
        setsRowID = list.count > Self.columnLimit
        let names = (setsRowID ? list.dropFirst() : list[...]).joined(separator: ", ")
        start = Array("INSERT INTO \(table)(\(names)) VALUES ".utf8)
    }

    mutating func add(_ row: RawStatement, _ write: ([UInt8]) throws -> Void) throws {
        if rows == 0 {
            sql += start
        } else {
            sql += ",\n".utf8
        }
        sql.append(UInt8(ascii: "("))
        if setsRowID {
            for column in 1..<row.columns {
                if column > 1 { sql += ", ".utf8 }
                try SQLLiterals.append(row.handle, column, to: &sql)
            }
        } else {
            try SQLLiterals.append(row, to: &sql)
        }
        sql.append(UInt8(ascii: ")"))
        rows += 1
        guard setsRowID || rows == Self.rowLimit || sql.count >= Self.byteLimit else { return }
        try finish(write)
        guard setsRowID else { return }
        // Rows come in the order of their ids, so the new id is not greater than the right one, which no row has yet.
        let value = sqlite3_column_int64(row.handle, 0)
        try write(Array("UPDATE \(table) SET \(rowID) = \(value) WHERE \(rowID) = last_insert_rowid()".utf8))
    }

    mutating func finish(_ write: ([UInt8]) throws -> Void) throws {
        guard rows > 0 else { return }
        try write(sql)
        sql.removeAll(keepingCapacity: true)
        rows = 0
    }
}

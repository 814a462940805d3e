import SQLCipherKit

/// The values of each row as SQL writes them, with a text before and after them: a statement INSERT, for instance.
final class LiteralWriter: RowWriter {
    private let start: [UInt8]
    private let end: [UInt8]
    private let output = Output.current

    /// Writes an INSERT statement for each row.
    init(_ columns: [String], insertingInto table: String) {
        let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
        start = Array("INSERT INTO \(table.quotedSQLIdentifier)(\(names)) VALUES (".utf8)
        end = Array(");\n".utf8)
    }

    /// Writes the values alone.
    init() { (start, end) = ([], [0x0a]) }

    func write(_ row: RowValues) throws {
        try output.bytes { sql in
            sql += start
            try row.appendLiterals(to: &sql)
            sql += end
        }
    }

    func finish() {}
}

import SQLCipherKit

/// An INSERT statement for each row.
final class InsertWriter: RowWriter {
    private let start: [UInt8]
    private let output = Output.current

    init(_ columns: [String], table: String) {
        let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
        start = Array("INSERT INTO \(table.quotedSQLIdentifier)(\(names)) VALUES (".utf8)
    }

    func write(_ row: [SQLValue]) {
        output.bytes { sql in
            sql += start
            QuoteWriter.append(row, to: &sql)
            sql += ");\n".utf8
        }
    }

    func write(_ row: borrowing Row) throws {
        let (handle, count) = (row.handle, Int32(row.count))
        try output.bytes { sql in
            sql += start
            try QuoteWriter.append(handle, count, to: &sql)
            sql += ");\n".utf8
        }
    }

    func finish() {}
}

/// The values of each row as SQL writes them, with commas between them.
final class QuoteWriter: RowWriter {
    private let output = Output.current

    init(_ columns: [String], hasHeader: Bool) { if hasHeader { write(columns.map { .text($0) }) } }

    func write(_ row: [SQLValue]) {
        output.bytes { sql in
            Self.append(row, to: &sql)
            sql.append(0x0a)
        }
    }

    func write(_ row: borrowing Row) throws {
        let (handle, count) = (row.handle, Int32(row.count))
        try output.bytes { sql in
            try Self.append(handle, count, to: &sql)
            sql.append(0x0a)
        }
    }

    func finish() {}

    static func append(_ row: [SQLValue], to sql: inout [UInt8]) {
        for (index, value) in row.enumerated() {
            if index > 0 { sql += ", ".utf8 }
            SQLLiterals.append(value, to: &sql)
        }
    }

    static func append(_ row: OpaquePointer, _ count: Int32, to sql: inout [UInt8]) throws {
        for index in 0..<count {
            if index > 0 { sql += ", ".utf8 }
            try SQLLiterals.append(row, index, to: &sql)
        }
    }
}

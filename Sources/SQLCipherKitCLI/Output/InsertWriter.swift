import Foundation
import SQLCipherKit

/// An INSERT statement for each row.
final class InsertWriter: RowWriter {
    private let start: String

    init(_ columns: [String], table: String) {
        start = "INSERT INTO \(table.quotedSQLIdentifier)(\(columns.map(\.quotedSQLIdentifier).joined(separator: ", "))) VALUES ("
    }

    func write(_ row: [SQLValue]) { Output.line(start + row.map(\.sqlText).joined(separator: ", ") + ");") }

    func finish() {}
}

extension SQLValue {
    /// The value as SQL writes it.
    var sqlText: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : "\(value)"
        case .blob(let value): value.sqlLiteral
        // A literal ends at a NUL character.
        case .text(let value): value.utf8.contains(0) ? "CAST(\(Data(value.utf8).sqlLiteral) AS TEXT)" : value.sqlText
        }
    }

    /// The value for people: JSONB as JSON text, and other blobs as SQL writes them.
    var readableText: String {
        guard case .blob(let bytes) = self, let first = bytes.first, first & 15 == 11 || first & 15 == 12,
            let value = try? JSONValue(jsonb: bytes), let text = try? value.text()
        else { return plainText }
        return text
    }
}

extension String {
    /// The text as SQL writes it.
    var sqlText: String { "'" + replacingOccurrences(of: "'", with: "''") + "'" }
}

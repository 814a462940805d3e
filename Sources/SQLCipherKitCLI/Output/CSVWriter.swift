import Foundation
import SQLCipherKit

/// Comma-separated values with a header (RFC 4180, with the line ends of the system). NULL is an empty field, and empty
/// text one in quotes.
final class CSVWriter: RowWriter {
    init(_ columns: [String]) { Output.line(columns.map(Self.field).joined(separator: ",")) }

    func write(_ row: [SQLValue]) {
        Output.line(row.map { $0.isNull ? "" : Self.field($0.plainText) }.joined(separator: ","))
    }

    func finish() {}

    private static func field(_ text: String) -> String {
        let needsQuotes = text.isEmpty || text.utf8.contains { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }
        return needsQuotes ? "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\"" : text
    }
}

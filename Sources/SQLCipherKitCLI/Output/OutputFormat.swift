import ArgumentParser
import Foundation
import SQLCipherKit

/// How a result is written.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table, lines, json, jsonl, csv

    /// The writer for a result with these columns.
    func writer(_ columns: [String]) -> any RowWriter {
        switch self {
        case .table: TableWriter(columns)
        case .lines: LinesWriter(columns)
        case .json: JSONWriter(columns)
        case .jsonl: JSONLinesWriter(columns)
        case .csv: CSVWriter(columns)
        }
    }
}

/// The option of commands that show rows.
struct OutputOptions: ParsableArguments {
    @Option(
        help: """
            table, lines (a line for each value), json (an array of objects), jsonl (an object in each line) or csv (with a header).
            """)
    var format: OutputFormat?

    /// Writes rows that are at hand.
    func write(_ columns: [String], _ rows: [[SQLValue]], default format: OutputFormat = .table) throws {
        let writer = (self.format ?? format).writer(columns)
        for row in rows { try writer.write(row) }
        writer.finish()
    }
}

/// Writes a result's rows to standard output, one after the other.
protocol RowWriter: AnyObject {
    func write(_ row: [SQLValue]) throws
    func finish()
}

/// A row as a JSON object.
private struct ObjectText {
    private let names: [String]

    init(_ columns: [String]) {
        // An object with two members of one name would lose a value in most readers.
        var seen: [String: Int] = [:]
        names = columns.map { name in
            seen[name, default: 0] += 1
            return seen[name] == 1 ? name : "\(name):\(seen[name] ?? 0)"
        }
    }

    func line(_ row: [SQLValue]) throws -> String {
        let members = zip(names, row).map { (name: $0, value: JSONValue(shown: $1)) }
        return try JSONValue.object(JSONObject(members: members)).line()
    }
}

/// An object per row, a line each.
private final class JSONLinesWriter: RowWriter {
    private let object: ObjectText

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [SQLValue]) throws { Output.line(try object.line(row)) }

    func finish() {}
}

/// A line for each value, with the column's name before it, and an empty one between rows.
private final class LinesWriter: RowWriter {
    private let labels: [String]
    private let style = Terminal.style
    private var isFirst = true

    init(_ columns: [String]) {
        let shown = columns.map(\.onOneLine)
        let width = shown.map(\.columns).max() ?? 0
        labels = shown.map { $0.padded(toColumns: width) }
    }

    func write(_ row: [SQLValue]) {
        if !isFirst { Output.line() }
        isFirst = false
        for (label, value) in zip(labels, row) { Output.line(style.dim(label) + "  " + value.plainText.onOneLine) }
    }

    func finish() {}
}

/// A JSON array with an object per row, a line each.
private final class JSONWriter: RowWriter {
    private let object: ObjectText
    // A row is written when the next one comes, as only the last has no comma behind it.
    private var pending: String?

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [SQLValue]) throws {
        let object = try object.line(row)
        if let pending { Output.line(pending + ",") }
        pending = (pending == nil ? "[" : " ") + object
    }

    func finish() { Output.line((pending ?? "[") + "]") }
}

/// Comma-separated values with a header (RFC 4180, with the line ends of the system). NULL is an empty field, and empty
/// text one in quotes.
private final class CSVWriter: RowWriter {
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

extension SQLValue {
    /// The value without quotes; a blob as SQL writes it.
    var plainText: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): value
        case .blob(let value): value.sqlLiteral
        }
    }
}

extension Data {
    /// The bytes as SQL writes a blob, such as `x'00ff'`.
    var sqlLiteral: String {
        let digits = Array("0123456789abcdef".utf8)
        var text = [UInt8(ascii: "x"), UInt8(ascii: "'")]
        text.reserveCapacity(count * 2 + 3)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        text.append(UInt8(ascii: "'"))
        return String(decoding: text, as: UTF8.self)
    }
}

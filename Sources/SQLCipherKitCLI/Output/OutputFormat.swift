import ArgumentParser
import Foundation
import SQLCipherKit

/// The format in which a result is written.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table, markdown, lines, list, json, jsonl, csv, tsv, insert, quote

    /// A format by its name, or by that of SQLite's shell.
    init?(argument name: String) {
        self.init(rawValue: ["box": "table", "column": "table", "line": "lines", "tabs": "tsv"][name] ?? name)
    }

    /// The writer for the rows of a statement. `table` shows a query plan as a tree.
    func writer(of sql: String, _ columns: [String], layout: Layout = Layout()) throws -> any RowWriter {
        self == .table && PlanWriter.isFor(sql, columns) ? PlanWriter() : try writer(columns, layout: layout)
    }

    /// The writer for a result with these columns.
    func writer(_ columns: [String], layout: Layout = Layout()) throws -> any RowWriter {
        let writer: any RowWriter = switch self {
        case .table: TableWriter(columns, layout: layout)
        case .markdown: TableWriter(columns, isMarkdown: true, layout: layout)
        case .lines: LinesWriter(columns, layout: layout)
        case .list: ListWriter(layout: layout)
        case .json: JSONWriter(columns)
        case .jsonl: JSONLinesWriter(columns)
        case .csv: CSVWriter(layout: layout)
        case .tsv: CSVWriter(delimiter: "\t", layout: layout)
        case .insert: LiteralWriter(columns, insertingInto: layout.table)
        case .quote: LiteralWriter()
        }
        if layout.hasHeader, [.list, .csv, .tsv, .quote].contains(self) { try writer.write(columns.map { .text($0) }) }
        return writer
    }
}

/// The user's choices about a format in the shell.
struct Layout {
    /// True if the column names come first, in formats that put them on their own line.
    var hasHeader = true
    /// The table that `insert` names.
    var table = "result"
    /// The text for NULL; nil for the format's own.
    var null: String?
    /// The text between values and after a row, in `list`, `csv` and `tsv`; nil for the format's own.
    var separator: String?
    var rowSeparator: String?
}

/// The options of commands that show rows, where `--json` has no other meaning.
struct OutputOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        help: ArgumentHelp(
            """
            The format: table, markdown, lines (a line for each value), list, json (an array of objects), jsonl (an object \
            on each line), csv, tsv (both with a header), and insert or quote (SQL).
            """, valueName: "format"))
    private var named: OutputFormat?

    @Flag(help: JSONForm.help)
    var json = false

    var format: OutputFormat? { named ?? (json ? .json : nil) }

    /// Writes rows that are at hand.
    func write(_ columns: [String], _ rows: [[SQLValue]], default format: OutputFormat = .table) throws {
        let writer = try (self.format ?? format).writer(columns)
        for row in rows { try writer.write(row) }
        writer.finish()
    }
}

/// Comma-separated values with a header (RFC 4180, with the line ends of the system). NULL is an empty field, and empty text is an
/// empty field in quotes. A text that looks like a number is in quotes, so that `import` reads a text again.
final class CSVWriter: RowWriter {
    private let delimiter: [UInt8]
    private let lineEnd: [UInt8]
    private let null: [UInt8]
    private let output = Output.current

    init(delimiter: String = ",", layout: Layout = Layout()) {
        self.delimiter = Array((layout.separator ?? delimiter).utf8)
        lineEnd = Array((layout.rowSeparator ?? "\n").utf8)
        null = Array((layout.null ?? "").utf8)
    }

    func write(_ row: RowValues) throws {
        try output.bytes { bytes in
            for index in 0..<row.count {
                if index > 0 { bytes.append(short: delimiter) }
                try row.lend(index) { value in
                    switch value {
                    case .null: bytes += null
                    case .integer(let value): SQLLiterals.append(value, to: &bytes)
                    // Conversions of text to numbers, SQLite's among them, understand `9e999`, and not `inf`.
                    case .real(let value): SQLLiterals.append(shortest: value, to: &bytes)
                    case .text(let text) where text.isUTF8: add(text, to: &bytes)
                    case .text(let blob), .blob(let blob): SQLLiterals.append(blob: blob, to: &bytes)
                    }
                }
            }
            bytes.append(short: lineEnd)
        }
    }

    func finish() {}

    private func add(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        var needsQuotes = text.isEmpty
        // Most texts are printable ASCII.
        let special = text.firstUnprintable(or: 0x22, delimiter.first ?? 0x22)
        for byte in text[special...] where byte == delimiter.first || byte == 0x22 || byte == 0x0a || byte == 0x0d {
            needsQuotes = true
        }
        if !needsQuotes, let first = text.first, first == 0x2d || (0x30...0x39).contains(first) {
            needsQuotes = ValueForms.of(field: text) != .text
        }
        if !needsQuotes, !null.isEmpty { needsQuotes = text.elementsEqual(null) }
        guard needsQuotes else {
            output += text
            return
        }
        output.append(0x22)
        for byte in text {
            if byte == 0x22 { output.append(0x22) }
            output.append(byte)
        }
        output.append(0x22)
    }
}

extension [UInt8] {
    /// Appends bytes that are mostly a single one.
    @inline(__always)
    fileprivate mutating func append(short bytes: [UInt8]) { if bytes.count == 1 { append(bytes[0]) } else { self += bytes } }
}

/// A line for each value, with the column's name before it, and an empty line between rows.
final class LinesWriter: RowWriter {
    private let labels: [String]
    private let null: String
    private let style = Terminal.style
    private var isFirst = true

    init(_ columns: [String], layout: Layout = Layout()) {
        let shown = columns.map(\.onOneLine)
        let width = shown.map(\.columns).max() ?? 0
        labels = shown.map { $0.padded(toColumns: width) }
        null = layout.null ?? "NULL"
    }

    func write(_ row: RowValues) throws {
        if !isFirst { Output.line() }
        isFirst = false
        for (label, value) in try zip(labels, row.values()) {
            Output.line(style.dim(label) + "  " + (value.isNull ? null : value.readableText).onOneLine)
        }
    }

    func finish() {}
}

/// The values of each row, with a separator between them and nothing around them, as SQLite's shell writes them by default.
final class ListWriter: RowWriter {
    private let separator: String
    private let rowSeparator: String
    private let null: String
    private let output = Output.current

    init(layout: Layout) {
        separator = layout.separator ?? "|"
        rowSeparator = layout.rowSeparator ?? "\n"
        null = layout.null ?? ""
    }

    func write(_ row: RowValues) throws {
        let values = try row.values()
        output.bytes { bytes in
            for (index, value) in values.enumerated() {
                if index > 0 { bytes += separator.utf8 }
                bytes += (value.isNull ? null : value.plainText).utf8
            }
            bytes += rowSeparator.utf8
        }
    }

    func finish() {}
}

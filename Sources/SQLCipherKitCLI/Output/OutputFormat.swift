import ArgumentParser
import Foundation
import SQLCipherKit

/// How a result is written.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table, box, markdown, lines, list, json, jsonl, csv, tsv, insert, quote, html

    /// A format by its name, or by that of SQLite's shell.
    init?(argument name: String) { self.init(rawValue: ["column": "table", "line": "lines", "tabs": "tsv"][name] ?? name) }

    /// The writer for the rows of a statement. `table` and `box` show a query plan as a tree.
    func writer(of sql: String, _ columns: [String], layout: Layout = Layout()) -> any RowWriter {
        let isForPeople = [.table, .box].contains(self)
        return isForPeople && PlanWriter.isFor(sql, columns) ? PlanWriter() : writer(columns, layout: layout)
    }

    /// The writer for a result with these columns.
    func writer(_ columns: [String], layout: Layout = Layout()) -> any RowWriter {
        switch self {
        case .table: TableWriter(columns, layout: layout)
        case .box: TableWriter(columns, shape: .box, layout: layout)
        case .markdown: TableWriter(columns, shape: .markdown, layout: layout)
        case .lines: LinesWriter(columns, layout: layout)
        case .list: ListWriter(columns, layout: layout)
        case .json: JSONWriter(columns)
        case .jsonl: JSONLinesWriter(columns)
        case .csv: CSVWriter(columns, layout: layout)
        case .tsv: CSVWriter(columns, delimiter: "\t", layout: layout)
        case .insert: InsertWriter(columns, table: layout.table)
        case .quote: QuoteWriter(columns, hasHeader: layout.hasHeader)
        case .html: HTMLWriter(columns, layout: layout)
        }
    }
}

/// What the shell lets the user choose about a format.
struct Layout {
    /// Whether the column names come first, in formats that put them on their own line.
    var hasHeader = true
    /// The table that `insert` names.
    var table = "result"
    /// What stands for NULL; nil for the format's own.
    var null: String?
    /// What stands between values and after a row, in `list`, `csv` and `tsv`; nil for the format's own.
    var separator: String?
    var rowSeparator: String?
    /// The widths of columns in `table` and `box`, in characters: negative aligns to the right, 0 and what is missing is automatic.
    var widths: [Int] = []
}

/// The options of commands that show rows, where `--json` has no other meaning.
struct OutputOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        help: ArgumentHelp(
            """
            The format: table, box, markdown, lines (a line for each value), list, json (an array of objects), jsonl (an object \
            on each line), csv, tsv (both with a header), insert or quote (SQL), or html.
            """, valueName: "format"))
    private var named: OutputFormat?

    @Flag(help: JSONForm.help)
    var json = false

    var format: OutputFormat? { named ?? (json ? .json : nil) }

    /// Writes rows that are at hand.
    func write(_ columns: [String], _ rows: [[SQLValue]], default format: OutputFormat = .table) throws {
        let writer = (self.format ?? format).writer(columns)
        for row in rows { try writer.write(row) }
        writer.finish()
    }
}

/// Writes a result's rows to the output, one after the other.
protocol RowWriter: AnyObject {
    func write(_ row: [SQLValue]) throws
    /// Writes a row of a statement that is running.
    func write(_ row: borrowing Row) throws
    func finish()
}

extension RowWriter {
    func write(_ row: borrowing Row) throws { try write(row.shownValues()) }
}

import ArgumentParser
import Foundation
import SQLCipherKit

/// How a result is written.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table, box, markdown, lines, json, jsonl, csv, tsv, insert

    /// The writer for the rows of a statement. `table` and `box` show a query plan as a tree.
    func writer(of sql: String, _ columns: [String], hasHeader: Bool = true, table: String = "result") -> any RowWriter {
        let isForPeople = [.table, .box].contains(self)
        return isForPeople && PlanWriter.isFor(sql, columns) ? PlanWriter() : writer(columns, hasHeader: hasHeader, table: table)
    }

    /// The writer for a result with these columns.
    /// - Parameters:
    ///   - hasHeader: whether the column names come first, in formats that put them on their own line.
    ///   - table: the table that `insert` names.
    func writer(_ columns: [String], hasHeader: Bool = true, table: String = "result") -> any RowWriter {
        switch self {
        case .table: TableWriter(columns, hasHeader: hasHeader)
        case .box: TableWriter(columns, shape: .box, hasHeader: hasHeader)
        case .markdown: TableWriter(columns, shape: .markdown)
        case .lines: LinesWriter(columns)
        case .json: JSONWriter(columns)
        case .jsonl: JSONLinesWriter(columns)
        case .csv: CSVWriter(columns, hasHeader: hasHeader)
        case .tsv: CSVWriter(columns, delimiter: 0x09, hasHeader: hasHeader)
        case .insert: InsertWriter(columns, table: table)
        }
    }
}

/// The options of commands that show rows, where `--json` has no other meaning.
struct OutputOptions: ParsableArguments {
    @Option(
        name: .customLong("format"),
        help: ArgumentHelp(
            """
            The format: table, box, markdown, lines (a line for each value), json (an array of objects), jsonl (an object on each \
            line), csv, tsv (both with a header) or insert (SQL).
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

/// Writes a result's rows to standard output, one after the other.
protocol RowWriter: AnyObject {
    func write(_ row: [SQLValue]) throws
    /// Writes a row of a statement that is running.
    func write(_ row: borrowing Row) throws
    func finish()
}

extension RowWriter {
    func write(_ row: borrowing Row) throws { try write(row.shownValues()) }
}

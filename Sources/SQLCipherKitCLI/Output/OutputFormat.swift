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

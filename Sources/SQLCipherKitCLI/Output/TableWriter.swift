import Foundation
import SQLCipherKit

/// Rows in columns of equal width. The widths come from the first thousand rows; those after them may stick out.
final class TableWriter: RowWriter {
    private let columns: [String]
    private var waiting: [[SQLValue]] = []
    private var widths: [Int]?
    /// Columns of numbers stand at the right.
    private var isRight: [Bool] = []
    private let style = Terminal.style
    /// On a terminal no cell is wider than this; in a file nothing is cut.
    private let limit = Terminal.isTerminal(STDOUT_FILENO) ? 60 : Int.max
    private let indentation: String

    init(_ columns: [String], indentation: String = "") {
        self.columns = columns
        self.indentation = indentation
    }

    func write(_ row: [SQLValue]) {
        if let widths {
            line(row, widths)
        } else {
            waiting.append(row)
            if waiting.count == 1000 { writeWaiting() }
        }
    }

    func finish() { if widths == nil { writeWaiting() } }

    private func writeWaiting() {
        var widths = columns.map { cell($0).columns }
        for row in waiting {
            for (index, value) in row.enumerated() { widths[index] = max(widths[index], cell(value.plainText).columns) }
        }
        isRight = columns.indices.map { index in
            let values = waiting.map { $0[index] }.filter { !$0.isNull }
            return !values.isEmpty && values.allSatisfy(\.isNumber)
        }
        self.widths = widths
        let header = columns.indices.map { style.bold(filled(cell(columns[$0]), $0, widths[$0])) }
        Output.line(indentation + header.joined(separator: "  "))
        Output.line(indentation + style.dim(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")))
        for row in waiting { line(row, widths) }
        waiting = []
    }

    private func line(_ row: [SQLValue], _ widths: [Int]) {
        let cells = zip(row, widths).enumerated().map { index, column in
            let text = filled(cell(column.0.plainText), index, column.1)
            return column.0.isNull ? style.dim(text) : text
        }
        Output.line(indentation + cells.joined(separator: "  "))
    }

    /// A cell's text with the blanks that bring the next column to its place.
    private func filled(_ text: String, _ index: Int, _ width: Int) -> String {
        let isLast = index == columns.count - 1
        return isLast && !isRight[index] ? text : text.padded(toColumns: width, alignedRight: isRight[index])
    }

    private func cell(_ text: String) -> String {
        // Long texts are not looked at beyond what can be shown.
        let start = limit == Int.max ? text : String(text.prefix(limit + 1))
        return start.onOneLine.cut(toColumns: limit)
    }
}

extension SQLValue {
    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .real: true
        default: false
        }
    }
}

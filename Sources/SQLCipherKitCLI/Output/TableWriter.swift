import Foundation
import SQLCipherKit

/// Rows in aligned columns. The first thousand rows decide the widths; later values may be wider.
final class TableWriter: RowWriter {
    /// What is drawn between the cells.
    enum Shape { case plain, box, markdown }

    private let columns: [String]
    private var waiting: [[SQLValue]] = []
    private var widths: [Int]?
    /// Columns of numbers are aligned to the right.
    private var isRight: [Bool] = []
    private let style = Terminal.style
    /// The widest cell on a terminal, in columns; in a file nothing is cut.
    private let limit = Invocation.current.output.isTerminal ? 60 : Int.max
    private let indentation: String
    private let shape: Shape
    private let hasHeader: Bool

    init(_ columns: [String], indentation: String = "", shape: Shape = .plain, hasHeader: Bool = true) {
        (self.columns, self.indentation, self.shape, self.hasHeader) = (columns, indentation, shape, hasHeader)
    }

    func write(_ row: [SQLValue]) {
        if let widths {
            line(row, widths)
        } else {
            waiting.append(row)
            if waiting.count == 1000 { writeWaiting() }
        }
    }

    func finish() {
        if widths == nil { writeWaiting() }
        if shape == .box, let widths { Output.line(indentation + style.dim(rule(widths, "└", "┴", "┘"))) }
    }

    private func writeWaiting() {
        var widths = columns.map { cell($0).columns }
        for row in waiting {
            for (index, value) in row.enumerated() { widths[index] = max(widths[index], cell(value.readableText).columns) }
        }
        isRight = columns.indices.map { index in
            let values = waiting.map { $0[index] }.filter { !$0.isNull }
            return !values.isEmpty && values.allSatisfy(\.isNumber)
        }
        self.widths = widths
        if shape == .box { Output.line(indentation + style.dim(rule(widths, "┌", "┬", "┐"))) }
        if hasHeader {
            Output.line(indentation + joined(columns.indices.map { style.bold(filled(cell(columns[$0]), $0, widths[$0])) }))
            switch shape {
            case .plain:
                Output.line(indentation + style.dim(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")))
            case .box: Output.line(indentation + style.dim(rule(widths, "├", "┼", "┤")))
            case .markdown:
                let marks = zip(widths, isRight).map { String(repeating: "-", count: max(1, $0 - 1)) + ($1 ? ":" : "-") }
                Output.line(indentation + joined(marks))
            }
        }
        for row in waiting { line(row, widths) }
        waiting = []
    }

    private func line(_ row: [SQLValue], _ widths: [Int]) {
        let cells = zip(row, widths).enumerated().map { index, column in
            let text = filled(cell(column.0.readableText), index, column.1)
            return column.0.isNull ? style.dim(text) : text
        }
        Output.line(indentation + joined(cells))
    }

    private func joined(_ cells: [String]) -> String {
        switch shape {
        case .plain: cells.joined(separator: "  ")
        case .box: style.dim("│ ") + cells.joined(separator: style.dim(" │ ")) + style.dim(" │")
        case .markdown: "| " + cells.joined(separator: " | ") + " |"
        }
    }

    private func rule(_ widths: [Int], _ left: String, _ middle: String, _ right: String) -> String {
        left + widths.map { String(repeating: "─", count: $0 + 2) }.joined(separator: middle) + right
    }

    /// A cell's text, padded so that the next column is aligned.
    private func filled(_ text: String, _ index: Int, _ width: Int) -> String {
        let isLast = index == columns.count - 1 && shape == .plain
        return isLast && !isRight[index] ? text : text.padded(toColumns: width, alignedRight: isRight[index])
    }

    private func cell(_ text: String) -> String {
        // Only the part of a long text that can be shown is processed.
        let start = limit == Int.max ? text : String(text.prefix(limit + 1))
        let shown = start.onOneLine.cut(toColumns: limit)
        return shape == .markdown ? shown.replacingOccurrences(of: "|", with: "\\|") : shown
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

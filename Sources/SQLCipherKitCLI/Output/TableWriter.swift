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
    /// The widest cell on a terminal, in columns; elsewhere nothing is cut.
    private let limit = Output.current.isTerminal ? 60 : Int.max
    private let indentation: String
    private let shape: Shape
    private let layout: Layout

    init(_ columns: [String], indentation: String = "", shape: Shape = .plain, layout: Layout = Layout()) {
        (self.columns, self.indentation, self.shape, self.layout) = (columns, indentation, shape, layout)
    }

    func write(_ row: [SQLValue]) {
        if let widths {
            line(row, row.indices.map { cell(text(row[$0]), $0) }, widths)
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
        let cells = waiting.map { row in row.enumerated().map { cell(text($1), $0) } }
        let names = columns.enumerated().map { cell($1, $0) }
        var widths = columns.indices.map { hasOwnWidth($0) ? abs(layout.widths[$0]) : names[$0].columns }
        for row in cells {
            for (index, cell) in row.enumerated() where !hasOwnWidth(index) { widths[index] = max(widths[index], cell.columns) }
        }
        isRight = columns.indices.map { index in
            if hasOwnWidth(index) { return layout.widths[index] < 0 }
            var isAny = false
            for row in waiting where !row[index].isNull {
                guard row[index].isNumber else { return false }
                isAny = true
            }
            return isAny
        }
        self.widths = widths
        if shape == .box { Output.line(indentation + style.dim(rule(widths, "┌", "┬", "┐"))) }
        if layout.hasHeader || shape == .markdown {
            Output.line(indentation + joined(columns.indices.map { style.bold(filled(names[$0], $0, widths[$0])) }))
            switch shape {
            case .plain:
                Output.line(indentation + style.dim(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")))
            case .box: Output.line(indentation + style.dim(rule(widths, "├", "┼", "┤")))
            case .markdown:
                let marks = zip(widths, isRight).map { String(repeating: "-", count: max(1, $0 - 1)) + ($1 ? ":" : "-") }
                Output.line(indentation + joined(marks))
            }
        }
        for (row, cells) in zip(waiting, cells) { line(row, cells, widths) }
        waiting = []
    }

    private func line(_ row: [SQLValue], _ cells: [String], _ widths: [Int]) {
        if shape == .plain {
            var line = indentation
            for index in row.indices {
                if index > 0 { line.appendBlanks(2) }
                if row[index].isNull {
                    line += style.dim(filled(cells[index], index, widths[index]))
                } else {
                    append(cells[index], index, widths[index], to: &line)
                }
            }
            return Output.line(line)
        }
        let padded = row.indices.map { index in
            let text = filled(cells[index], index, widths[index])
            return row[index].isNull ? style.dim(text) : text
        }
        Output.line(indentation + joined(padded))
    }

    private func text(_ value: SQLValue) -> String { value.isNull ? layout.null ?? "NULL" : value.readableText }

    private func hasOwnWidth(_ column: Int) -> Bool { column < layout.widths.count && layout.widths[column] != 0 }

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
        var filled = ""
        append(text, index, width, to: &filled)
        return filled
    }

    private func append(_ text: String, _ index: Int, _ width: Int, to line: inout String) {
        if index == columns.count - 1 && shape == .plain && !isRight[index] {
            line += text
        } else {
            let blanks = width - text.columns
            if isRight[index] { line.appendBlanks(blanks) }
            line += text
            if !isRight[index] { line.appendBlanks(blanks) }
        }
    }

    private func cell(_ text: String, _ column: Int) -> String {
        let limit = hasOwnWidth(column) ? abs(layout.widths[column]) : limit
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

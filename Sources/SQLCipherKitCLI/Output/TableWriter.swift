import Foundation
import SQLCipherKit

/// Rows in aligned columns. The first thousand rows decide the widths; later values may be wider.
final class TableWriter: RowWriter {
    /// The shape of the lines between the cells.
    enum Shape { case plain, box, markdown }

    private let columns: [String]
    private var waiting: [[SQLValue]] = []
    private var widths: [Int]?
    /// Columns of numbers are aligned to the right.
    private var isRight: [Bool] = []
    private let style = Terminal.style
    /// The widest cell of each column, in columns of a terminal; elsewhere nothing is cut.
    private let limits: [Int]
    private let shape: Shape
    private let layout: Layout
    private let output = Output.current
    /// The texts before, between and after the cells of a line.
    private let edges: (left: [UInt8], middle: [UInt8], right: [UInt8])
    private let indentation: String

    init(_ columns: [String], indentation: String = "", shape: Shape = .plain, layout: Layout = Layout()) {
        (self.columns, self.indentation, self.shape, self.layout) = (columns, indentation, shape, layout)
        let edges = switch shape {
        case .plain: ("", "  ", "")
        case .box: (style.dim("│ "), style.dim(" │ "), style.dim(" │"))
        case .markdown: ("| ", " | ", " |")
        }
        self.edges = (Array((indentation + edges.0).utf8), Array(edges.1.utf8), Array(edges.2.utf8))
        let limit = Output.current.isTerminal ? 60 : Int.max
        limits = columns.indices.map { layout.hasWidth($0) ? abs(layout.widths[$0]) : limit }
    }

    func write(_ row: RowValues) throws {
        guard let widths else {
            waiting.append(try row.values())
            if waiting.count == 1000 { writeWaiting() }
            return
        }
        try line(widths) { index, line in try row.lend(index) { append($0, index, &line) } }
    }

    func finish() {
        if widths == nil { writeWaiting() }
        if shape == .box, let widths { rule(widths, "└", "┴", "┘") }
    }

    private func writeWaiting() {
        let names = columns.indices.map { cell(columns[$0], $0) }
        let cells = waiting.map { row in row.enumerated().map { cell(text($1), $0) } }
        var widths = columns.indices.map { layout.hasWidth($0) ? limits[$0] : names[$0].columns }
        for row in cells {
            for (index, cell) in row.enumerated() where !layout.hasWidth(index) { widths[index] = max(widths[index], cell.columns) }
        }
        isRight = columns.indices.map { index in
            if layout.hasWidth(index) { return layout.widths[index] < 0 }
            var isAny = false
            for row in waiting where !row[index].isNull {
                guard row[index].isNumber else { return false }
                isAny = true
            }
            return isAny
        }
        self.widths = widths
        if shape == .box { rule(widths, "┌", "┬", "┐") }
        if layout.hasHeader || shape == .markdown {
            line(widths) { index, line in
                line += style.bold(names[index]).utf8
                return names[index].columns
            }
            switch shape {
            case .plain:
                Output.line(indentation + style.dim(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")))
            case .box: rule(widths, "├", "┼", "┤")
            case .markdown:
                line(widths) { index, line in
                    line += repeatElement(UInt8(ascii: "-"), count: max(1, widths[index] - 1))
                    line.append(UInt8(ascii: isRight[index] ? ":" : "-"))
                    return widths[index]
                }
            }
        }
        for (row, cells) in zip(waiting, cells) {
            line(widths) { index, line in append(cells[index], isNull: row[index].isNull, &line) }
        }
        waiting = []
    }

    /// Writes a line.
    /// - Parameter cell: appends a cell's text, and returns its columns.
    private func line(_ widths: [Int], _ cell: (Int, inout [UInt8]) throws -> Int) rethrows {
        try output.line { line in
            line += edges.left
            for index in columns.indices {
                if index > 0 { line += edges.middle }
                let start = line.count, blanks = try widths[index] - cell(index, &line)
                guard blanks > 0 else { continue }
                if isRight[index] {
                    line.insert(contentsOf: repeatElement(0x20, count: blanks), at: start)
                } else if shape != .plain || index < columns.count - 1 {
                    line += repeatElement(0x20, count: blanks)
                }
            }
            line += edges.right
        }
    }

    private func append(_ value: LentValue, _ index: Int, _ line: inout [UInt8]) -> Int {
        let start = line.count
        switch value {
        case .integer(let value): SQLLiterals.append(value, to: &line)
        case .real(let value): line += "\(value)".utf8
        case .text(let bytes) where bytes.isPrintableASCII && shape != .markdown: line += bytes
        case .null, .text, .blob:
            let value = SQLValue(copying: value)
            return append(cell(text(value), index), isNull: value.isNull, &line)
        }
        guard line.count - start > limits[index] else { return line.count - start }
        let text = String(decoding: line[start...], as: UTF8.self)
        line.removeSubrange(start...)
        return append(cell(text, index), isNull: false, &line)
    }

    private func append(_ cell: String, isNull: Bool, _ line: inout [UInt8]) -> Int {
        line += (isNull ? style.dim(cell) : cell).utf8
        return cell.columns
    }

    private func text(_ value: SQLValue) -> String { value.isNull ? layout.null ?? "NULL" : value.readableText }

    private func rule(_ widths: [Int], _ left: String, _ middle: String, _ right: String) {
        let lines = widths.map { String(repeating: "─", count: $0 + 2) }.joined(separator: middle)
        Output.line(indentation + style.dim(left + lines + right))
    }

    private func cell(_ text: String, _ column: Int) -> String {
        let limit = limits[column]
        // Only the part of a long text that can be shown is processed.
        let start = limit == Int.max ? text : String(text.prefix(limit + 1))
        let shown = start.onOneLine.cut(toColumns: limit)
        return shape == .markdown ? shown.replacingOccurrences(of: "|", with: "\\|") : shown
    }
}

extension Layout {
    fileprivate func hasWidth(_ column: Int) -> Bool { column < widths.count && widths[column] != 0 }
}

extension SQLValue {
    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .real: true
        default: false
        }
    }
}

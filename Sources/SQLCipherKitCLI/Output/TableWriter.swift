import Foundation
import SQLCipherKit

/// Rows in aligned columns. The first thousand rows decide the widths; later values may be wider.
final class TableWriter: RowWriter {
    private let columns: [String]
    private var waiting: [[SQLValue]] = []
    private var widths: [Int]?
    /// Columns of numbers are aligned to the right.
    private var isRight: [Bool] = []
    private let style = Terminal.style
    /// The widest cell, in columns of a terminal; elsewhere nothing is cut.
    private let limit = Output.current.isTerminal ? 60 : Int.max
    private let isMarkdown: Bool
    private let layout: Layout
    private let output = Output.current
    /// The texts before, between and after the cells of a line.
    private let edges: (left: [UInt8], middle: [UInt8], right: [UInt8])
    private let indentation: String

    init(_ columns: [String], indentation: String = "", isMarkdown: Bool = false, layout: Layout = Layout()) {
        (self.columns, self.indentation, self.isMarkdown, self.layout) = (columns, indentation, isMarkdown, layout)
        let edges = isMarkdown ? ("| ", " | ", " |") : ("", "  ", "")
        self.edges = (Array((indentation + edges.0).utf8), Array(edges.1.utf8), Array(edges.2.utf8))
    }

    func write(_ row: RowValues) throws {
        guard let widths else {
            waiting.append(try row.values())
            if waiting.count == 1000 { writeWaiting() }
            return
        }
        try line(widths) { index, line in try row.lend(index) { append($0, &line) } }
    }

    func finish() { if widths == nil { writeWaiting() } }

    private func writeWaiting() {
        let names = columns.map(cell)
        let cells = waiting.map { row in row.map { cell(text($0)) } }
        let widths = columns.indices.map { index in cells.reduce(names[index].columns) { max($0, $1[index].columns) } }
        isRight = columns.indices.map { index in
            let values = waiting.map { $0[index] }.filter { !$0.isNull }
            return !values.isEmpty && values.allSatisfy(\.isNumber)
        }
        self.widths = widths
        if layout.hasHeader || isMarkdown {
            line(widths) { index, line in
                line += style.bold(names[index]).utf8
                return names[index].columns
            }
            if isMarkdown {
                line(widths) { index, line in
                    line += repeatElement(UInt8(ascii: "-"), count: max(1, widths[index] - 1))
                    line.append(UInt8(ascii: isRight[index] ? ":" : "-"))
                    return widths[index]
                }
            } else {
                Output.line(indentation + style.dim(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")))
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
                } else if isMarkdown || index < columns.count - 1 {
                    line += repeatElement(0x20, count: blanks)
                }
            }
            line += edges.right
        }
    }

    private func append(_ value: LentValue, _ line: inout [UInt8]) -> Int {
        let start = line.count
        switch value {
        case .integer(let value): SQLLiterals.append(value, to: &line)
        case .real(let value): line += "\(value)".utf8
        case .text(let bytes) where bytes.isPrintableASCII && !isMarkdown: line += bytes
        case .null, .text, .blob:
            let value = SQLValue(copying: value)
            return append(cell(text(value)), isNull: value.isNull, &line)
        }
        guard line.count - start > limit else { return line.count - start }
        let text = String(decoding: line[start...], as: UTF8.self)
        line.removeSubrange(start...)
        return append(cell(text), isNull: false, &line)
    }

    private func append(_ cell: String, isNull: Bool, _ line: inout [UInt8]) -> Int {
        line += (isNull ? style.dim(cell) : cell).utf8
        return cell.columns
    }

    private func text(_ value: SQLValue) -> String { value.isNull ? layout.null ?? "NULL" : value.readableText }

    private func cell(_ text: String) -> String {
        // Only the part of a long text that can be shown is processed.
        let start = limit == Int.max ? text : String(text.prefix(limit + 1))
        let shown = start.onOneLine.cut(toColumns: limit)
        return isMarkdown ? shown.replacingOccurrences(of: "|", with: "\\|") : shown
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

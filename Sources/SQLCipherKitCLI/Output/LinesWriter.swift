import SQLCipherKit

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

    func write(_ row: [SQLValue]) {
        if !isFirst { Output.line() }
        isFirst = false
        for (label, value) in zip(labels, row) {
            Output.line(style.dim(label) + "  " + (value.isNull ? null : value.readableText).onOneLine)
        }
    }

    func finish() {}
}

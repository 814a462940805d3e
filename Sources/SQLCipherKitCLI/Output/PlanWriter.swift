import SQLCipherKit

/// The plan of a statement, drawn as a tree (<https://sqlite.org/eqp.html>).
final class PlanWriter: RowWriter {
    /// Returns whether the rows come from `EXPLAIN QUERY PLAN`.
    static func isFor(_ sql: String, _ columns: [String]) -> Bool {
        let words = SQLWords.tokens(String(sql.prefix(1000))).words.prefix(3).map { $0.lowercased() }
        return columns == ["id", "parent", "notused", "detail"] && words == ["explain", "query", "plan"]
    }

    private var steps: [Int64: [(id: Int64, text: String)]] = [:]
    private let style = Terminal.style

    func write(_ row: RowValues) throws {
        let row = try row.values()
        guard row.count == 4, case .integer(let id) = row[0], case .integer(let parent) = row[1] else { return }
        steps[parent, default: []].append((id, row[3].readableText.onOneLine))
    }

    func finish() {
        Output.line(style.bold("plan"))
        write(0, "")
    }

    private func write(_ parent: Int64, _ indentation: String) {
        let children = steps[parent] ?? []
        for (index, step) in children.enumerated() {
            let isLast = index == children.count - 1
            Output.line(style.dim(indentation + (isLast ? "└─ " : "├─ ")) + step.text)
            write(step.id, indentation + (isLast ? "   " : "│  "))
        }
    }
}

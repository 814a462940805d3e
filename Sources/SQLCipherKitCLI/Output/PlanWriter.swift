import SQLCipherKit

/// The plan of a statement, drawn as a tree, with the time that SQLite expects each step to take relative to the others
/// (<https://sqlite.org/eqp.html>).
final class PlanWriter: RowWriter {
    /// Returns whether the rows come from `EXPLAIN QUERY PLAN`.
    static func isFor(_ sql: String, _ columns: [String]) -> Bool {
        let words = SQLWords.tokens(String(sql.prefix(1000))).words.prefix(3).map { $0.lowercased() }
        return columns == ["id", "parent", "notused", "detail"] && words == ["explain", "query", "plan"]
    }

    private struct Step {
        let id: Int64
        let text: String
        let cost: Int64
    }

    private var steps: [Int64: [Step]] = [:]
    private let style = Terminal.style

    func write(_ row: RowValues) throws {
        let row = try row.values()
        guard row.count == 4, case .integer(let id) = row[0], case .integer(let parent) = row[1] else { return }
        var cost: Int64 = 0
        if case .integer(let value) = row[2] { cost = value }
        steps[parent, default: []].append(Step(id: id, text: row[3].readableText.onOneLine, cost: cost))
    }

    func finish() {
        Output.line(style.bold("plan"))
        write(0, "")
    }

    private func write(_ parent: Int64, _ indentation: String) {
        let children = steps[parent] ?? []
        for (index, step) in children.enumerated() {
            let isLast = index == children.count - 1
            // SQLite gives ten times the binary logarithm.
            let cost = step.cost > 0 ? style.dim("  (cost \(Self.power(step.cost)))") : ""
            Output.line(style.dim(indentation + (isLast ? "└─ " : "├─ ")) + step.text + cost)
            write(step.id, indentation + (isLast ? "   " : "│  "))
        }
    }

    private static func power(_ tenths: Int64) -> String {
        guard tenths < 600 else { return "very high" }
        var value = Double(UInt64(1) << UInt64(tenths / 10))
        for _ in 0..<(tenths % 10) { value *= 1.0717734625362931 }
        return Int(value.rounded()).grouped
    }
}

import SQLCipherKitCore

/// Writing a query in FTS5's syntax.
extension FTS5Query {
    /// The query in FTS5's own syntax, to be bound to `MATCH`.
    public var expression: String { node.expression }

    /// Whether the query has no text at all, and so finds nothing in any table.
    public var isEmpty: Bool { node.isEmpty }
}

/// A query is a value that can be bound: `WHERE note_fts MATCH \(query)`.
extension FTS5Query: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(expression) }

    /// Always nil: a query can be bound, but not read from a row.
    public init?(sqlValue: SQLValue) { nil }
}

extension FTS5Query.Node {
    /// A phrase without a token: it finds nothing.
    private static let nothing = "\"\""

    var isEmpty: Bool {
        switch self {
        case .text(let text, _, _): text.isEmpty
        case .near(let texts, _): texts.allSatisfy(\.isEmpty)
        case .all(let nodes), .any(let nodes): nodes.allSatisfy(\.isEmpty)
        case .not(let node, _), .columns(_, _, let node): node.isEmpty
        }
    }

    var expression: String {
        switch self {
        case .text(let text, let isPrefix, let isInitial):
            return (isInitial ? "^ " : "") + text.quotedFTS5String + (isPrefix ? " *" : "")
        case .near(let texts, let distance):
            let texts = texts.filter { !$0.isEmpty }
            if texts.isEmpty { return Self.nothing }
            return "NEAR(\(texts.map(\.quotedFTS5String).joined(separator: " ")), \(distance))"
        case .all(let nodes): return all(nodes)
        case .any(let nodes):
            let nodes = nodes.filter { !$0.isEmpty }
            if nodes.isEmpty { return Self.nothing }
            if nodes.count == 1 { return nodes[0].expression }
            return nodes.map(\.operand).joined(separator: " OR ")
        case .not(let node, let excluded):
            return excluded.isEmpty ? node.expression : "\(node.operand) NOT \(excluded.operand)"
        case .columns(let names, let excluded, let node):
            let set = "{" + names.map(\.quotedFTS5String).joined(separator: " ") + "}"
            return (excluded ? "- " : "") + set + " : (" + node.expression + ")"
        }
    }

    /// Joins plain terms by spaces, because FTS5 then ignores those without a token. With `AND` it would find nothing.
    private func all(_ nodes: [Self]) -> String {
        var terms: [String] = []
        var others: [String] = []
        for node in nodes where !node.isEmpty {
            switch node {
            case .text, .near: terms.append(node.expression)
            default: others.append(node.operand)
            }
        }
        if terms.isEmpty && others.isEmpty { return Self.nothing }
        if others.isEmpty { return terms.joined(separator: " ") }
        if !terms.isEmpty { others.insert("(" + terms.joined(separator: " ") + ")", at: 0) }
        return others.joined(separator: " AND ")
    }

    private var operand: String {
        switch self {
        case .text, .near: expression
        default: "(" + expression + ")"
        }
    }
}

extension String {
    /// The text as a string of FTS5's query language. A NUL character becomes a space, because FTS5's parser stops at one.
    var quotedFTS5String: String {
        var quoted = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": quoted += "\"\""
            case "\0": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

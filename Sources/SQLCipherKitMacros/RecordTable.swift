#if Macros
import SwiftSyntax

/// The arguments of `@Record` itself: the table's name, its kind, its constraints and indexes.
struct RecordTable {
    /// The name as it is written; nil for the type's own.
    private(set) var name: String?
    private(set) var options: String?
    /// Constraints and indexes, as they stand in the description.
    private(set) var parts: [String] = []

    init(_ node: AttributeSyntax, _ properties: inout RecordProperties) {
        for argument in node.labelled {
            switch argument.label?.text {
            case nil:
                name = argument.expression.trimmedDescription
                if argument.expression.plainText?.isEmpty ?? true {
                    properties.add("a table's name is a literal", at: argument.expression)
                }
            case "options": options = argument.expression.trimmedDescription
            case "constraints": read(argument.expression, "SQLConstraint", &properties)
            default: read(argument.expression, "SQLIndex", &properties)
            }
        }
        let hasKey = parts.contains { $0.hasPrefix("SQLConstraint.primaryKey") }
        if hasKey, let key = properties.columns.first(where: \.isPrimaryKey) {
            properties.add("the table has a primary key among its constraints already", at: key.node)
        }
        if let options, options.contains("withoutRowID"), let key = properties.columns.first(where: \.isAutoincrement) {
            properties.add("a table without row ids has no autoincrement", at: key.node)
        }
    }

    private mutating func read(_ list: ExprSyntax, _ type: String, _ properties: inout RecordProperties) {
        guard let list = list.as(ArrayExprSyntax.self) else {
            properties.add("write the list out, in brackets", at: list)
            return
        }
        for element in list.elements {
            let text = element.expression.trimmedDescription
            parts.append(text.hasPrefix(".") ? type + text : text)
            if let call = element.expression.as(FunctionCallExprSyntax.self) { checkNames(call, &properties) }
        }
    }

    /// Columns that are named by a literal are the record's own.
    private func checkNames(_ call: FunctionCallExprSyntax, _ properties: inout RecordProperties) {
        let name = call.calledExpression.trimmedDescription.split(separator: ".").last.map(String.init) ?? ""
        for argument in call.arguments {
            if argument.label == nil, ["primaryKey", "unique", "column"].contains(name) {
                checkName(argument.expression, &properties)
            } else if let terms = argument.expression.as(ArrayExprSyntax.self) {
                for term in terms.elements {
                    checkName(term.expression, &properties)
                    if let call = term.expression.as(FunctionCallExprSyntax.self) { checkNames(call, &properties) }
                }
            }
        }
    }

    private func checkName(_ expression: ExprSyntax, _ properties: inout RecordProperties) {
        guard !properties.hasNaming, let column = expression.plainText,
            !properties.columns.contains(where: { $0.column.lowercased() == column.lowercased() })
        else { return }
        properties.add("the record has no column \(column)", at: expression)
    }
}
#endif

#if Macros
import SwiftSyntax

/// The stored properties of a record, read from its members.
struct RecordProperties {
    private(set) var list: [RecordProperty] = []
    private(set) var problems = RecordProblems()
    /// True if the record has a `columnNaming`: the resulting names are not known here.
    private(set) var hasNaming = false

    var columns: [RecordProperty] { list.filter { !$0.isIgnored } }

    init(_ members: MemberBlockItemListSyntax) {
        for member in members {
            if let condition = member.decl.as(IfConfigDeclSyntax.self), condition.description.contains("var ") {
                problems.add("@Record sees no properties inside of #if: move the condition around the type", at: condition)
            }
            guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
            if !variable.has(.static) {
                read(variable)
            } else if variable.bindings.contains(where: { $0.pattern.trimmedDescription == "columnNaming" }) {
                hasNaming = true
            }
        }
        checkKeys()
    }

    private mutating func read(_ variable: VariableDeclSyntax) {
        let attributes = variable.recordAttributes
        for binding in variable.bindings {
            if binding.isComputed {
                if let (name, node) = attributes.first {
                    problems.add("a computed property has no column: @\(name) belongs to a stored one", at: node)
                }
                continue
            }
            if variable.has(.lazy) {
                problems.add("a lazy property cannot be a column", at: variable)
                continue
            }
            guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
                problems.add("each column of a record needs a property of its own", at: binding)
                continue
            }
            var property = RecordProperty(
                name: identifier.text, node: Syntax(binding), type: binding.typeAnnotation?.type, column: "")
            property.column = property.plainName
            for (name, node) in attributes { read(name, node, into: &property) }
            check(variable, binding, attributes.map(\.name), property)
            list.append(property)
        }
        if variable.bindings.count > 1, let first = attributes.first(where: { $0.name != "Ignored" }) {
            problems.add("@\(first.name) needs a declaration with one property", at: first.node)
        }
    }

    private mutating func read(_ name: String, _ node: AttributeSyntax, into property: inout RecordProperty) {
        switch name {
        case "ColumnDefault": property.hasColumnDefault = true
        case "Ignored": property.isIgnored = true
        case "PrimaryKey":
            property.isPrimaryKey = true
            property.isAutoincrement = node.argument("autoincrement")?.isTrue ?? false
            property.description += ".primaryKey(\(node.labelled.trimmedDescription))"
        case "References": property.description += ".references(\(node.labelled.trimmedDescription))"
        case "Generated": property.description += ".generated(\(node.labelled.trimmedDescription))"
        case "Stored":
            if node.labelled.first?.label == nil {
                property.profile = node.labelled.first?.expression.trimmedDescription
            } else {
                property.profile = "ValueProfile(\(node.labelled.trimmedDescription))"
            }
        default: readColumn(node, into: &property)
        }
    }

    private mutating func readColumn(_ node: AttributeSyntax, into property: inout RecordProperty) {
        for argument in node.labelled {
            let value = argument.expression.trimmedDescription
            switch argument.label?.text {
            case nil:
                if let text = argument.expression.plainText, !text.isEmpty {
                    property.column = text
                } else {
                    problems.add("a column's name is a literal", at: argument.expression)
                }
            case "notNull": if argument.expression.isTrue { property.description += ".notNull()" }
            case "unique": if argument.expression.isTrue { property.description += ".unique()" }
            case "uniqueOnConflict": property.description += ".unique(onConflict: \(value))"
            case "collate": property.description += ".collate(\(value))"
            case "default": property.description += ".default(\(value))"
            case "defaultSQL": property.description += ".default(sql: \(value))"
            case "check": property.description += ".check(\(value))"
            case let label?: problems.add("@Column has no argument \(label)", at: argument)
            }
        }
        if node.argument("default") != nil, let other = node.argument("defaultSQL") {
            problems.add("a column has one default", at: other)
        }
        for label in ["notNull", "unique"] {
            if let value = node.argument(label), !value.is(BooleanLiteralExprSyntax.self) {
                problems.add("\(label) is true or false, written out", at: value)
            }
        }
    }

    private mutating func check(
        _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, _ attributes: [String], _ property: RecordProperty
    ) {
        if property.isIgnored {
            if let other = variable.recordAttributes.first(where: { $0.name != "Ignored" }) {
                problems.add("\(property.name) is ignored: @\(other.name) says nothing about it", at: other.node)
            }
            let isOptional = binding.typeAnnotation?.type.is(OptionalTypeSyntax.self) ?? false
            if binding.initializer == nil, !isOptional || variable.bindingSpecifier.tokenKind == .keyword(.let) {
                problems.add("an ignored property needs a value to begin with", at: binding)
            }
        } else if variable.bindingSpecifier.tokenKind == .keyword(.let), binding.initializer != nil {
            let fixed = variable.bindingSpecifier.spelled(.var)
            problems.add(
                "\(property.name) has a value that no row can change: make it a var, or static", at: variable.bindingSpecifier,
                fix: ("use 'var'", .replace(oldNode: Syntax(variable.bindingSpecifier), newNode: Syntax(fixed))))
        }
        if attributes.contains("Generated"), let column = variable.recordAttributes.first(where: { $0.name == "Column" })?.node,
            let value = column.argument("default") ?? column.argument("defaultSQL")
        {
            problems.add("a generated column has no default", at: value)
        }
    }

    /// The key, and names that are used twice.
    private mutating func checkKeys() {
        let keys = columns.filter(\.isPrimaryKey)
        if keys.count > 1 {
            let names = keys.map { "\"\($0.column)\"" }.joined(separator: ", ")
            problems.add(
                "a table has one primary key: for one of several columns write constraints: [.primaryKey(\(names))]",
                at: keys[1].node)
        }
        for key in keys where key.isAutoincrement {
            let type = key.type?.trimmedDescription.filter { $0 != "?" } ?? "Int"
            if !["Int", "Int64", "Int32", "UInt32", "Int16", "UInt16", "Int8", "UInt8", "UInt64", "UInt"].contains(type) {
                problems.add("only an integer key can be chosen by SQLite: autoincrement cannot be for a \(type)", at: key.node)
            }
        }
        var seen: Set<String> = []
        for column in columns where !seen.insert(column.column.lowercased()).inserted {
            problems.add("the record has two columns named \(column.column)", at: column.node)
        }
    }

    mutating func add(_ message: String, at node: some SyntaxProtocol) { problems.add(message, at: node) }
}
#endif

#if Macros
import SwiftSyntax

/// A stored property, with the column that it becomes.
struct RecordProperty {
    let name: String
    let node: Syntax
    let type: TypeSyntax?
    var column: String
    /// The calls after the property in the table's description: `.primaryKey()` and the like.
    var description = ""
    var isPrimaryKey = false
    var isAutoincrement = false
    var isIgnored = false
    /// Wrapped by `ColumnDefault`, which tells whether it was set.
    var hasColumnDefault = false
    /// The profile that its values are stored by, as an expression.
    var profile: String?

    /// The name without the backticks of a word of the language.
    var plainName: String { name.filter { $0 != "`" } }

    static let markers: Set<String> = ["Column", "PrimaryKey", "References", "Generated", "Stored", "Ignored"]
}

extension VariableDeclSyntax {
    /// The attributes that this macro or the library knows, by their names.
    var recordAttributes: [(name: String, node: AttributeSyntax)] {
        attributes.compactMap { element in
            guard let attribute = element.as(AttributeSyntax.self) else { return nil }
            // Also as `SQLCipherKit.Column`.
            let name = attribute.attributeName.trimmedDescription.split(separator: ".").last.map(String.init) ?? ""
            return RecordProperty.markers.contains(name) || name == "ColumnDefault" ? (name, attribute) : nil
        }
    }

    func has(_ keyword: Keyword) -> Bool { modifiers.contains { $0.name.tokenKind == .keyword(keyword) } }
}

extension AttributeSyntax {
    var labelled: LabeledExprListSyntax { arguments?.as(LabeledExprListSyntax.self) ?? [] }

    func argument(_ label: String?) -> ExprSyntax? { labelled.first { $0.label?.text == label }?.expression }
}

extension ExprSyntax {
    /// The text of a literal without interpolation.
    var plainText: String? { self.as(StringLiteralExprSyntax.self)?.representedLiteralValue }
    var isTrue: Bool { self.as(BooleanLiteralExprSyntax.self)?.literal.tokenKind == .keyword(.true) }
}

extension PatternBindingSyntax {
    /// True if the property has a getter, and so no storage.
    var isComputed: Bool {
        guard let accessors = accessorBlock?.accessors else { return false }
        guard case .accessors(let list) = accessors else { return true }
        return list.contains { ![.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
    }
}
#endif

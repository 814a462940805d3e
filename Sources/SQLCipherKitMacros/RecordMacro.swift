#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// `@Record`: writes the conformance to `SQLPositionalRecord` that one would write by hand.
public struct RecordMacro: ExtensionMacro {
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        var problems = RecordProblems()
        guard let record = declaration.as(StructDeclSyntax.self) else {
            let keyword = declaration.introducer
            let isClass = declaration.is(ClassDeclSyntax.self)
            problems.add(
                "a record is a struct", at: keyword,
                fix: isClass
                    ? ("use 'struct'", .replace(oldNode: Syntax(keyword), newNode: Syntax(keyword.spelled(.struct)))) : nil)
            problems.list.forEach(context.diagnose)
            return []
        }
        if let generics = record.genericParameterClause {
            problems.add("a record cannot be generic: a type has one table", at: generics)
            problems.list.forEach(context.diagnose)
            return []
        }
        var properties = RecordProperties(record.memberBlock.members)
        if properties.columns.isEmpty, properties.problems.list.isEmpty {
            properties.add("\(record.name.text) has no stored property that could be a column", at: record.name)
        }
        let table = RecordTable(node, &properties)
        if !properties.problems.list.isEmpty {
            properties.problems.list.forEach(context.diagnose)
            return []
        }
        // The compiler names those that the type has not been declared to conform to.
        let names = protocols.map(\.trimmedDescription)
        let source = RecordSource(record, properties, table).text(of: type.trimmedDescription, names)
        return [try ExtensionDeclSyntax("\(raw: source)")]
    }
}

extension TokenSyntax {
    /// Another word at the same place.
    func spelled(_ keyword: Keyword) -> TokenSyntax { with(\.tokenKind, .keyword(keyword)) }
}

extension DeclGroupSyntax {
    fileprivate var introducer: TokenSyntax {
        if let declaration = self.as(ClassDeclSyntax.self) { return declaration.classKeyword }
        if let declaration = self.as(EnumDeclSyntax.self) { return declaration.enumKeyword }
        if let declaration = self.as(ActorDeclSyntax.self) { return declaration.actorKeyword }
        return memberBlock.leftBrace
    }
}
#endif

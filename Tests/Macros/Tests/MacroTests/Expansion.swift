import ExpansionSource
import Foundation
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

/// What the macros make of a source, and what they find wrong with it.
struct Expansion {
    let text: String
    /// Each with the source of the place that it is at.
    let problems: [(message: String, place: String)]
    /// The source after all fix-its.
    let fixed: String

    init(_ source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "App", fullFilePath: "App.swift")])
        var macros: [String: any Macro.Type] = ["Record": RecordMacro.self]
        for name in ["PrimaryKey", "Column", "References", "Generated", "Stored", "Ignored"] { macros[name] = RecordMarker.self }
        text = file.expand(macros: macros, contextGenerator: { _ in context }).description
        problems = context.diagnostics.map { ($0.message, $0.node.trimmedDescription) }
        // The nodes are of a copy that has lost its place: the text of what is replaced finds it.
        fixed = context.diagnostics.flatMap(\.fixIts).flatMap(\.changes).reduce(source) { source, change in
            guard case .replace(let old, let new) = change, let range = source.range(of: old.trimmedDescription) else { return source }
            return source.replacingCharacters(in: range, with: new.trimmedDescription)
        }
    }
}

import ExpansionSource
import Foundation
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

/// The macros' expansion of a source, and their diagnostics.
struct Expansion {
    let text: String
    /// Each with the source of the place that it is at.
    let problems: [(message: String, place: String)]
    /// The source after all fix-its.
    let fixed: String

    init(_ source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "App", fullFilePath: "App.swift")])
        // The compiler names the protocols that the type has not been declared to conform to.
        let missing = ["SQLPositionalRecord", "SQLRecord"].filter { !source.contains(": \($0)") }
        var macros = ["Record": MacroSpec(type: RecordMacro.self, conformances: missing.map { TypeSyntax("\(raw: $0)") })]
        for name in ["PrimaryKey", "Column", "References", "Generated", "Stored", "Ignored"] {
            macros[name] = MacroSpec(type: RecordMarker.self)
        }
        text = file.expand(macroSpecs: macros, contextGenerator: { _ in context }).description
        problems = context.diagnostics.map { ($0.message, $0.node.trimmedDescription) }
        // The nodes are of a copy that has lost its place: the text of what is replaced finds it.
        fixed = context.diagnostics.flatMap(\.fixIts).flatMap(\.changes).reduce(source) { source, change in
            guard case .replace(let old, let new) = change, let range = source.range(of: old.trimmedDescription) else { return source }
            return source.replacingCharacters(in: range, with: new.trimmedDescription)
        }
    }
}

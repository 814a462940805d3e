#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// `@Column` and its like: `@Record` reads them, and they make nothing themselves.
public struct RecordMarker: PeerMacro {
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] { [] }
}
#endif

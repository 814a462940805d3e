// Without the trait there is no swift-syntax: what is built then, in this package alone, is a program that does nothing.
#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [RecordMacro.self, RecordMarker.self]
}
#else
@main struct Plugin {
    static func main() {}
}
#endif

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// An error at a place of the source.
struct RecordProblem: DiagnosticMessage, FixItMessage {
    let message: String

    init(_ message: String) { self.message = message }

    var severity: DiagnosticSeverity { .error }
    var diagnosticID: MessageID { MessageID(domain: "SQLCipherKit", id: "Record") }
    var fixItID: MessageID { diagnosticID }
}

/// The problems of a record.
struct RecordProblems {
    private(set) var list: [Diagnostic] = []

    mutating func add(_ message: String, at node: some SyntaxProtocol, fix: (text: String, change: FixIt.Change)? = nil) {
        let fixIts = fix.map { [FixIt(message: RecordProblem($0.text), changes: [$0.change])] } ?? []
        list.append(Diagnostic(node: Syntax(node), message: RecordProblem(message), fixIts: fixIts))
    }
}
#endif

/// Replaces the Swift calls that the library's messages recommend by commands of the tool.
enum ToolWords {
    /// A call that the library's messages name, and the tool's advice in its place.
    private static let advice: [(call: String, words: String)] = [
        ("changeKey(to:)", "use sqlcipherkit rekey"),
        ("acceptingUnauthenticated", "sqlcipherkit migrate takes it only with --accept-unauthenticated"),
        ("DatabaseConverter.migrate", "use sqlcipherkit migrate"),
        ("DatabaseConverter decrypts", "sqlcipherkit decrypt writes it in plaintext"),
        ("attach(_:as:key:)", "use --attach and --attach-key, or .attach in the shell"),
        ("backup(toFileAt:)", "use sqlcipherkit backup"),
        ("KeySlots.rotateKey", "sqlcipherkit key has commands for slots and for a new key"),
        ("KeySlots alone", "sqlcipherkit key has commands for slots"),
    ]

    /// The message without names of calls and types: a clause that contains one is replaced, or left out.
    static func message(_ text: String) -> String {
        if text == "no query solution" {
            return text + ": a table's key needs a collation of another program, which sqlcipherkit verify names"
        }
        guard namesCall(text) else { return text }
        // Advice is the last clause.
        let marks = ["; ", ": "]
        let start = marks.compactMap { mark -> Range<String.Index>? in
            var found: Range<String.Index>?
            var rest = text[...]
            while let next = rest.firstRange(of: mark) {
                if !namesCall(String(text[..<next.lowerBound])) { found = next }
                rest = rest[next.upperBound...]
            }
            return found
        }.max { $0.lowerBound < $1.lowerBound }
        guard let start else { return text }
        let fact = String(text[..<start.lowerBound])
        let clause = text[start.upperBound...]
        guard let found = advice.first(where: { clause.contains($0.call) }) else { return fact }
        return "\(fact): \(found.words)"
    }

    /// Returns whether the text names a Swift call with argument labels, or one of the library's types. A path does not count.
    private static func namesCall(_ text: String) -> Bool {
        text.split(separator: " ").contains { word in
            if word.contains("/") { return false }
            if word.contains(":)") && word.contains("(") { return true }
            let types = [
                "DatabaseC", "DatabaseQueue", "CipherC", "SQLCipherEngine", "KeySlots", "Schema.KeyChangeMode", "SQLConstraint",
                "addTraceHook",
            ]
            return types.contains { word.hasPrefix($0) }
        }
    }
}

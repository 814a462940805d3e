/// The library advises Swift calls; the user of the tool needs commands.
enum ToolWords {
    /// A call that the library's messages name, and what to do here in place of it; empty where there is nothing.
    private static let advice: [(call: String, words: String)] = [
        ("changeKey(to:)", "use sqlcipherkit rekey"),
        ("DatabaseConverter.migrate", "use sqlcipherkit migrate"),
        ("DatabaseConverter decrypts", "sqlcipherkit decrypt writes it in plaintext"),
        ("attach(_:as:key:)", "use --attach and --attach-key, or .attach in the shell"),
        ("backup(toFileAt:)", "use sqlcipherkit backup"),
        ("KeySlots.rotateKey", "sqlcipherkit key has commands for slots and for a new key"),
        ("KeySlots alone", "sqlcipherkit key has commands for slots"),
    ]

    /// The message without names of calls and types: the clause that has one is replaced, or left out.
    static func message(_ text: String) -> String {
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

    /// Whether there is a name as Swift has them, with arguments' labels or of one of the library's types. Paths are none.
    private static func namesCall(_ text: String) -> Bool {
        text.split(separator: " ").contains { word in
            if word.contains("/") { return false }
            if word.contains(":)") && word.contains("(") { return true }
            let types = [
                "DatabaseC", "DatabaseQueue", "CipherC", "SQLCipherEngine", "KeySlots", "KeyChangeMode", "SQLConstraint",
                "addTraceHook",
            ]
            return types.contains { word.hasPrefix($0) }
        }
    }
}

import CSQLCipher

/// Hides SQL text that could hold a key from errors, traces and logs.
/// The package never writes a key into SQL, but a user may type `PRAGMA key = '…'`, `ATTACH … KEY '…'` or a URI with `?key=…`,
/// perhaps misspelled or incomplete. Only SQLite's parser could tell where exactly the key is, so the whole text is hidden.
struct KeyRedaction {
    /// The text shown instead of the hidden one.
    static let mark = "[redacted]"

    private let words: Set<Substring>
    /// The words that begin a statement in the text, but are none of SQL's.
    private let firstWords: Set<Substring>

    /// Returns nil if the text has no key. That is the usual case, and is found quickly.
    init?(_ sql: String) {
        guard Self.mayMentionKey(sql) else { return nil }
        // Common pragmas.
        let text = Self.folded(sql).replacing("foreign_key", with: "")
        let mentionsKey = text.contains("key") || text.contains("random")
        let words = Set(Self.words(text))
        firstWords = Self.unknownFirstWords(text)
        let isKeyed = words.contains("attach") || words.contains { $0.hasPrefix("pragm") } || !firstWords.isEmpty
        guard mentionsKey && isKeyed || text.contains("file:") else { return nil }
        self.words = words.union(Self.words(Self.folded(sql)))
    }

    /// Returns whether a message repeats a word of the text. Hiding too much does no harm here.
    func leaks(into message: String) -> Bool {
        let message = Self.folded(message)
        // The parser stops at a misspelled first word, which is no key, and repeats nothing else.
        let (before, after) = ("near \"", "\": syntax error")
        if message.hasPrefix(before), message.hasSuffix(after) {
            let word = message.dropFirst(before.count).dropLast(after.count)
            if firstWords.contains(word), Self.verbs.contains(where: { $0.isNearly(word) }) { return false }
        }
        return Self.words(message).contains { word in
            // "file is not a database" repeats nothing.
            if word == "database" { return message.contains("\"database") }
            return words.contains(word) || word.count > 2 && words.contains { $0.contains(word) }
        }
    }

    /// The text, or the mark instead of it.
    static func clean(_ sql: String) -> String { KeyRedaction(sql) == nil ? sql : mark }

    /// Removes the parameters of a URI that could hold a key from a text that is not SQL, such as a message or a path.
    static func cleanURI(_ text: String) -> String {
        guard mayMentionKey(text) else { return text }
        let folded = folded(text)
        // The name of a parameter may be percent-encoded, as `%6bey`.
        guard folded.contains("key=") || folded.contains("file:") && folded.contains("%") else { return text }
        guard let start = text.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "&") }) else {
            return folded.contains("file:") ? text : mark
        }
        return text[...start] + mark
    }

    /// Every keyword that can introduce a key contains "key", except for one pragma with "random", and names in URIs.
    private static func mayMentionKey(_ sql: String) -> Bool {
        var matched = 0
        for byte in sql.utf8 {
            switch (matched, byte | 0x20) {
            case (_, UInt8(ascii: "%")), (2, UInt8(ascii: "y")), (4, UInt8(ascii: "n")): return true
            case (1, UInt8(ascii: "e")), (3, UInt8(ascii: "a")): matched += 1
            case (_, UInt8(ascii: "k")): matched = 1
            case (_, UInt8(ascii: "r")): matched = 3
            default: matched = 0
            }
        }
        return false
    }

    /// One character for each byte, in lower case: SQLite compares bytes, and does not combine marks with the letter before.
    private static func folded(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for byte in text.utf8 { folded.append(Unicode.Scalar(byte.lowercasedASCII)) }
        return String(folded)
    }

    private static func words(_ text: String) -> [Substring] {
        text.split { !($0.isLetter || $0.isNumber || $0 == "_" || !$0.isASCII) }
    }

    /// The words that begin a piece between semicolons, but do not begin a statement; empty for a piece without one. Semicolons in
    /// literals make more pieces than there are statements, which only hides more.
    private static func unknownFirstWords(_ text: String) -> Set<Substring> {
        Set(text.split(separator: ";").compactMap { piece in
            var rest = piece.drop(while: \.isWhitespace)
            while let end = rest.hasPrefix("--") ? rest.firstIndex(where: \.isNewline)
                : rest.hasPrefix("/*") ? rest.firstRange(of: "*/")?.upperBound : nil
            {
                rest = rest[end...].drop(while: \.isWhitespace)
            }
            let verb = rest.prefix { $0.isLetter }
            return rest.isEmpty || verbs.contains(verb) ? nil : verb
        })
    }

    private static let verbs: Set<Substring> = [
        "alter", "analyze", "attach", "begin", "commit", "create", "delete", "detach", "drop", "end", "explain", "insert", "pragma",
        "reindex", "release", "replace", "rollback", "savepoint", "select", "update", "vacuum", "values", "with",
    ]
}

extension StringProtocol {
    /// Returns whether at most two letters must be inserted, deleted or replaced to get another word, and fewer than half of its
    /// letters.
    package func isNearly(_ other: some StringProtocol) -> Bool {
        let changes = changes(to: other)
        return changes <= 2 && 2 * changes < other.count
    }

    /// Returns the number of letters that must be inserted, deleted or replaced to get another word (the Levenshtein distance).
    package func changes(to other: some StringProtocol) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (i, letter) in enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, wanted) in other.enumerated() {
                let next = Swift.min(row[j] + 1, row[j + 1] + 1, diagonal + (letter == wanted ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
        }
        return row[other.count]
    }
}

/// Hides values in SQLite's messages about a statement that ran.
///
/// A few of its messages repeat values or parts of them: the word where a full-text query is wrong, a bad JSON path, the text of a
/// `RAISE`. They appear in quotes, after a colon, or as the whole message. Text that is also in the SQL is not secret.
enum ValueRedaction {
    static let mark = "…"

    /// - Parameter statement: the statement that ran, with its parameters still bound.
    static func clean(_ message: String, _ code: ResultCode, _ statement: OpaquePointer) -> String {
        // Only these codes come with messages that SQLite, or a trigger, makes from values.
        guard code == .error || code == .constraintTrigger || .cannotOpen ~= code else { return message }
        let sql = sqlite3_sql(statement).map { String(cString: $0) } ?? ""
        var message = Array(message.utf8)
        for index in 1...max(1, sqlite3_bind_parameter_count(statement)) {
            let bound = sqlcipherkit_bound_value(statement, index), value = sqlite3_value_dup(bound)
            defer { sqlite3_value_free(value) }
            guard let bound, sqlite3_value_type(bound) != SQLITE_NULL else { continue }
            // Without memory for the value, it cannot be found.
            guard let value, let text = sqlite3_value_text(value) else { return mark }
            let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
            if !bytes.isEmpty, bytes.count <= message.count { hide(bytes, in: &message) }
        }
        let text = String(decoding: message, as: UTF8.self)
        return code == .error ? hidingQuotations(text, sql) : text
    }

    /// Hides a whole value wherever it appears as one or more whole words.
    private static func hide(_ value: UnsafeBufferPointer<UInt8>, in message: inout [UInt8]) {
        var result: [UInt8] = []
        var index = 0
        while index < message.count {
            let end = index + value.count
            if end <= message.count, message[index..<end].elementsEqual(value),
                !(isWord(message[index]) && index > 0 && isWord(message[index - 1])),
                !(isWord(message[end - 1]) && end < message.count && isWord(message[end]))
            {
                result += mark.utf8
                index = end
            } else {
                result.append(message[index])
                index += 1
            }
        }
        message = result
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        let character = Character(Unicode.Scalar(byte))
        return byte >= 0x80 || character == "_" || character.isLetter || character.isNumber
    }

    /// Hides text in quotes or after a colon, unless it is also in the SQL.
    private static func hidingQuotations(_ message: String, _ sql: String) -> String {
        var message = message
        for quote: Character in ["\"", "'"] {
            guard let first = message.firstIndex(of: quote), let last = message.lastIndex(of: quote), first < last else { continue }
            let quoted = message[message.index(after: first)..<last]
            if !quoted.isEmpty, !sql.contains(quoted) { message.replaceSubrange(message.index(after: first)..<last, with: mark) }
        }
        // `fts5: …` begins with the name of the module; the name of a tokenizer comes from the schema.
        if !message.hasPrefix("fts5: "), !message.hasPrefix("no such tokenizer: "), let colon = message.firstRange(of: ": "),
            !sql.contains(message[colon.upperBound...]) {
            message = message[..<colon.upperBound] + mark
        }
        return message
    }
}

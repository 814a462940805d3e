import CSQLCipher

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

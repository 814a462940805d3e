import CSQLCipher

/// Hides values in what SQLite says of a statement that ran.
///
/// A few of its messages repeat values, or pieces of them: the word at which a full-text query is wrong, a bad JSON path, what
/// `RAISE` puts together. They are given in quotes or after a colon, or whole. What the SQL text has as well is not a secret.
enum ValueRedaction {
    static let mark = "…"

    /// - Parameters:
    ///   - statement: what ran, with its parameters still bound.
    static func clean(_ message: String, _ code: ResultCode, _ statement: OpaquePointer) -> String {
        // No other codes come with texts that SQLite, or a trigger, makes from values.
        guard code == .error || code == .constraintTrigger || .cannotOpen ~= code else { return message }
        let sql = sqlite3_sql(statement).map { String(cString: $0) } ?? ""
        var message = Array(message.utf8)
        for index in 1...max(1, sqlite3_bind_parameter_count(statement)) {
            guard let value = sqlite3_value_dup(sqlcipherkit_bound_value(statement, index)) else { continue }
            defer { sqlite3_value_free(value) }
            guard let text = sqlite3_value_text(value) else { continue }
            let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
            if !bytes.isEmpty, bytes.count <= message.count { hide(bytes, in: &message) }
        }
        let text = String(decoding: message, as: UTF8.self)
        return code == .error ? hidingQuotations(text, sql) : text
    }

    /// Hides a whole value wherever it stands as a word or as several.
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

    /// Hides what is quoted, or stands behind a colon, unless the SQL text has it.
    private static func hidingQuotations(_ message: String, _ sql: String) -> String {
        var message = message
        for quote: Character in ["\"", "'"] {
            guard let first = message.firstIndex(of: quote), let last = message.lastIndex(of: quote), first < last else { continue }
            let quoted = message[message.index(after: first)..<last]
            if !quoted.isEmpty, !sql.contains(quoted) { message.replaceSubrange(message.index(after: first)..<last, with: mark) }
        }
        // `fts5: …` begins with the name of the module; a tokenizer's name comes from the schema.
        if !message.hasPrefix("fts5: "), !message.hasPrefix("no such tokenizer: "), let colon = message.firstRange(of: ": "),
            !sql.contains(message[colon.upperBound...]) {
            message = message[..<colon.upperBound] + mark
        }
        return message
    }
}

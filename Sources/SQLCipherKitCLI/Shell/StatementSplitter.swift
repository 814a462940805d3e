import SQLCipherKit

/// Splits SQL into statements, line by line, in linear time: no byte is looked at twice, as a string or a comment that is open at
/// the end of a line is continued by its first character. A semicolon ends a statement unless it is in a string, in a comment or
/// in a trigger's body (<https://sqlite.org/c3ref/complete.html>).
struct StatementSplitter {
    struct Statement {
        let sql: String
        /// The line on which it begins, counted from 1.
        let line: Int
    }

    /// The statement so far. `semicolon` and `end` are the states after these tokens in a trigger's body.
    private enum Phase { case start, explain, create, other, trigger, semicolon, end }

    private var phase = Phase.start
    /// The first characters of the string or comment that is open at the end of the last line.
    private var opening: [UInt8] = []
    private var text: [UInt8] = []
    private var textLine = 1
    /// The number of the last line taken, counted from 1.
    private(set) var line = 0

    /// True if no statement and no comment has begun.
    var isEmpty: Bool { phase == .start && text.isEmpty && opening.isEmpty }

    /// Takes a line, without its line feed.
    /// - Returns: the statements that end on it.
    /// - Throws: ``Failure`` for one that is not UTF-8.
    mutating func take(_ source: some Sequence<UInt8>) throws(Failure) -> [Statement] {
        line += 1
        /// Where the part of the statement that is not in `text` yet begins.
        var start = opening.count, bytes = opening, statements: [Statement] = []
        bytes += source
        bytes.append(0x0a)
        var tokens = SQLTokens(bytes)
        opening = []
        func begin() {
            while [0x20, 0x09, 0x0d].contains(bytes[start]) { start += 1 }
            textLine = line
        }
        if text.isEmpty { begin() }
        while let token = tokens.next() {
            if token.kind != .semicolon {
                opening = tokens.opening(token).map(Array.init) ?? []
                let isComment = opening.first == UInt8(ascii: "/")
                // Most words say nothing about the kind of statement they are in.
                if phase != .other, !isComment { add(token.kind == .word ? tokens.text(token).lowercased() : "") }
            } else if endsStatement() {
                statements.append(try statement(text + bytes[start..<token.range.upperBound]))
                text.removeAll(keepingCapacity: true)
                start = token.range.upperBound
                begin()
            }
        }
        if !text.isEmpty || start < bytes.count - 1 { text += bytes[start...] }
        // A comment on its own does not begin a statement.
        if phase == .start, opening.isEmpty { text.removeAll(keepingCapacity: true) }
        return statements
    }

    private func statement(_ bytes: [UInt8]) throws(Failure) -> Statement {
        guard let sql = String(validating: bytes, as: UTF8.self) else { throw Failure("line \(textLine): this is not UTF-8") }
        return Statement(sql: sql, line: textLine)
    }

    /// Counts a line that is not SQL.
    mutating func skipLine() { line += 1 }

    /// The text at the end that has no semicolon.
    mutating func rest() throws(Failure) -> Statement? {
        defer { reset() }
        return isEmpty ? nil : try statement(text)
    }

    /// Discards an unfinished statement.
    mutating func reset() { (opening, phase, text) = ([], .start, []) }

    /// - Parameter word: in lower case; empty for a token that is not a word.
    private mutating func add(_ word: String) {
        phase = switch phase {
        case .start: word == "explain" ? .explain : word == "create" ? .create : .other
        case .explain:
            // As SQLite does, which takes any other words for QUERY PLAN.
            word == "create" ? .create : ["explain", "temp", "temporary", "trigger", "end"].contains(word) ? .other : .explain
        case .create: word == "temp" || word == "temporary" ? .create : word == "trigger" ? .trigger : .other
        case .other: .other
        case .semicolon: word == "end" ? .end : .trigger
        case .trigger, .end: .trigger
        }
    }

    private mutating func endsStatement() -> Bool {
        if phase == .trigger || phase == .semicolon {
            phase = .semicolon
            return false
        }
        phase = .start
        return true
    }
}

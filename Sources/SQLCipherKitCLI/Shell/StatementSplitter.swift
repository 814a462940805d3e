import SQLCipherKit

/// Takes SQL apart into statements, line by line, in a time that grows with its length: where a line ends is kept, and nothing is
/// looked at twice. A semicolon ends a statement unless it stands in a string, in a comment or in a trigger's body
/// (<https://sqlite.org/c3ref/complete.html>).
struct StatementSplitter {
    struct Statement {
        let sql: String
        /// The line that it begins in, counted from 1.
        let line: Int
    }

    private enum Mode { case plain, quoted(until: UInt8), lineComment, blockComment }
    /// What the statement is so far; `semicolon` and `end` are behind those of a trigger's body.
    private enum Phase { case start, explain, create, other, trigger, semicolon, end }

    private var mode = Mode.plain
    private var phase = Phase.start
    private var text: [UInt8] = []
    private var textLine = 1
    private var word: [UInt8] = []
    /// The line that was taken last, counted from 1.
    private(set) var line = 0

    /// Whether nothing is begun: not even a comment.
    var isEmpty: Bool {
        guard phase == .start, text.isEmpty else { return false }
        if case .plain = mode { return true }
        return false
    }

    /// Takes a line.
    /// - Returns: the statements that it ends.
    mutating func take(_ source: String) -> [Statement] {
        line += 1
        var statements: [Statement] = []
        let bytes = Array(source.utf8)
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            let next = position + 1 < bytes.count ? bytes[position + 1] : 0
            position += 1
            if text.isEmpty {
                if byte == 0x20 || byte == 0x09 || byte == 0x0d { continue }
                textLine = line
            }
            text.append(byte)
            switch mode {
            case .quoted(let until):
                // A doubled quote ends the string and begins it again.
                if byte == until { mode = .plain }
            case .lineComment: break
            case .blockComment:
                if byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") {
                    text.append(next)
                    position += 1
                    mode = .plain
                }
            case .plain:
                if Self.isWordPart(byte) {
                    word.append(byte)
                    continue
                }
                endWord()
                switch (byte, next) {
                case (UInt8(ascii: ";"), _):
                    guard endsStatement() else { continue }
                    statements.append(Statement(sql: String(decoding: text, as: UTF8.self), line: textLine))
                    text = []
                case (UInt8(ascii: "-"), UInt8(ascii: "-")): mode = .lineComment
                case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                    text.append(next)
                    position += 1
                    mode = .blockComment
                case (UInt8(ascii: "'"), _), (UInt8(ascii: "\""), _), (UInt8(ascii: "`"), _):
                    token([])
                    mode = .quoted(until: byte)
                case (UInt8(ascii: "["), _):
                    token([])
                    mode = .quoted(until: UInt8(ascii: "]"))
                case (0x20, _), (0x09, _), (0x0d, _), (0x0c, _): break
                default: token([])
                }
            }
        }
        if case .plain = mode { endWord() }
        if case .lineComment = mode { mode = .plain }
        if !text.isEmpty { text.append(0x0a) }
        // A comment on its own is no statement that waits for its end.
        if phase == .start, case .plain = mode { text = [] }
        return statements
    }

    /// Counts a line that is no SQL.
    mutating func skipLine() { line += 1 }

    /// What has no semicolon at its end.
    mutating func rest() -> Statement? {
        defer { reset() }
        return isEmpty ? nil : Statement(sql: String(decoding: text, as: UTF8.self), line: textLine)
    }

    /// Forgets what is begun.
    mutating func reset() { (mode, phase, text, word) = (.plain, .start, [], []) }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...: true
        default: false
        }
    }

    private mutating func endWord() {
        guard !word.isEmpty else { return }
        token(word.count <= 9 ? word.map { $0 | 0x20 } : [])
        word.removeAll(keepingCapacity: true)
    }

    /// - Parameter word: in lower case; empty for all that is none.
    private mutating func token(_ word: [UInt8]) {
        let word = String(decoding: word, as: UTF8.self)
        phase = switch phase {
        case .start: word == "explain" ? .explain : word == "create" ? .create : .other
        case .explain: word == "query" || word == "plan" ? .explain : word == "create" ? .create : .other
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

import SQLCipherKit

/// Splits SQL into statements, line by line, in linear time: the state at the end of a line is kept, and no byte is looked at
/// twice. A semicolon ends a statement unless it is in a string, in a comment or in a trigger's body
/// (<https://sqlite.org/c3ref/complete.html>).
struct StatementSplitter {
    struct Statement {
        let sql: String
        /// The line on which it begins, counted from 1.
        let line: Int
    }

    private enum Mode { case plain, quoted(until: UInt8), lineComment, blockComment }
    /// What the statement is so far. `semicolon` and `end` are the states after these tokens in a trigger's body.
    private enum Phase { case start, explain, create, other, trigger, semicolon, end }

    private var mode = Mode.plain
    private var phase = Phase.start
    private var text: [UInt8] = []
    private var textLine = 1
    /// The number of the last line taken, counted from 1.
    private(set) var line = 0

    /// Whether no statement and no comment has begun.
    var isEmpty: Bool {
        guard phase == .start, text.isEmpty else { return false }
        if case .plain = mode { return true }
        return false
    }

    /// Takes a line, without its line feed.
    /// - Returns: the statements that end on it.
    /// - Throws: ``Failure`` for one that is not UTF-8.
    mutating func take(_ source: some Sequence<UInt8>) throws(Failure) -> [Statement] {
        line += 1
        let statements = source.withContiguousStorageIfAvailable { take($0) } ?? Array(source).withUnsafeBufferPointer { take($0) }
        guard let statements else { throw Failure("line \(textLine): this is not UTF-8") }
        return statements
    }

    private mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Statement]? {
        var statements: [Statement] = []
        var position = 0
        /// Where the part of the statement that is not in `text` yet begins.
        var start = 0
        var isBegun = !text.isEmpty
        while position < bytes.count {
            let byte = bytes[position]
            if !isBegun {
                if byte == 0x20 || byte == 0x09 || byte == 0x0d {
                    position += 1
                    continue
                }
                (isBegun, start, textLine) = (true, position, line)
            }
            switch mode {
            case .quoted(let until):
                // A doubled quote ends the string and begins it again.
                while position < bytes.count, bytes[position] != until { position += 1 }
                if position < bytes.count { mode = .plain }
                position += 1
            case .lineComment: position = bytes.count
            case .blockComment:
                position += 1
                if byte == UInt8(ascii: "*"), position < bytes.count, bytes[position] == UInt8(ascii: "/") {
                    position += 1
                    mode = .plain
                }
            case .plain where Self.isWordPart(byte):
                let wordStart = position
                while position < bytes.count, Self.isWordPart(bytes[position]) { position += 1 }
                // Most words say nothing about the kind of statement they are in.
                if phase != .other { token(bytes[wordStart..<position].prefix(10)) }
            case .plain:
                let next = position + 1 < bytes.count ? bytes[position + 1] : 0
                position += 1
                switch (byte, next) {
                case (UInt8(ascii: ";"), _):
                    guard endsStatement() else { continue }
                    text += bytes[start..<position]
                    guard let sql = String(validating: text, as: UTF8.self) else { return nil }
                    statements.append(Statement(sql: sql, line: textLine))
                    text.removeAll(keepingCapacity: true)
                    isBegun = false
                case (UInt8(ascii: "-"), UInt8(ascii: "-")): mode = .lineComment
                case (UInt8(ascii: "/"), UInt8(ascii: "*")):
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
        if case .lineComment = mode { mode = .plain }
        if isBegun {
            text += bytes[start...]
            text.append(0x0a)
        }
        // A comment on its own does not begin a statement.
        if phase == .start, case .plain = mode { text.removeAll(keepingCapacity: true) }
        return statements
    }

    /// Counts a line that is not SQL.
    mutating func skipLine() { line += 1 }

    /// The text at the end that has no semicolon.
    mutating func rest() throws(Failure) -> Statement? {
        defer { reset() }
        if isEmpty { return nil }
        guard let sql = String(validating: text, as: UTF8.self) else { throw Failure("line \(textLine): this is not UTF-8") }
        return Statement(sql: sql, line: textLine)
    }

    /// Discards an unfinished statement.
    mutating func reset() { (mode, phase, text) = (.plain, .start, []) }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...: true
        default: false
        }
    }

    /// - Parameter bytes: the start of a word; empty for a token that is not a word.
    private mutating func token(_ bytes: some Collection<UInt8>) {
        guard phase != .other else { return }
        let word = String(decoding: bytes.map { $0 | 0x20 }, as: UTF8.self)
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

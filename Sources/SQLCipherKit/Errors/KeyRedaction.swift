/// Takes key material out of SQL text before anybody may see it in an error, a trace or a log.
///
/// This package never writes a key into SQL, but a user may type `PRAGMA key = '…'`, `ATTACH … KEY '…'` or a URI with
/// `?key=…`. What follows such a keyword is cut out up to the end of its statement, well-formed or not.
struct KeyRedaction {
    /// What stands in place of a key.
    static let mark = "[redacted]"

    /// The text without its keys.
    let text: String
    /// Where the first key began, in bytes of UTF-8: what is before it is as it was.
    let firstOffset: Int
    /// The pieces that were cut out, which a message of SQLite's may repeat.
    private let secrets: [String]

    /// Nil if there is nothing to hide, which is nearly always and found out quickly.
    /// - Parameter isSQL: whether the text is SQL; in any other text only URIs are looked at.
    init?(_ sql: String, isSQL: Bool = true) {
        guard Self.mentionsKey(sql) else { return nil }
        var scanner = KeyScanner(Array(sql.utf8))
        let ranges = isSQL ? scanner.ranges() : scanner.uriKeys(outside: [])
        guard let first = ranges.first else { return nil }
        var text = "", position = 0
        var secrets: [String] = []
        for range in ranges {
            text += String(decoding: scanner.bytes[position..<range.lowerBound], as: UTF8.self) + Self.mark
            secrets += scanner.pieces(range)
            position = range.upperBound
        }
        self.text = text + String(decoding: scanner.bytes[position...], as: UTF8.self)
        self.secrets = secrets
        firstOffset = first.lowerBound
    }

    /// Whether a message repeats what was cut out, or a word of it. To say too little is no harm here.
    func leaks(into message: String) -> Bool {
        secrets.contains { secret in
            message.contains(secret)
                || message.split { !$0.isLetter && !$0.isNumber }.contains { $0.count > 2 && secret.contains($0) }
        }
    }

    /// The text without its keys, or as it is if it has none.
    static func clean(_ sql: String, isSQL: Bool = true) -> String { KeyRedaction(sql, isSQL: isSQL)?.text ?? sql }

    /// Every keyword that leads to a key has "key" in it, but for one pragma, which has "random".
    private static func mentionsKey(_ sql: String) -> Bool {
        var matched = 0
        for byte in sql.utf8 {
            switch (matched, byte | 0x20) {
            case (1, UInt8(ascii: "e")), (3, UInt8(ascii: "a")): matched += 1
            case (2, UInt8(ascii: "y")), (4, UInt8(ascii: "n")): return true
            case (_, UInt8(ascii: "k")): matched = 1
            case (_, UInt8(ascii: "r")): matched = 3
            default: matched = 0
            }
        }
        return false
    }
}

/// Walks through SQL as SQLite's tokenizer does, and finds the ranges that hold keys.
private struct KeyScanner {
    let bytes: [UInt8]
    private var position = 0

    private enum Token {
        case word(String)
        case quoted(String)
        case symbol(UInt8)
    }

    /// Pragmas whose value is a key or goes into making one.
    private static let pragmas: Set<String> = [
        "key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey", "cipher_add_random",
    ]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func ranges() -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        position = 0
        while position < bytes.count { statement(&ranges) }
        return uriKeys(outside: ranges)
    }

    /// The contents of the tokens in a range: what an error message could quote.
    func pieces(_ range: Range<Int>) -> [String] {
        var inner = KeyScanner(Array(bytes[range]))
        var pieces: [String] = []
        while let token = inner.next() {
            switch token {
            case .word(let text), .quoted(let text): if !text.isEmpty && text != "?" { pieces.append(text) }
            case .symbol: break
            }
        }
        return pieces
    }

    private mutating func statement(_ ranges: inout [Range<Int>]) {
        var first: String?
        while let token = next() {
            switch token {
            case .symbol(UInt8(ascii: ";")): return
            case .word(let word) where ["explain", "query", "plan"].contains(word): continue
            case .word(let word): first = word
            default: first = ""
            }
            break
        }
        switch first {
        case "pragma": pragma(&ranges)
        case "attach": attach(&ranges)
        case nil: return
        default: _ = end()
        }
    }

    private mutating func pragma(_ ranges: inout [Range<Int>]) {
        var name: String?
        while let token = next() {
            switch token {
            case .word(let text), .quoted(let text): name = text.lowercased()
            case .symbol(UInt8(ascii: ".")): continue
            case .symbol(UInt8(ascii: ";")): return
            case .symbol:
                let start = position
                let end = end()
                if let name, Self.pragmas.contains(name) { ranges.append(start..<end) }
                return
            }
        }
    }

    private mutating func attach(_ ranges: inout [Range<Int>]) {
        while let token = next() {
            switch token {
            case .word("key"):
                let start = position
                ranges.append(start..<end())
                return
            case .symbol(UInt8(ascii: ";")): return
            default: continue
            }
        }
    }

    /// Goes behind the end of the statement, and gives the place of its semicolon.
    private mutating func end() -> Int {
        while true {
            let start = position
            guard let token = next() else { return bytes.count }
            if case .symbol(UInt8(ascii: ";")) = token { return max(start, position - 1) }
        }
    }

    /// Adds the values of `key=`, `hexkey=` and `textkey=` in URIs, which stand in string literals.
    func uriKeys(outside ranges: [Range<Int>]) -> [Range<Int>] {
        var found = ranges
        for index in bytes.indices where bytes[index] == UInt8(ascii: "=") {
            let before = String(decoding: bytes[..<index].suffix(9), as: UTF8.self).lowercased()
            guard ["?key", "&key", "?hexkey", "&hexkey", "?textkey", "&textkey"].contains(where: before.hasSuffix) else { continue }
            let stops = Array("&#'\"`; \n".utf8)
            let end = bytes[(index + 1)...].firstIndex { stops.contains($0) } ?? bytes.count
            if end > index + 1, !ranges.contains(where: { $0.contains(index) }) { found.append(index + 1..<end) }
        }
        return found.sorted { $0.lowerBound < $1.lowerBound }
    }

    private mutating func next() -> Token? {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case 9...13, 32: position += 1
            case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
                skip { $0 == UInt8(ascii: "\n") }
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                position += 2
                while position < bytes.count, !(bytes[position] == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { position += 1 }
                position = min(position + 2, bytes.count)
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): return quoted(until: byte)
            case UInt8(ascii: "["): return quoted(until: UInt8(ascii: "]"))
            case _ where Self.isWord(byte):
                let start = position
                skip { !Self.isWord($0) }
                return .word(String(decoding: bytes[start..<position], as: UTF8.self).lowercased())
            default:
                position += 1
                return .symbol(byte)
            }
        }
        return nil
    }

    private func peek(_ distance: Int) -> UInt8? { position + distance < bytes.count ? bytes[position + distance] : nil }

    private mutating func skip(until stop: (UInt8) -> Bool) {
        while position < bytes.count, !stop(bytes[position]) { position += 1 }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || (byte >= 0x30 && byte <= 0x39)
            || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a)
    }

    private mutating func quoted(until end: UInt8) -> Token {
        position += 1
        var content: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == end {
                // Doubled, it stands for itself.
                guard end != UInt8(ascii: "]"), position < bytes.count, bytes[position] == end else { break }
                position += 1
            }
            content.append(byte)
        }
        return .quoted(String(decoding: content, as: UTF8.self))
    }
}

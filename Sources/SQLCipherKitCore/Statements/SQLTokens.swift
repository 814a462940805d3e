import CSQLCipher

/// The tokens of SQL text as the engine's own parser reads them.
package struct SQLTokens {
    package enum Kind { case blank, comment, word, quoted, semicolon, opening, closing, other, unreadable }

    package struct Token {
        package let kind: Kind
        /// The token's position in bytes of UTF-8.
        package let range: Range<Int>
    }

    private let bytes: [UInt8]
    private var position = 0
    /// The end of the last token before the position that is neither blank nor a comment.
    private(set) var end = 0

    /// The number of bytes of the text.
    package var count: Int { bytes.count - 1 }

    /// - Parameter text: UTF-8. A NUL in it, at which the engine would end, is read as a character that is not SQL.
    package init(_ text: [UInt8]) { bytes = (text.contains(0) ? text.map { $0 == 0 ? 1 : $0 } : text) + [0] }

    package init(_ text: String) { self.init(Array(text.utf8)) }

    /// The next token that is neither blank nor a comment; nil at the end of the text.
    package mutating func next() -> Token? {
        while let part = nextPart() {
            guard part.kind != .blank, part.kind != .comment else { continue }
            end = position
            return part
        }
        return nil
    }

    /// The next token, which may be blank or a comment; nil at the end of the text.
    package mutating func nextPart() -> Token? {
        guard position < count else { return nil }
        let (kind, length) = bytes.withUnsafeBytes { Self.read($0, at: position) }
        defer { position += length }
        return Token(kind: kind, range: position..<position + length)
    }

    /// Reads the token at a position of bytes that end with a NUL.
    static func read(_ bytes: UnsafeRawBufferPointer, at position: Int) -> (kind: Kind, length: Int) {
        var kind = SQLCIPHERKIT_TOKEN_UNREADABLE
        let text = UnsafeRawBufferPointer(rebasing: bytes[position...]).assumingMemoryBound(to: CChar.self)
        let length = text.baseAddress.map { Int(sqlcipherkit_token($0, &kind)) } ?? 0
        // No token is empty.
        return (Kind(kind), min(max(1, length), text.count))
    }

    /// A token's text.
    package func text(_ token: Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

    /// Returns the beginning of a string, a quoted name or a comment that has no end; nil for any other token. After this
    /// beginning, the text that follows has the same tokens as after the whole text.
    package func opening(_ token: Token) -> ArraySlice<UInt8>? {
        guard token.kind == .unreadable, token.range.upperBound == count else { return nil }
        let text = bytes[token.range]
        if text.starts(with: "/*".utf8) { return text.prefix(2) }
        return text.prefix(2).firstIndex { "'\"`[".utf8.contains($0) }.map { text[...$0] }
    }

    /// Returns whether a token is a keyword, ignoring case, and not a quoted name.
    package func isWord(_ token: Token?, _ keyword: StaticString) -> Bool {
        guard let token, token.kind == .word, token.range.count == keyword.utf8CodeUnitCount else { return false }
        return keyword.withUTF8Buffer { word in
            word.indices.allSatisfy { bytes[token.range.lowerBound + $0] & ~0x20 == word[$0] & ~0x20 }
        }
    }

    /// The name that a token stands for, without its quotes; nil if the token is not a name.
    package func name(_ token: Token?) -> String? {
        guard let token, token.kind == .word || token.kind == .quoted else { return nil }
        return token.kind == .quoted ? bytes[token.range].unquoted : text(token)
    }
}

extension BidirectionalCollection<UInt8> {
    /// The UTF-8 text without the quotes or brackets around it, if any, and with doubled ones in it undoubled. It works on bytes,
    /// because a combining mark after a quote would form a different character.
    package var unquoted: String {
        guard let opening = first, "'\"`[".utf8.contains(opening), count >= 2 else { return String(decoding: self, as: UTF8.self) }
        let closing = opening == UInt8(ascii: "[") ? UInt8(ascii: "]") : opening
        var bytes: [UInt8] = []
        var isSecond = false
        for byte in dropFirst().dropLast() {
            if byte == closing, isSecond {
                isSecond = false
                continue
            }
            isSecond = byte == closing
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension SQLTokens.Kind {
    fileprivate init(_ kind: Int32) {
        self =
            switch kind {
            case SQLCIPHERKIT_TOKEN_BLANK: .blank
            case SQLCIPHERKIT_TOKEN_COMMENT: .comment
            case SQLCIPHERKIT_TOKEN_WORD: .word
            case SQLCIPHERKIT_TOKEN_QUOTED: .quoted
            case SQLCIPHERKIT_TOKEN_SEMICOLON: .semicolon
            case SQLCIPHERKIT_TOKEN_OPENING: .opening
            case SQLCIPHERKIT_TOKEN_CLOSING: .closing
            case SQLCIPHERKIT_TOKEN_OTHER: .other
            default: .unreadable
            }
    }
}

import CSQLCipher

/// The tokens of SQL text as the engine's own parser reads them, without blanks and comments.
package struct SQLTokens {
    package enum Kind { case word, quoted, semicolon, opening, closing, other, unreadable }

    package struct Token {
        package let kind: Kind
        /// The token's position in bytes of UTF-8.
        package let range: Range<Int>
    }

    private let bytes: ContiguousArray<CChar>
    private(set) var position = 0
    /// The end of the last token before the position. Only blanks and comments lie between the two.
    private(set) var end = 0

    /// The number of bytes of the text.
    var count: Int { bytes.count - 1 }

    /// - Parameter text: the text, without NUL characters, at which it would end.
    package init(_ text: String) { bytes = text.utf8CString }

    /// The next token; nil at the end of the text.
    package mutating func next() -> Token? {
        bytes.withUnsafeBufferPointer { bytes in
            while let base = bytes.baseAddress, position < bytes.count - 1 {
                var kind = SQLCIPHERKIT_TOKEN_BLANK
                let length = Int(sqlcipherkit_token(base + position, &kind))
                // No token is empty: a length of 0 means that the engine cannot read any further.
                guard length > 0 else { return Token(kind: .unreadable, range: position..<bytes.count - 1) }
                defer { position += length }
                guard kind != SQLCIPHERKIT_TOKEN_BLANK else { continue }
                end = position + length
                return Token(kind: Kind(kind), range: position..<end)
            }
            return nil
        }
    }

    /// A token's text.
    func text(_ token: Token) -> String {
        String(decoding: bytes[token.range].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether a token is a keyword, ignoring case, and not a quoted name.
    package func isWord(_ token: Token?, _ keyword: StaticString) -> Bool {
        guard let token, token.kind == .word, token.range.count == keyword.utf8CodeUnitCount else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            keyword.withUTF8Buffer { word in
                word.indices.allSatisfy { UInt8(bitPattern: bytes[token.range.lowerBound + $0]) & ~0x20 == word[$0] & ~0x20 }
            }
        }
    }

    /// The name that a token stands for, without its quotes; nil if the token is not a name.
    func name(_ token: Token?) -> String? {
        guard let token, token.kind == .word || token.kind == .quoted else { return nil }
        return token.kind == .quoted ? bytes[token.range].map(UInt8.init(bitPattern:)).unquoted : text(token)
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

import SQLCipherKit

/// The colors of SQL as it is typed.
enum SyntaxColours {
    private static let keywords = Set(SQLCipherEngine.keywords)

    /// The attribute (ECMA-48, 8.3.117) of each character; nil for the terminal's default.
    static func attributes(_ characters: [Character]) -> [String?] {
        var tokens = SQLTokens(String(characters)), attribute: String?, end = 0, place = 0
        return characters.map { character in
            while place >= end, let token = tokens.nextPart() { (attribute, end) = (colour(token, tokens), token.range.upperBound) }
            place += character.utf8.count
            return attribute
        }
    }

    private static func colour(_ token: SQLTokens.Token, _ tokens: SQLTokens) -> String? {
        let text = tokens.text(token).utf8
        switch (token.kind, text.first ?? 0) {
        case (.comment, _), (.unreadable, UInt8(ascii: "/")): return "2"
        case (.word, _): return keywords.contains(tokens.text(token).uppercased()) ? "1;34" : nil
        case (_, UInt8(ascii: "'")): return "32"
        case (_, UInt8(ascii: "0")...UInt8(ascii: "9")): return "33"
        case (.other, UInt8(ascii: ".")): return text.count > 1 ? "33" : nil
        default: return nil
        }
    }
}

import SQLCipherKit

/// The words of possibly unfinished SQL.
struct SQLWords {
    /// Names without their quotes, and signs as they are.
    var words: [String] = []
    /// True if the end is inside a string or a comment, where nothing is completed.
    var isInText = false
    /// The text so far of a name in double quotes that are still open.
    var openName: String?

    static func tokens(_ sql: String) -> SQLWords {
        var result = SQLWords(), tokens = SQLTokens(sql)
        while let token = tokens.nextPart() {
            let text = tokens.text(token), isLast = token.range.upperBound == tokens.count
            switch token.kind {
            case .blank: break
            case .comment: result.isInText = isLast && text.utf8.first == UInt8(ascii: "-")
            // The words of an earlier statement do not count.
            case .semicolon where !isLast: result.words = []
            case .quoted: result.words.append(text.utf8.first == UInt8(ascii: "'") ? "''" : text.utf8.unquoted)
            default:
                guard let opening = tokens.opening(token) else {
                    result.words.append(text)
                    continue
                }
                if opening.elementsEqual("\"".utf8) { result.openName = String(text.dropFirst()) } else { result.isInText = true }
            }
        }
        return result
    }
}

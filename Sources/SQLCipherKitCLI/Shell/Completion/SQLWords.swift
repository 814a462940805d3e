import SQLCipherKit

/// The words of possibly unfinished SQL, for completion.
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

    /// The tables that a statement names, and their aliases.
    static func tables(of words: [String]) -> [(table: String, alias: String)] {
        var tables: [(table: String, alias: String)] = []
        var index = 0
        while index < words.count {
            let word = words[index].lowercased()
            index += 1
            guard ["from", "join", "update", "into"].contains(word) else { continue }
            repeat {
                if index < words.count, words[index] == "," { index += 1 }
                if index + 2 < words.count, words[index + 1] == "." { index += 2 }
                guard index < words.count, words[index].allSatisfy(\.isSQLName) else { break }
                let table = words[index]
                index += 1
                if index < words.count, words[index].lowercased() == "as" { index += 1 }
                var alias = table
                if index < words.count, words[index].allSatisfy(\.isSQLName), !clauses.contains(words[index].lowercased()) {
                    alias = words[index]
                    index += 1
                }
                tables.append((table, alias))
            } while index < words.count && words[index] == "," && word == "from"
        }
        return tables
    }

    /// Words that can follow a table's name and are not an alias.
    private static let clauses: Set<String> = [
        "cross", "default", "except", "full", "group", "having", "indexed", "inner", "intersect", "join", "left", "limit",
        "natural",
        "not", "on", "order", "outer", "returning", "right", "select", "set", "union", "using", "values", "where", "window",
    ]
}

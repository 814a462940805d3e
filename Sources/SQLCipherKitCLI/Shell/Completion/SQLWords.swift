/// The words of possibly unfinished SQL, for completion.
struct SQLWords {
    /// Names without their quotes, and signs as they are.
    var words: [String] = []
    /// Whether the end is inside a string or a comment, where nothing is completed.
    var isInText = false
    /// The text so far of a name in double quotes that are still open.
    var openName: String?

    static func tokens(_ sql: String) -> SQLWords {
        var result = SQLWords()
        var rest = Substring(sql)
        while let character = rest.first {
            if character.isWhitespace {
                rest.removeFirst()
            } else if rest.hasPrefix("--") {
                let comment = rest.prefix { $0 != "\n" }
                rest.removeFirst(comment.count)
                result.isInText = rest.isEmpty
            } else if rest.hasPrefix("/*") {
                rest.removeFirst(2)
                while !rest.isEmpty, !rest.hasPrefix("*/") { rest.removeFirst() }
                result.isInText = rest.isEmpty
                rest.removeFirst(min(2, rest.count))
            } else if let end = ["'": "'", "\"": "\"", "`": "`", "[": "]"][character] as Character? {
                rest.removeFirst()
                let text = rest.prefix { $0 != end }
                rest.removeFirst(text.count)
                if rest.isEmpty {
                    if character == "\"" { result.openName = String(text) } else { result.isInText = true }
                } else {
                    rest.removeFirst()
                    result.words.append(character == "'" ? "''" : String(text))
                }
            } else if character.isSQLName {
                let word = rest.prefix { $0.isSQLName }
                rest.removeFirst(word.count)
                result.words.append(String(word))
            } else {
                rest.removeFirst()
                // The words of an earlier statement do not count.
                if character == ";", !rest.isEmpty { result.words = [] } else { result.words.append(String(character)) }
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

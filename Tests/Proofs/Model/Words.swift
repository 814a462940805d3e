import SQLCipherKit

/// A query of words, as the package builds it, as FTS5 reads it, and as plain Swift answers it.
indirect enum Words: Sendable {
    case word(String)
    case prefix(String)
    case phrase(String, String)
    case both(Words, Words)
    case either(Words, Words)
    case without(Words, Words)
    case title(Words)

    var query: FTS5Query {
        switch self {
        case .word(let word): .phrase(word)
        case .prefix(let word): .prefix(word)
        case .phrase(let a, let b): .phrase("\(a) \(b)")
        case .both(let a, let b): a.query.and(b.query)
        case .either(let a, let b): a.query.or(b.query)
        case .without(let a, let b): a.query.excluding(b.query)
        case .title(let a): .column("title", a.query)
        }
    }

    var expression: String {
        switch self {
        case .word(let word): "\"\(word)\""
        case .prefix(let word): "\"\(word)\" *"
        case .phrase(let a, let b): "\"\(a) \(b)\""
        case .both(let a, let b): "(\(a.expression)) AND (\(b.expression))"
        case .either(let a, let b): "(\(a.expression)) OR (\(b.expression))"
        case .without(let a, let b): "(\(a.expression)) NOT (\(b.expression))"
        case .title(let a): "title : (\(a.expression))"
        }
    }

    /// - Parameter columns: the words of each column.
    func matches(_ columns: [[String]]) -> Bool {
        switch self {
        case .word(let word): columns.contains { $0.contains(word) }
        case .prefix(let word): columns.contains { $0.contains { $0.hasPrefix(word) } }
        case .phrase(let a, let b): columns.contains { words in zip(words, words.dropFirst()).contains { $0 == a && $1 == b } }
        case .both(let a, let b): a.matches(columns) && b.matches(columns)
        case .either(let a, let b): a.matches(columns) || b.matches(columns)
        case .without(let a, let b): a.matches(columns) && !b.matches(columns)
        case .title(let a): a.matches([columns[0]])
        }
    }
}

extension Dice {
    mutating func words(_ depth: Int) -> Words {
        let a = pick(SearchStep.words), b = pick(SearchStep.words)
        switch below(depth > 0 ? 9 : 4) {
        case 0, 1: return .word(a)
        case 2: return .prefix(String(a.prefix(1 + below(3))))
        case 3: return .phrase(a, b)
        case 4, 5: return .both(words(depth - 1), words(depth - 1))
        case 6: return .either(words(depth - 1), words(depth - 1))
        case 7: return .without(words(depth - 1), words(depth - 1))
        default: return .title(words(depth - 1))
        }
    }

    mutating func sentence() -> String { (0..<below(5)).map { _ in pick(SearchStep.words + ["Red", "SKY"]) }.joined(separator: " ") }
}

import SQLCipherKitCore

/// Parses a `CREATE INDEX` statement as SQLite stores it, for the expressions and the condition, which no pragma returns.
struct IndexText {
    /// The indexed terms, without `ASC` and `DESC`.
    private(set) var terms: [String] = []
    /// The condition of a partial index.
    private(set) var condition: String?

    init(_ sql: String) {
        let sql = Array(sql.utf8)
        var position = 0
        var depth = 0
        var term: [UInt8] = []
        while position < sql.count {
            let end = Self.token(in: sql, at: position)
            defer { position = end }
            let byte = sql[position]
            if end == position + 1, byte == UInt8(ascii: "(") {
                depth += 1
                if depth == 1 { continue }
            } else if end == position + 1, byte == UInt8(ascii: ")") {
                depth -= 1
                if depth == 0 {
                    terms.append(Self.withoutOrder(term))
                    condition = Self.condition(sql[end...])
                    return
                }
            } else if end == position + 1, byte == UInt8(ascii: ","), depth == 1 {
                terms.append(Self.withoutOrder(term))
                term = []
                continue
            }
            if depth > 0 { term += sql[position..<end] }
        }
    }

    /// The end of the token at a position: a string, a quoted name, a comment, or a single byte.
    private static func token(in sql: [UInt8], at start: Int) -> Int {
        func end(_ found: Int?, _ length: Int) -> Int { found.map { $0 + length } ?? sql.count }
        let next = start + 1 < sql.count ? sql[start + 1] : 0
        switch sql[start] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): return end(sql[(start + 1)...].firstIndex(of: sql[start]), 1)
        case UInt8(ascii: "["): return end(sql[start...].firstIndex(of: UInt8(ascii: "]")), 1)
        case UInt8(ascii: "-") where next == UInt8(ascii: "-"): return end(sql[start...].firstIndex(of: 10), 1)
        case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
            var position = start + 2
            while position + 1 < sql.count {
                if sql[position] == UInt8(ascii: "*"), sql[position + 1] == UInt8(ascii: "/") { return position + 2 }
                position += 1
            }
            return sql.count
        default: return start + 1
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    private static func withoutOrder(_ term: [UInt8]) -> String {
        var term = term[...]
        while let last = term.last, isBlank(last) { term.removeLast() }
        for order in ["asc", "desc"] where term.count > order.utf8.count {
            let word = term.suffix(order.utf8.count)
            guard word.map(\.lowercasedASCII).elementsEqual(order.utf8) else { continue }
            let before = term[word.startIndex - 1]
            if isBlank(before) || before == UInt8(ascii: ")") || before == UInt8(ascii: "\"") {
                term = term[..<word.startIndex]
            }
            break
        }
        return String(decoding: term, as: UTF8.self)
    }

    /// The condition after `WHERE`, which may follow the list of terms.
    private static func condition(_ rest: ArraySlice<UInt8>) -> String? {
        let text = Array(rest)
        var position = 0
        while position < text.count {
            let end = token(in: text, at: position)
            if !isBlank(text[position]), end == position + 1 {
                guard text[position...].prefix(5).map(\.lowercasedASCII).elementsEqual("where".utf8) else { return nil }
                return String(decoding: text[(position + 5)...], as: UTF8.self)
            }
            position = end
        }
        return nil
    }
}

import SQLCipherKitCore

/// User input, parsed into words and what is to be done with them. Any text is accepted.
struct SearchText {
    /// A run of words or a phrase.
    struct Part {
        var range: Range<String.Index>
        var isQuoted: Bool
        /// True if a `*` follows it.
        var isPrefix: Bool
        var column: String?
    }

    /// The tree that operators make of the parts.
    private indirect enum Node {
        case part(Int)
        case all([Node])
        case any([Node])
    }

    private(set) var parts: [Part] = []
    /// The parts that are searched for: of each clause, a row must have one.
    private(set) var clauses: [[Int]] = []
    /// The parts that are excluded: no row may have all of a group.
    private(set) var excluded: [[Int]] = []
    /// True if nothing follows the last part, so that it may still be being typed.
    private(set) var isOpen = false
    /// True if there are `AND`, `OR` or `NOT` as operators.
    private(set) var hasKeywords = false

    private let text: Substring
    private let columns: [String]
    private let readsKeywords: Bool
    /// True if capitals have no meaning.
    private let isAllInCapitals: Bool
    private var position: String.Index
    private var depth = 0
    /// The maximum number of brackets in one another, and of the clauses that they are written out as.
    private static let limit = 16

    init(_ text: String, columns: [String], readsKeywords: Bool = true) {
        // A long text has been pasted, not typed.
        let limit = text.utf8.count <= 10_000 ? text.endIndex : text.unicodeScalars.index(text.startIndex, offsetBy: 2_500)
        self.text = text[..<limit]
        self.columns = columns
        self.readsKeywords = readsKeywords
        isAllInCapitals = Self.isAllInCapitals(self.text)
        position = text.startIndex
        while position < self.text.endIndex, parts.count < Self.most {
            let nodes = sequence()
            clauses += nodes.flatMap { Self.clauses($0) }
            // A closing bracket too many is left.
            if next != nil { advance() }
        }
        excluded = excluded.filter { !$0.isEmpty }
    }

    private static let most = 256

    private var next: Unicode.Scalar? { position < text.endIndex ? text.unicodeScalars[position] : nil }

    private var following: Unicode.Scalar? { text.unicodeScalars[position...].dropFirst().first }

    private mutating func advance() { position = text.unicodeScalars.index(after: position) }

    /// Reads up to the end of the text or of the bracket, and returns what is wanted of it.
    private mutating func sequence() -> [Node] {
        var nodes: [Node] = []
        var (isAlternative, isExcluded) = (false, false)
        while true {
            while let scalar = next, scalar.isBlankOrNUL { advance() }
            guard let first = next, parts.count < Self.most else { break }
            if depth > 0, first == ")" { break }
            if takeKeyword("AND", isFirst: nodes.isEmpty) { continue }
            if takeKeyword("OR", isFirst: nodes.isEmpty) || (next == "|" && takeBar()) {
                isAlternative = !nodes.isEmpty && !isExcluded
                continue
            }
            if (!isAllInCapitals && takeKeyword("NOT", isFirst: false)) || takeMinus() {
                isExcluded = true
                continue
            }
            guard let node = next == "(" ? group() : single() else { continue }
            if isExcluded {
                excluded += Self.groups(node)
            } else if isAlternative, let last = nodes.popLast() {
                nodes.append(.any([last, node]))
            } else {
                nodes.append(node)
            }
            (isAlternative, isExcluded) = (false, false)
        }
        return nodes
    }

    private mutating func group() -> Node? {
        advance()
        // Brackets in brackets in brackets are text.
        guard depth < Self.limit else { return nil }
        isOpen = false
        depth += 1
        let nodes = sequence()
        depth -= 1
        if next == ")" {
            advance()
            isOpen = false
        }
        return nodes.isEmpty ? nil : nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func single() -> Node? {
        isOpen = false
        let column = next?.isQuoteOrAlike == true ? nil : takeColumn()
        guard var part = part() else { return nil }
        part.column = column
        parts.append(part)
        return .part(parts.count - 1)
    }

    /// Returns whether there is a capital outside the operators, and no small letter.
    private static func isAllInCapitals(_ text: Substring) -> Bool {
        guard !text.unicodeScalars.contains(where: \.properties.isLowercase) else { return false }
        return text.unicodeScalars.split(whereSeparator: \.isBlankOrNUL).contains { word in
            word.contains(where: \.properties.isUppercase)
                && !["OR", "AND", "NOT"].contains { word.elementsEqual($0.unicodeScalars) }
        }
    }

    /// Returns whether a text without spaces is a version, a date, an address, or another whole: one with a digit, an `@` or a
    /// `://`.
    static func isWhole(_ part: Substring) -> Bool {
        part.unicodeScalars.contains { $0.properties.generalCategory == .decimalNumber || $0 == "@" } || part.contains("://")
    }

    /// Returns whether a word has a digit.
    static func hasDigit(_ word: [UInt8]) -> Bool {
        String(decoding: word, as: UTF8.self).unicodeScalars.contains { $0.properties.generalCategory == .decimalNumber }
    }

    // MARK: Writing out

    /// Lists of which all must be met, each by one of its parts. With too many, brackets are ignored.
    private static func clauses(_ node: Node) -> [[Int]] {
        switch node {
        case .part(let part): return [[part]]
        case .all(let nodes): return nodes.flatMap { clauses($0) }
        case .any(let nodes): return product(nodes.map { clauses($0) }) ?? [leaves(node)]
        }
    }

    /// Lists of which one must be met, by all of its parts.
    private static func groups(_ node: Node) -> [[Int]] {
        switch node {
        case .part(let part): return [[part]]
        case .any(let nodes): return nodes.flatMap { groups($0) }
        case .all(let nodes): return product(nodes.map { groups($0) }) ?? []
        }
    }

    private static func product(_ lists: [[[Int]]]) -> [[Int]]? {
        var all: [[Int]] = [[]]
        for list in lists {
            guard all.count * list.count <= limit else { return nil }
            all = all.flatMap { one in list.map { one + $0 } }
        }
        return all
    }

    private static func leaves(_ node: Node) -> [Int] {
        switch node {
        case .part(let part): [part]
        case .all(let nodes), .any(let nodes): nodes.flatMap { leaves($0) }
        }
    }

    // MARK: Words

    private mutating func part() -> Part? {
        guard let first = next else { return nil }
        let isQuoted = first.isQuoteOrAlike
        if isQuoted { advance() }
        let start = position
        while let scalar = next, isQuoted ? !scalar.isQuoteOrAlike : !scalar.endsWord(in: depth) { advance() }
        var end = position
        isOpen = !isQuoted && position == text.endIndex
        var isPrefix = false
        if isQuoted {
            if next != nil { advance() }
            if next == "*" {
                isPrefix = true
                advance()
            }
        } else {
            let scalars = text.unicodeScalars
            while end > start, scalars[scalars.index(before: end)] == "*" {
                end = scalars.index(before: end)
                isPrefix = true
            }
        }
        guard start < end else { return nil }
        return Part(range: start..<end, isQuoted: isQuoted, isPrefix: isPrefix)
    }

    /// - Parameter isFirst: whether no word precedes it, so that it is a word itself.
    private mutating func takeKeyword(_ keyword: String, isFirst: Bool) -> Bool {
        let rest = text[position...].unicodeScalars
        guard readsKeywords, !isFirst, rest.starts(with: keyword.unicodeScalars) else { return false }
        let end = rest.index(position, offsetBy: keyword.unicodeScalars.count)
        // An operator at the end may be a word that is still being typed.
        guard end < text.endIndex, text.unicodeScalars[end].isBlankOrNUL || text.unicodeScalars[end] == "(" else { return false }
        position = end
        hasKeywords = true
        return true
    }

    private mutating func takeBar() -> Bool {
        guard let following, following.isBlankOrNUL || following == "(" else { return false }
        advance()
        return true
    }

    private mutating func takeMinus() -> Bool {
        // A hyphen before a blank is a dash.
        guard next == "-", let following, !following.isBlankOrNUL, following != "-" else { return false }
        advance()
        return true
    }

    private mutating func takeColumn() -> String? {
        var end = position
        let scalars = text.unicodeScalars
        while end < text.endIndex, scalars[end] != ":", !scalars[end].isBlankOrNUL, !scalars[end].isQuoteOrAlike {
            end = scalars.index(after: end)
        }
        guard end > position, end < text.endIndex, scalars[end] == ":" else { return nil }
        let after = scalars.index(after: end)
        guard after < text.endIndex, !scalars[after].isBlankOrNUL else { return nil }
        let typed = String(text[position..<end])
        let found = columns.firstIndex(named: typed) ?? columns.firstIndex { $0.lowercased() == typed.lowercased() }
        guard let found else { return nil }
        position = after
        return columns[found]
    }
}

extension Unicode.Scalar {
    /// Returns whether a word ends before it, at a number of open brackets.
    fileprivate func endsWord(in depth: Int) -> Bool { isBlankOrNUL || isQuoteOrAlike || (depth > 0 && self == ")") }
    fileprivate var isBlankOrNUL: Bool { properties.isWhitespace || self == "\0" }
    /// A straight double quote, or a curly one as word processors and phones insert it.
    fileprivate var isQuoteOrAlike: Bool { self == "\"" || self == "\u{201C}" || self == "\u{201D}" || self == "\u{201E}" }
}

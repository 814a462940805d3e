import SQLCipherKitCore

/// User input, parsed into parts. Any text is accepted.
struct TypedText {
    /// A run of words or a phrase.
    struct Part {
        var range: Range<String.Index>
        var isQuoted: Bool
        var isExcluded: Bool
        /// Whether a `*` follows it.
        var isPrefix: Bool
        var column: String?
        /// Whether it is an alternative to the part before it.
        var isAlternative: Bool
    }

    private(set) var parts: [Part] = []
    /// Whether nothing follows the last part, so that it may still be being typed.
    private(set) var isOpen = false

    private let text: Substring
    private let columns: [String]
    private var position: String.Index

    init(_ text: String, columns: [String]) {
        // A long text has been pasted, not typed.
        let limit = text.utf8.count <= 10_000 ? text.endIndex : text.unicodeScalars.index(text.startIndex, offsetBy: 2_500)
        self.text = text[..<limit]
        self.columns = columns
        position = text.startIndex
        parse()
    }

    private var next: Unicode.Scalar? { position < text.endIndex ? text.unicodeScalars[position] : nil }

    private mutating func advance() { position = text.unicodeScalars.index(after: position) }

    private mutating func parse() {
        var isAlternative = false
        var isExcluded = false
        while true {
            while let scalar = next, scalar.isBlankOrNUL { advance() }
            guard let first = next else { break }
            if parts.count >= 256 { break }
            isOpen = false
            if takeKeyword("AND") { continue }
            if takeKeyword("OR") || takeKeyword("|") {
                isAlternative = parts.last.map { !$0.isExcluded } ?? false
                continue
            }
            if takeKeyword("NOT") || takeMinus() {
                isExcluded = true
                continue
            }
            let column = first.isQuoteOrAlike ? nil : takeColumn()
            guard var part = part() else { continue }
            part.column = column
            part.isExcluded = isExcluded
            part.isAlternative = isAlternative && !isExcluded
            parts.append(part)
            (isAlternative, isExcluded) = (false, false)
        }
    }

    private mutating func part() -> Part? {
        guard let first = next else { return nil }
        let isQuoted = first.isQuoteOrAlike
        if isQuoted { advance() }
        let start = position
        while let scalar = next, isQuoted ? !scalar.isQuoteOrAlike : !(scalar.isBlankOrNUL || scalar.isQuoteOrAlike) { advance() }
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
        return Part(
            range: start..<end, isQuoted: isQuoted, isExcluded: false, isPrefix: isPrefix, column: nil, isAlternative: false)
    }

    private mutating func takeKeyword(_ keyword: String) -> Bool {
        let rest = text[position...].unicodeScalars
        guard rest.starts(with: keyword.unicodeScalars) else { return false }
        let end = rest.index(position, offsetBy: keyword.unicodeScalars.count)
        // An operator at the end may be a word that is still being typed.
        guard end < text.endIndex, text.unicodeScalars[end].isBlankOrNUL, !parts.isEmpty || keyword == "NOT" else { return false }
        position = end
        return true
    }

    private mutating func takeMinus() -> Bool {
        guard next == "-" else { return false }
        let after = text.unicodeScalars.index(after: position)
        // A hyphen before a blank is a dash.
        guard after < text.endIndex else { return false }
        if text.unicodeScalars[after].isBlankOrNUL || text.unicodeScalars[after] == "-" { return false }
        position = after
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
    fileprivate var isBlankOrNUL: Bool { properties.isWhitespace || self == "\0" }
    /// A straight double quote, or a curly one as word processors and phones insert it.
    fileprivate var isQuoteOrAlike: Bool { self == "\"" || self == "\u{201C}" || self == "\u{201D}" || self == "\u{201E}" }
}

import SQLCipherKitCore

/// The parser for user input. It accepts any text.
extension FTS5Query {
    /// How user input is parsed.
    public struct InputOptions: Hashable, Sendable {
        /// How words without an operator between them are combined.
        public enum Matching: Hashable, Sendable {
            /// A row must have all of them.
            case all
            /// A row must have at least one of them.
            case any
        }

        /// How words without an operator between them are combined. Default: a row must have all of them.
        public var matching: Matching
        /// The columns that `column:word` may name, ignoring case. Text before any other colon is an ordinary word. Default: none.
        public var columns: [String]
        /// Whether the last word is a prefix, unless a space or a quote follows it: for searching while the user types.
        /// Default: no.
        public var completesLastWord: Bool
        /// Whether `NEAR(one two, 5)` is an operator. Default: no, it is text.
        public var allowsNear: Bool
        /// Whether there are operators: `"…"`, `*`, `-`, `OR`, `|`, `AND` and `NOT`, and with the options above `column:word` and
        /// `NEAR`. If not, all input is plain words. Default: yes.
        public var allowsOperators: Bool
        /// The maximum number of words that are read, including those in phrases; the rest of the input is ignored. In text
        /// without spaces each character counts as a word, and in a word of more than 16 letters every 16 of them do. From 1 to
        /// 200, and other values count as the nearest of these. Default: 64.
        public var maximumTerms: Int

        /// Creates options with the defaults that the properties state.
        public init(
            matching: Matching = .all, columns: [String] = [], completesLastWord: Bool = false, allowsNear: Bool = false,
            allowsOperators: Bool = true, maximumTerms: Int = 64
        ) {
            self.matching = matching
            self.columns = columns
            self.completesLastWord = completesLastWord
            self.allowsNear = allowsNear
            self.allowsOperators = allowsOperators
            self.maximumTerms = maximumTerms
        }
    }

    /// Creates a query from user input. Every text gives a query that FTS5 accepts.
    ///
    /// | typed | meaning |
    /// |---|---|
    /// | `swift data` | both words, in any order |
    /// | `"swift data"` | the phrase |
    /// | `swif*`, `"swift da"*` | words, or phrases, that begin with this |
    /// | `-java`, `-"visual basic"`, `tea NOT java` | rows without these; at least one other word is required |
    /// | `cat OR dog food` | `cat` or `dog`, and in either case `food` |
    /// | `cat AND dog` | both words |
    /// | `title:plan`, `title:"big plan"` | in that column, if ``InputOptions/columns`` contains it |
    /// | `NEAR(big plan, 5)` | near one another, if ``InputOptions/allowsNear`` is set |
    ///
    /// Operators are in capitals, with a word on each side. If the whole text is in capitals, `NOT` is a word (`DO NOT DISTURB`).
    ///
    /// Everything else is text: `multi-agent`, `20.04` and `a'b` are phrases of their parts, `NOTE: x` is two words, and an
    /// unclosed quote extends to the end. A term without a word (`&`, `title:?!`, a stop word) is ignored wherever it occurs. Only
    /// the first 10,000 Unicode scalars of a text are read, and of these at most ``InputOptions/maximumTerms`` words.
    public init(userInput text: String, options: InputOptions = InputOptions()) {
        var parser = UserInputParser(text, options)
        self = parser.parse()
    }

    /// Creates a query from user input with the default options and these columns for `column:word`.
    public init(userInput text: String, columns: [String]) {
        self.init(userInput: text, options: InputOptions(columns: columns))
    }
}

private struct UserInputParser {
    private let options: FTS5Query.InputOptions
    private let text: [Unicode.Scalar]
    private var position = 0
    /// The number of words that may still be read.
    private var words: Int
    private lazy var isAllInCapitals = Self.isAllInCapitals(text)

    init(_ text: String, _ options: FTS5Query.InputOptions) {
        self.options = options
        words = min(max(1, options.maximumTerms), 200)
        // FTS5 opens a cursor for each word, so a long text would be expensive.
        self.text = Array(text.unicodeScalars.prefix(10_000))
    }

    mutating func parse() -> FTS5Query {
        // Each clause is a list of alternatives, joined with `OR`.
        var clauses: [[FTS5Query.Node]] = []
        var excluded: [FTS5Query.Node] = []
        var joinsNext = false
        var excludesNext = false
        while words > 0 {
            skipBlanks()
            guard position < text.count else { break }
            if options.allowsOperators {
                if takeKeyword("OR") || take("|") {
                    joinsNext = !clauses.isEmpty
                    continue
                }
                // Without a word before it, an operator is a word itself.
                if !clauses.isEmpty, takeKeyword("AND") { continue }
                if !clauses.isEmpty, !isAllInCapitals, takeKeyword("NOT") {
                    excludesNext = true
                    continue
                }
            }
            let isExcluded = options.allowsOperators && takeExclusion() || excludesNext
            guard let node = term() else { continue }
            excludesNext = false
            if isExcluded {
                excluded.append(node)
            } else if joinsNext {
                clauses[clauses.count - 1].append(node)
            } else {
                clauses.append([node])
            }
            joinsNext = false
        }
        let nodes = clauses.map { $0.count == 1 ? $0[0] : .any($0) }
        guard !nodes.isEmpty else { return .nothing }
        let wanted = nodes.count == 1 ? nodes[0] : options.matching == .all ? .all(nodes) : .any(nodes)
        return FTS5Query(excluded.isEmpty ? wanted : .not(wanted, .any(excluded)))
    }

    // MARK: Terms

    private mutating func term() -> FTS5Query.Node? {
        if let column = takeColumn() {
            return plainTerm().map { .columns([column], excluded: false, $0) }
        }
        return plainTerm()
    }

    private mutating func plainTerm() -> FTS5Query.Node? {
        guard options.allowsOperators else { return word() }
        if options.allowsNear, let near = takeNear() { return near }
        guard position < text.count, text[position].isDoubleQuote else { return word() }
        let end = text[(position + 1)...].firstIndex(where: \.isDoubleQuote) ?? text.count
        let phrase = String.UnicodeScalarView(text[(position + 1)..<end])
        position = end + 1
        let isPrefix = take("*")
        guard phrase.contains(where: { !$0.properties.isWhitespace }) else { return nil }
        return limited(Array(phrase)[...], isPrefix: isPrefix)
    }

    /// Reads up to the next blank or double quote.
    private mutating func word() -> FTS5Query.Node? {
        let start = position
        while position < text.count, !text[position].isBlank, !(options.allowsOperators && text[position].isDoubleQuote) {
            position += 1
        }
        var run = text[start..<position]
        var isPrefix = false
        if options.allowsOperators, run.last == "*" {
            isPrefix = true
            while run.last == "*" { run.removeLast() }
        }
        if options.completesLastWord, position == text.count { isPrefix = true }
        guard !run.isEmpty else {
            // Always advance: skip a lone operator.
            if position == start { position += 1 }
            return nil
        }
        return limited(run, isPrefix: isPrefix)
    }

    /// The text, or as many of its words as may still be read.
    private mutating func limited(_ text: ArraySlice<Unicode.Scalar>, isPrefix: Bool) -> FTS5Query.Node {
        let (end, isInWord) = takeWords(text)
        let isWhole = end == text.endIndex
        let read = String(String.UnicodeScalarView(text[..<end]))
        return .text(read, isPrefix: isWhole ? isPrefix : isInWord, isInitial: false)
    }

    /// Counts the words of a term, at least one, and returns how far the term may be read.
    private mutating func takeWords(_ text: ArraySlice<Unicode.Scalar>) -> (end: Int, isInWord: Bool) {
        var letters = 0
        var count = 0
        for index in text.indices {
            let scalar = text[index]
            let isASCII = scalar.value < 0x80
            guard isASCII ? scalar.isASCIIWordCharacter : scalar.isPartOfWord else {
                letters = 0
                continue
            }
            if letters % 16 == 0 {
                if count == words {
                    words = 0
                    return (index, letters > 0)
                }
                count += 1
            }
            // Each character of a script without spaces is a word.
            letters = !isASCII && scalar.isUnspacedScript ? 0 : letters + 1
        }
        words -= max(1, count)
        return (text.endIndex, false)
    }

    // MARK: Operators

    private mutating func takeExclusion() -> Bool {
        // A hyphen before a blank is a dash.
        guard position + 1 < text.count, text[position] == "-", !text[position + 1].isBlank, text[position + 1] != "-" else {
            return false
        }
        position += 1
        return true
    }

    private mutating func takeColumn() -> String? {
        guard options.allowsOperators, !options.columns.isEmpty else { return nil }
        var end = position
        while end < text.count, !text[end].isBlank, !text[end].isDoubleQuote, text[end] != ":" { end += 1 }
        guard end > position, end + 1 < text.count, text[end] == ":", !text[end + 1].isBlank else { return nil }
        let typed = String(String.UnicodeScalarView(text[position..<end]))
        let columns = options.columns
        // If no column has exactly this name, ignore case and whether accented letters are composed.
        let found = columns.firstIndex(named: typed) ?? columns.firstIndex { $0.lowercased() == typed.lowercased() }
        guard let column = found.map({ columns[$0] }) else { return nil }
        position = end + 1
        return column
    }

    /// Reads `NEAR(one "two three", 5)`; anything else is text.
    private mutating func takeNear() -> FTS5Query.Node? {
        let opening = "NEAR(".unicodeScalars
        guard text[position...].starts(with: opening), let end = text[position...].firstIndex(of: ")") else { return nil }
        var words = String(String.UnicodeScalarView(text[(position + opening.count)..<end]))
        position = end + 1
        var distance = 10
        if let comma = words.lastIndex(of: ","),
            let number = Int(words[words.index(after: comma)...].filter { !$0.isWhitespace }), number >= 0
        {
            distance = min(number, 1_000_000)
            words = String(words[..<comma])
        }
        var phrases: [String] = []
        for (index, part) in words.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            // Parts with an odd index are inside quotes, and so phrases; the others are words.
            phrases += index % 2 == 1 ? [String(part)] : part.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        var read: [String] = []
        for phrase in phrases.prefix(32) where phrase.contains(where: { !$0.isWhitespace }) && self.words > 0 {
            if case .text(let text, _, _) = limited(Array(phrase.unicodeScalars)[...], isPrefix: false) { read.append(text) }
        }
        phrases = read
        return phrases.isEmpty ? nil : .near(phrases, distance: distance)
    }

    /// Whether capitals have no meaning: the text has no small letter, and it has a capital outside the operators.
    private static func isAllInCapitals(_ text: [Unicode.Scalar]) -> Bool {
        guard !text.contains(where: \.properties.isLowercase) else { return false }
        return text.split(whereSeparator: \.isBlank).contains { word in
            word.contains(where: \.properties.isUppercase)
                && !["OR", "AND", "NOT"].contains { word.elementsEqual($0.unicodeScalars) }
        }
    }

    private mutating func takeKeyword(_ keyword: String) -> Bool {
        let end = position + keyword.unicodeScalars.count
        guard end < text.count, text[position...].starts(with: keyword.unicodeScalars), text[end].isBlank else { return false }
        position = end
        return true
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == scalar else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while position < text.count, text[position].isBlank { position += 1 }
    }
}

extension Unicode.Scalar {
    fileprivate var isBlank: Bool { properties.isWhitespace || self == "\0" }
    /// A straight double quote, or a curly one as word processors and phones insert it.
    fileprivate var isDoubleQuote: Bool { self == "\"" || self == "\u{201C}" || self == "\u{201D}" || self == "\u{201E}" }
}

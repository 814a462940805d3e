/// The parser for what people type. There is no text that it refuses.
extension FTS5Query {
    /// What the parser makes of text.
    public struct InputOptions: Hashable, Sendable {
        /// How words without an operator belong together.
        public enum Matching: Hashable, Sendable {
            /// All must be found.
            case all
            /// One is enough.
            case any
        }

        /// How words without an operator belong together. Default: all must be found.
        public var matching: Matching
        /// The columns that `column:word` may name, without regard to case. What is before any other colon is text. Default: none.
        public var columns: [String]
        /// Whether the last word is taken as the beginning of one, unless a blank or a quote follows it: for searching while
        /// the user types. Default: no.
        public var completesLastWord: Bool
        /// Whether `NEAR(one two, 5)` is an operator. Default: no, it is text.
        public var allowsNear: Bool
        /// Whether `"…"`, `*`, `-`, `OR`, `AND` and `NOT` mean anything. Default: yes.
        public var allowsOperators: Bool
        /// How many words are read, those in phrases too; what follows is left out. In text without blanks each character is a
        /// word, and of a word of more than 16 letters each 16. From 1 to 200. Default: 64.
        public var maximumTerms: Int

        /// The defaults, with what is to be different.
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

    /// A query from what a person typed. Every text gives a query that FTS5 accepts.
    ///
    /// | typed | meaning |
    /// |---|---|
    /// | `swift data` | both words, in any order |
    /// | `"swift data"` | the phrase |
    /// | `swif*`, `"swift da"*` | words, or a phrase, that begin so |
    /// | `-java`, `-"visual basic"`, `tea NOT java` | without these; at least one other word is needed |
    /// | `cat OR dog food` | one of the first two, and the third |
    /// | `cat AND dog` | both words |
    /// | `title:plan`, `title:"big plan"` | in that column, if ``InputOptions/columns`` has it |
    /// | `NEAR(big plan, 5)` | near one another, if ``InputOptions/allowsNear`` |
    ///
    /// Operators are in capitals, with a word on each side; in a text all in capitals `NOT` is a word (`DO NOT DISTURB`).
    ///
    /// Everything else is text: `multi-agent`, `20.04` and `a'b` are phrases of their parts, `NOTE: x` is two words, and a quote
    /// without its partner reaches to the end. A term without a word (`&`, `title:?!`, a stop word) does not count, wherever it
    /// stands. Of a text beyond 10,000 bytes the beginning is read, and of that ``InputOptions/maximumTerms``.
    public init(userInput text: String, options: InputOptions = InputOptions()) {
        var parser = UserInputParser(text, options)
        self = parser.parse()
    }

    /// The same, with these columns for `column:word`.
    public init(userInput text: String, columns: [String]) {
        self.init(userInput: text, options: InputOptions(columns: columns))
    }
}

private struct UserInputParser {
    private let options: FTS5Query.InputOptions
    private let text: [Unicode.Scalar]
    private var position = 0
    /// How many words may still be read.
    private var words: Int
    private lazy var isAllInCapitals = Self.isAllInCapitals(text)

    init(_ text: String, _ options: FTS5Query.InputOptions) {
        self.options = options
        words = min(max(1, options.maximumTerms), 200)
        // A long text costs FTS5 a cursor for each of its words.
        self.text = text.utf8.count <= 10_000 ? Array(text.unicodeScalars) : Array(text.unicodeScalars.prefix(10_000))
    }

    mutating func parse() -> FTS5Query {
        // Each is a list of alternatives, which stand side by side with `OR`.
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
                // Without a word before it, such a word is one itself.
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

    /// A run without blanks or double quotes.
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
            // Never stand still: an operator alone is passed over.
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

    /// Counts the words of a term, of which there is at least one, and says how far they may be read.
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
            // Each of these is a word, and the next one begins another.
            letters = !isASCII && scalar.isUnspacedScript ? 0 : letters + 1
        }
        words -= max(1, count)
        return (text.endIndex, false)
    }

    // MARK: Operators

    private mutating func takeExclusion() -> Bool {
        // A hyphen in the middle of blanks is a dash.
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
        // What a person types may have another case, or the other form of an accented letter, if no column has that very name.
        let found = columns.firstIndex(named: typed) ?? columns.firstIndex { $0.lowercased() == typed.lowercased() }
        guard let column = found.map({ columns[$0] }) else { return nil }
        position = end + 1
        return column
    }

    /// `NEAR(one "two three", 5)`; anything that is not quite that is text.
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
            // Between an odd quote and the next one is a phrase, elsewhere are words.
            phrases += index % 2 == 1 ? [String(part)] : part.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        var read: [String] = []
        for phrase in phrases.prefix(32) where phrase.contains(where: { !$0.isWhitespace }) && self.words > 0 {
            if case .text(let text, _, _) = limited(Array(phrase.unicodeScalars)[...], isPrefix: false) { read.append(text) }
        }
        phrases = read
        return phrases.isEmpty ? nil : .near(phrases, distance: distance)
    }

    /// Whether capitals say nothing: there is no small letter, and a capital outside of the operators.
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
    /// Straight, or as word processors and telephones write them.
    fileprivate var isDoubleQuote: Bool { self == "\"" || self == "\u{201C}" || self == "\u{201D}" || self == "\u{201E}" }
}

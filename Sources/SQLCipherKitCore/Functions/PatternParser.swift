import Foundation

/// A part of a pattern.
indirect enum PatternNode {
    case empty
    case character(CharacterTest)
    case assertion(RegularExpression.Assertion)
    case sequence([PatternNode])
    case either(PatternNode, PatternNode)
    case repeated(PatternNode, least: Int, most: Int?)
}

/// A test of one character, as a reader sees it.
struct CharacterTest {
    enum Item {
        case any
        case character(Character)
        case range(ClosedRange<UInt32>)
        case digit, word, blank, newline
        case property((Unicode.Scalar.Properties) -> Bool)
        indirect case not(Item)
    }

    var items: [Item]
    var isNegated = false
    var ignoresCase = false

    func accepts(_ character: Character) -> Bool {
        if has(character) { return !isNegated }
        guard ignoresCase, character.isCased else { return isNegated }
        let isOther = [character.lowercased(), character.uppercased()].contains { other in
            other.count == 1 && other.first.map(has) ?? false
        }
        return isOther != isNegated
    }

    private func has(_ character: Character) -> Bool { items.contains { Self.matches($0, character) } }

    private static func matches(_ item: Item, _ character: Character) -> Bool {
        switch item {
        case .any: true
        case .character(let other): character == other
        case .range(let range): scalar(character).map { range.contains($0.value) } ?? false
        case .digit: character.unicodeScalars.first?.properties.numericType != nil
        case .word: isWord(character)
        case .blank: character.isWhitespace
        case .newline: character.isNewline
        case .property(let holds): character.unicodeScalars.first.map { holds($0.properties) } ?? false
        case .not(let item): !matches(item, character)
        }
    }

    static func isWord(_ character: Character) -> Bool {
        guard let scalar = character.unicodeScalars.first else { return false }
        if scalar.isASCII { return character.isLetter || character.isNumber || character == "_" }
        return switch scalar.properties.generalCategory {
        case .connectorPunctuation, .decimalNumber, .letterNumber, .otherNumber: true
        default: scalar.properties.isAlphabetic
        }
    }

    /// The one code point of a character, composed; nil if it needs several.
    static func scalar(_ character: Character) -> Unicode.Scalar? {
        let scalars = character.unicodeScalars
        if scalars.count == 1 { return scalars.first }
        let composed = String(character).precomposedStringWithCanonicalMapping.unicodeScalars
        return composed.count == 1 ? composed.first : nil
    }
}

/// Reads the text of a pattern. Its syntax is the part of Swift's (SE-0355) that needs no going back.
struct PatternParser {
    private let characters: [Character]
    private var position = 0
    private var nesting = 0
    private var ignoresCase: Bool
    /// True if `^` and `$` match at the ends of lines too; and true if `.` matches the ends of lines.
    private var isMultiline = false, takesNewlines = false

    init(_ pattern: String, _ ignoresCase: Bool) { (characters, self.ignoresCase) = (Array(pattern), ignoresCase) }

    private func malformed(_ reason: String) -> DatabaseError {
        .invalidArgument("a regular expression is not well-formed: \(reason), at character \(position) of \(characters.count)")
    }

    private var next: Character? { position < characters.count ? characters[position] : nil }

    private mutating func take() -> Character? {
        defer { position += 1 }
        return next
    }

    private mutating func takes(_ character: Character) -> Bool {
        guard next == character else { return false }
        position += 1
        return true
    }

    private func hasNext(_ text: String) -> Bool { characters[position...].starts(with: text) }

    mutating func pattern() throws -> PatternNode {
        let node = try alternatives()
        if next != nil { throw malformed("a closing parenthesis has no opening one") }
        return node
    }

    private mutating func alternatives() throws -> PatternNode {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= RegularExpression.maximumNesting else {
            throw malformed("it has more than \(RegularExpression.maximumNesting) groups within each other")
        }
        var branches = [try sequence()]
        while takes("|") { branches.append(try sequence()) }
        return Self.either(branches[...])
    }

    /// Half and half, so that many alternatives do not nest deeply.
    private static func either(_ branches: ArraySlice<PatternNode>) -> PatternNode {
        guard branches.count > 1 else { return branches.first ?? .empty }
        let middle = branches.startIndex + branches.count / 2
        return .either(either(branches[..<middle]), either(branches[middle...]))
    }

    private mutating func sequence() throws -> PatternNode {
        var parts: [PatternNode] = []
        while let character = next, character != "|", character != ")" { parts.append(try repetition()) }
        return .sequence(parts)
    }

    private mutating func repetition() throws -> PatternNode {
        let part = try atom()
        guard let (least, most) = try quantifier() else { return part }
        // As few or as many as possible is the same for the question of whether there is a match.
        if takes("?") {}
        if next == "+" { throw malformed("a possessive repetition is not supported") }
        if try quantifier() != nil { throw malformed("a repetition of a repetition needs parentheses") }
        return .repeated(part, least: least, most: most)
    }

    private mutating func quantifier() throws -> (least: Int, most: Int?)? {
        if takes("*") { return (0, nil) }
        if takes("+") { return (1, nil) }
        if takes("?") { return (0, 1) }
        let start = position
        guard takes("{") else { return nil }
        let least = try number()
        guard takes(",") else {
            guard let least, takes("}") else {
                position = start
                return nil
            }
            return (least, least)
        }
        let most = try number()
        guard least != nil || most != nil, takes("}") else {
            position = start
            return nil
        }
        if let most, most < least ?? 0 { throw malformed("the numbers of a repetition are in the wrong order") }
        return (least ?? 0, most)
    }

    private mutating func number() throws -> Int? {
        var value: Int?
        while let digit = next?.wholeNumberValue, next?.isASCII == true {
            position += 1
            value = (value ?? 0) * 10 + digit
            if value ?? 0 > RegularExpression.maximumInstructions { throw malformed("a repetition is too large") }
        }
        return value
    }

    private mutating func atom() throws -> PatternNode {
        switch take() {
        case "(": return try group()
        case "[": return .character(try characterClass())
        case ".": return .character(test(takesNewlines ? .any : .not(.newline)))
        case "^": return .assertion(isMultiline ? .lineStart : .start)
        case "$": return .assertion(isMultiline ? .lineEnd : .end)
        case "\\": return try escaped()
        case "*", "+", "?": throw malformed("a repetition repeats nothing")
        case let character?: return .character(test(.character(character)))
        case nil: throw malformed("it ends too soon")
        }
    }

    private func test(_ item: CharacterTest.Item) -> CharacterTest { CharacterTest(items: [item], ignoresCase: ignoresCase) }

    private mutating func group() throws -> PatternNode {
        let outer = (ignoresCase, isMultiline, takesNewlines)
        var isToEnd = false
        if takes("?") { isToEnd = try groupKind() }
        // Options without a colon are for the rest of the group that they are in.
        if isToEnd { return .empty }
        let node = try alternatives()
        (ignoresCase, isMultiline, takesNewlines) = outer
        guard takes(")") else { throw malformed("a parenthesis is not closed") }
        return node
    }

    /// Reads what follows `(?`.
    /// - Returns: whether it was options for the rest of the group around it, with their parenthesis.
    private mutating func groupKind() throws -> Bool {
        if takes(":") { return false }
        if hasNext("P<") { position += 1 }
        if hasNext("<"), !hasNext("<="), !hasNext("<!") {
            while let character = take(), character != ">" {}
            return false
        }
        var isOn = true
        while let character = take() {
            switch character {
            case "i": ignoresCase = isOn
            case "m": isMultiline = isOn
            case "s": takesNewlines = isOn
            case "-": isOn = false
            case ":": return false
            case ")": return true
            default: throw malformed("this kind of group is not supported")
            }
        }
        throw malformed("a parenthesis is not closed")
    }

    private mutating func escaped() throws -> PatternNode {
        switch next {
        case "A": return assertion(.start)
        case "z": return assertion(.end)
        case "Z": return assertion(.lastLineEnd)
        case "b": return assertion(.wordEdge)
        case "B": return assertion(.noWordEdge)
        default: return .character(test(try escapedItem()))
        }
    }

    private mutating func assertion(_ assertion: RegularExpression.Assertion) -> PatternNode {
        position += 1
        return .assertion(assertion)
    }

    /// Reads what follows a backslash, inside of a class or outside.
    private mutating func escapedItem() throws -> CharacterTest.Item {
        switch take() {
        case "d": return .digit
        case "D": return .not(.digit)
        case "w": return .word
        case "W": return .not(.word)
        case "s": return .blank
        case "S": return .not(.blank)
        case "p": return try property()
        case "P": return .not(try property())
        case "t": return .character("\t")
        case "n": return .character("\n")
        case "r": return .character("\r")
        case "f": return .character("\u{0c}")
        case "a": return .character("\u{07}")
        case "e": return .character("\u{1b}")
        case "0": return .character("\0")
        case "x": return try codePoint(digits: 2)
        case "u": return try codePoint(digits: 4)
        case "U": return try codePoint(digits: 8)
        case let character?:
            if character.isASCII, character.isLetter || character.isNumber { throw malformed("this escape is not supported") }
            return .character(character)
        case nil: throw malformed("it ends with a backslash")
        }
    }

    private mutating func codePoint(digits: Int) throws -> CharacterTest.Item {
        var text = ""
        if takes("{") {
            while let character = take(), character != "}" { text.append(character) }
        } else {
            for _ in 0..<digits { text.append(take() ?? " ") }
        }
        guard text.utf8.count <= 8, let value = UInt32(text, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw malformed("this is not the number of a character")
        }
        return .character(Character(scalar))
    }

    private mutating func property() throws -> CharacterTest.Item {
        guard takes("{") else { throw malformed("a property needs braces") }
        var name = ""
        while let character = take(), character != "}" { name.append(character) }
        if let item = CharacterTest.property(name.lowercased()) { return item }
        throw malformed("this property is not supported")
    }

    private mutating func characterClass() throws -> CharacterTest {
        var items: [CharacterTest.Item] = []
        let isNegated = takes("^")
        while true {
            guard let character = take() else { throw malformed("a bracket is not closed") }
            if character == "]", !items.isEmpty { break }
            if character == "[" {
                items.append(try namedClass())
                continue
            }
            if ["&&", "--", "~~"].contains(where: { hasNext(String($0.dropFirst())) && character == $0.first }) {
                throw malformed("operations on classes are not supported")
            }
            let first: CharacterTest.Item = character == "\\" ? try escapedItem() : .character(character)
            guard hasNext("-"), !hasNext("-]"), case .character(let start) = first else {
                items.append(first)
                continue
            }
            position += 1
            guard let last = take() else { throw malformed("a bracket is not closed") }
            let end: CharacterTest.Item = last == "\\" ? try escapedItem() : .character(last)
            guard case .character(let end) = end, let low = CharacterTest.scalar(start), let high = CharacterTest.scalar(end),
                low <= high
            else { throw malformed("a range is not from one character to a later one") }
            items.append(.range(low.value...high.value))
        }
        return CharacterTest(items: items, isNegated: isNegated, ignoresCase: ignoresCase)
    }

    /// Reads a class such as `[:alpha:]` after its first bracket.
    private mutating func namedClass() throws -> CharacterTest.Item {
        guard takes(":") else { throw malformed("a bracket within brackets needs a backslash") }
        let isNegated = takes("^")
        var name = ""
        while let character = take(), character != ":" { name.append(character) }
        guard takes("]"), let item = CharacterTest.property(name) else { throw malformed("this class is not supported") }
        return isNegated ? .not(item) : item
    }
}

extension CharacterTest {
    /// A general category of Unicode by its short name, or a class of POSIX, in lower case.
    static func property(_ name: String) -> Item? {
        switch name {
        case "alpha", "alphabetic": .property { $0.isAlphabetic }
        case "upper", "uppercase": .property { $0.isUppercase }
        case "lower", "lowercase": .property { $0.isLowercase }
        case "space", "whitespace", "white_space": .blank
        case "digit": .digit
        case "word": .word
        case "alnum": .property { $0.isAlphabetic || $0.generalCategory == .decimalNumber }
        case "punct": category("p")
        case "cntrl": category("cc")
        default: category(name)
        }
    }

    private static func category(_ name: String) -> Item? {
        guard Self.categories.contains(where: { $0.value.hasPrefix(name) }), (1...2).contains(name.utf8.count) else { return nil }
        return .property { Self.categories[$0.generalCategory]?.hasPrefix(name) ?? false }
    }

    private static let categories: [Unicode.GeneralCategory: String] = [
        .uppercaseLetter: "lu", .lowercaseLetter: "ll", .titlecaseLetter: "lt", .modifierLetter: "lm", .otherLetter: "lo",
        .nonspacingMark: "mn", .spacingMark: "mc", .enclosingMark: "me", .decimalNumber: "nd", .letterNumber: "nl",
        .otherNumber: "no", .connectorPunctuation: "pc", .dashPunctuation: "pd", .openPunctuation: "ps", .closePunctuation: "pe",
        .initialPunctuation: "pi", .finalPunctuation: "pf", .otherPunctuation: "po", .mathSymbol: "sm", .currencySymbol: "sc",
        .modifierSymbol: "sk", .otherSymbol: "so", .spaceSeparator: "zs", .lineSeparator: "zl", .paragraphSeparator: "zp",
        .control: "cc", .format: "cf", .surrogate: "cs", .privateUse: "co", .unassigned: "cn",
    ]
}

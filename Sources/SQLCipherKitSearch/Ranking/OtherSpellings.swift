/// Other ways to write a word, which texts use as often as the typed one.
enum OtherSpellings {
    /// The endings after an apostrophe in English and French: a single letter is not a word otherwise.
    private static let short = Set(["s", "t", "d", "m", "ll", "re", "ve"].map { Array($0.utf8) })

    /// Returns the parts of a word, in ASCII letters and digits, that texts may write as two words or with dots.
    static func splits(of word: [UInt8]) -> [[[UInt8]]] {
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        guard (2...24).contains(word.count), word.allSatisfy({ isDigit($0) || (0x61...0x7a).contains($0) }) else { return [] }
        var found: [[[UInt8]]] = []
        for length in 1..<word.count {
            let (first, second) = (Array(word[..<length]), Array(word[length...]))
            let isBetweenKinds = isDigit(word[length - 1]) != isDigit(word[length])
            let isWords = word.count >= 4 && (length >= 2 && (second.count >= 2 || short.contains(second)))
            // Numbers are not taken apart.
            if isBetweenKinds || (isWords && !isDigit(word[length - 1])) { found.append([first, second]) }
        }
        if word.count <= 5, !word.contains(where: isDigit) { found.append(word.map { [$0] }) }
        return found
    }

    /// Returns a word with and without what is written together with it: the Arabic article, the `v` of a version.
    static func words(for word: [UInt8]) -> [[UInt8]] {
        let article = Array("ال".utf8)
        var found: [[UInt8]] = []
        if word.starts(with: article), word.count >= article.count + 4 {
            found.append(Array(word.dropFirst(article.count)))
        } else if word.count >= 4, word.first.map({ (0xd8...0xdb).contains($0) }) == true {
            found.append(article + word)
        }
        if let first = word.first, word.count <= 4, word.dropFirst().allSatisfy({ (0x30...0x39).contains($0) }) {
            if first == UInt8(ascii: "v"), word.count > 1 { found.append(Array(word.dropFirst())) }
            if (0x30...0x39).contains(first) { found.append([UInt8(ascii: "v")] + word) }
        }
        return found
    }

    /// Returns true for a number with dots, unless these are between thousands: `1.0.0` and `802.3`, but not `10.000`.
    static func isVersion(_ text: ArraySlice<UInt8>) -> Bool {
        text.split(separator: UInt8(ascii: ".")).dropFirst().contains { part in
            let digits = part.prefix { (0x30...0x39).contains($0) }.count
            return digits > 0 && digits != 3
        }
    }

    /// Returns a text with punctuation in other forms: its words written as one, apart, or with hyphens.
    static func joinings(of text: [UInt8]) -> [[UInt8]] {
        let words = text.split { $0 < 0x80 && !$0.isASCIIWordByte }
        return words.count < 2 ? [] : ["", " ", "-"].map { Array(words.joined(separator: $0.utf8)) }
    }

    /// Returns how the hour of a time of day such as `14:05` is written in a time stamp, in one word with the day:
    /// `2026-11-23T14:05:09Z`.
    static func hours(_ hour: [UInt8], before minute: [UInt8]) -> [[UInt8]] {
        guard [hour, minute].allSatisfy({ $0.count == 2 && $0.allSatisfy { (0x30...0x39).contains($0) } }) else { return [] }
        return (1...31).map { day in Array((day < 10 ? "0\(day)t" : "\(day)t").utf8) + hour }
    }
}

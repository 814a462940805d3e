import SQLCipherKitCore

/// The words of the texts of an index of trigrams. It finds any part of a text, but has no words to complete or correct a typed one
/// from. So the newest rows that have the most of its trigrams are read.
struct TextWords {
    /// The number of rows that are read, and the bytes of each of their columns.
    private static let (rows, bytes) = (32, 4_000)

    private let index: SearchIndex

    init(_ index: SearchIndex) { self.index = index }

    /// Returns the word itself; nil if no row has its trigrams in sequence.
    func term(_ word: [UInt8]) throws -> SearchMemory.Answer {
        var documents = Int.max
        for entry in try index.entries(of: word) {
            guard let term = try index.term(entry) else { return SearchMemory.Answer(terms: [], isComplete: true) }
            documents = min(documents, term.documents)
        }
        let answer = try match([word], minimum: 1, wanted: 0)
        if answer.isComplete, answer.total == 0 { return SearchMemory.Answer(terms: [], isComplete: true) }
        if answer.isComplete { documents = answer.total }
        return SearchMemory.Answer(terms: [SearchIndex.Term(bytes: word, distance: 0, documents: documents)], isComplete: true)
    }

    func beginning(_ word: [UInt8]) throws -> SearchMemory.Answer {
        guard try index.term(word) != nil else { return SearchMemory.Answer(terms: [], isComplete: true) }
        return try terms(in: match([word], minimum: 1)) { $0.starts(with: word) ? 0 : nil }
    }

    func near(_ word: [UInt8], edits: Int, first: Int, isPrefix: Bool) throws -> SearchMemory.Answer {
        let parts = Set(try index.entries(of: word)).sorted { $0.lexicographicallyPrecedes($1) }.prefix(SearchSlots.limit)
        let typed = Array(String(decoding: word, as: UTF8.self).unicodeScalars)
        let known = try parts.filter { try index.term($0) != nil }
        // An error changes three trigrams, and two swapped letters four.
        let minimum = max(1, parts.count - 4 * edits)
        guard known.count >= minimum else { return SearchMemory.Answer(terms: [], isComplete: true) }
        return try terms(in: match(known, minimum: minimum)) { other in
            let scalars = Array(String(decoding: other, as: UTF8.self).unicodeScalars)
            let distance = Self.distance(typed, scalars, isPrefix: isPrefix)
            return distance <= (typed.first == scalars.first ? edits : first) ? distance : nil
        }
    }

    /// Returns the rows with the most of some parts of words, the newest of them.
    private func match(_ parts: [[UInt8]], minimum: Int, wanted: Int = Self.rows) throws -> SearchSlots.Answer {
        let slots = try SearchSlots(found: parts.map { [$0] }, index)
        return try slots.match(minimum: minimum, wanted: wanted, SearchSlots.Budget(steps: 5_000, limit: 20_000), nil)
    }

    /// Returns the words of some rows, with the distance that `distance` gives; it gives nil for a word that is not meant.
    private func terms(in answer: SearchSlots.Answer, _ distance: ([UInt8]) -> Int?) throws -> SearchMemory.Answer {
        var seen: Set<[UInt8]> = []
        var found: [SearchIndex.Term] = []
        for row in answer.matches.map(\.row) {
            try index.eachText(of: row, bytes: Self.bytes) { text in
                for word in try words(of: text) where seen.insert(word).inserted {
                    guard let distance = distance(word), let term = try index.term(word) else { continue }
                    found.append(SearchIndex.Term(bytes: word, distance: distance, documents: term.documents))
                }
                return true
            }
        }
        return SearchMemory.Answer(terms: found, isComplete: answer.isComplete && answer.total <= Self.rows)
    }

    /// Returns the words of a text, put together from the trigrams that have only letters and digits.
    private func words(of text: String) throws -> [[UInt8]] {
        var words: [[UInt8]] = [], isOpen = false
        let utf8 = Array(text.utf8)
        try utf8.withUnsafeBufferPointer { bytes in
            try index.tokenize(bytes, .document) { token, _, _ in
                let isWord = Self.isWord(token)
                if isWord, isOpen {
                    let start = token.lastIndex { $0 & 0xc0 != 0x80 } ?? 0
                    words[words.count - 1].append(contentsOf: token[start...])
                } else if isWord {
                    words.append(Array(token))
                }
                isOpen = isWord
            }
        }
        return words
    }

    private static func isWord(_ token: UnsafeBufferPointer<UInt8>) -> Bool {
        if token.allSatisfy({ $0 < 0x80 }) { return token.allSatisfy { $0.isASCIIWordByte } }
        return String(decoding: token, as: UTF8.self).unicodeScalars
            .allSatisfy { $0.properties.isAlphabetic || $0.properties.numericType != nil }
    }

    static func distance(_ word: [UInt8], _ other: [UInt8]) -> Int {
        let (typed, found) = (String(decoding: word, as: UTF8.self), String(decoding: other, as: UTF8.self))
        return distance(Array(typed.unicodeScalars), Array(found.unicodeScalars), isPrefix: false)
    }

    /// Returns the number of letters that are added, missing, wrong or swapped; with `isPrefix`, in the nearest beginning of
    /// `other`.
    static func distance(_ word: [Unicode.Scalar], _ other: [Unicode.Scalar], isPrefix: Bool) -> Int {
        var (before, above) = ([Int](), Array(0...word.count))
        var nearest = above[word.count]
        for (row, letter) in other.enumerated() {
            var current = [row + 1]
            for (column, own) in word.enumerated() {
                var least = min(above[column] + (own == letter ? 0 : 1), above[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, own == other[row - 1], letter == word[column - 1] {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, above) = (above, current)
            nearest = min(nearest, above[word.count])
        }
        return isPrefix ? nearest : above[word.count]
    }
}

extension UInt8 {
    /// True if it is a letter or a digit of ASCII.
    var isASCIIWordByte: Bool { (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self) }
}

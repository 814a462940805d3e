/// The words of a full-text index in memory, with the number of rows that have each: for suggestions and corrections as the user
/// types, on any thread.
///
/// It is a snapshot, taken when ``FullTextIndex/vocabulary()`` read the index.
public struct FTS5Vocabulary: Sendable {
    /// A word of a full-text index, as the tokenizer formed it.
    public struct Term: Hashable, Sendable {
        /// The word.
        public let term: String
        /// The column; nil if all columns are counted together, or if the index does not record it (``FTS5Table/Detail/none``).
        public let column: String?
        /// The number of rows with the word.
        public let documents: Int
        /// The number of occurrences of the word in all rows; nil for an index without positions (``FTS5Table/Detail/column`` and
        /// ``FTS5Table/Detail/none``), and for words from a vocabulary, suggestions and corrections.
        public let occurrences: Int?
    }

    /// An occurrence of a word in a full-text index.
    public struct Instance: Hashable, Sendable {
        /// The word.
        public let term: String
        /// The row's id.
        public let rowID: Int64
        /// The column; nil if the index does not record it (``FTS5Table/Detail/none``).
        public let column: String?
        /// The position in the column, in words counted from 0; nil if the index does not record it (``FTS5Table/Detail/column``
        /// and ``FTS5Table/Detail/none``).
        public let position: Int?
    }

    /// How words of an index are sorted.
    public enum Order: Hashable, Sendable {
        /// By the bytes of the word.
        case alphabetical
        /// By the number of rows with the word, the highest first.
        case frequency
    }

    // The UTF-8 of all words, one after the other in the index's order, which is the order of bytes.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var documents: [Int] = []

    init() {}

    /// The number of words.
    public var count: Int { ends.count }

    mutating func append(_ word: UnsafeRawBufferPointer, documents count: Int) {
        bytes.append(contentsOf: word)
        ends.append(bytes.count)
        documents.append(count)
    }

    private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    private func term(_ index: Int) -> Term {
        Term(term: String(decoding: bytes[range(index)], as: UTF8.self), column: nil, documents: documents[index], occurrences: nil)
    }

    /// The index of the first word that is not before these bytes.
    private func lowerBound(_ word: [UInt8]) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if bytes[range(middle)].lexicographicallyPrecedes(word) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the index has a word, given in the form that the index stores.
    public func contains(_ word: String) -> Bool { documents(of: word) > 0 }

    /// The number of rows with a word, given in the form that the index stores; 0 if the index does not have it.
    public func documents(of word: String) -> Int {
        let utf8 = Array(word.utf8)
        let index = lowerBound(utf8)
        return index < count && bytes[range(index)].elementsEqual(utf8) ? documents[index] : 0
    }

    /// Returns the words with a prefix, the most frequent first.
    /// - Parameters:
    ///   - prefix: the prefix, in the form that the index stores.
    ///   - limit: the maximum number of words. Default: 8.
    public func completions(of prefix: String, limit: Int = 8) -> [Term] {
        let utf8 = Array(prefix.utf8)
        var found: [Int] = []
        var index = lowerBound(utf8)
        while index < count, bytes[range(index)].starts(with: utf8) {
            found.append(index)
            index += 1
        }
        // Words of equal frequency stay in alphabetical order: the sort is stable.
        return found.sorted { documents[$0] > documents[$1] }.prefix(max(0, limit)).map(term)
    }

    /// Returns the words that differ from a word by a few typing errors: a letter too many, missing, wrong, or swapped with its
    /// neighbour. The nearest come first and, of these, the most frequent. The word itself is not among them.
    /// - Parameters:
    ///   - word: the word, in the form that the index stores.
    ///   - distance: the maximum number of errors. nil, the default: one error; if no word has just one, and the word has more
    ///     than four letters, two errors.
    ///   - limit: the maximum number of words. Default: 5.
    public func corrections(of word: String, distance: Int? = nil, limit: Int = 5) -> [Term] {
        let wanted = Array(word.unicodeScalars)
        guard !wanted.isEmpty else { return [] }
        var found: [Int] = []
        for errors in Self.errors(distance, letters: wanted.count) where found.isEmpty { found = near(wanted, errors) }
        return found.prefix(max(0, limit)).map(term)
    }

    /// The maximum numbers of errors. Each is tried if the one before it finds nothing.
    static func errors(_ distance: Int?, letters: Int) -> [Int] {
        guard let distance else { return letters <= 4 ? [1] : [1, 2] }
        // No word is as long as the number that stands for anything above it.
        return distance > 0 ? [min(distance, 1_000_000)] : []
    }

    /// The words within a number of errors, the best first.
    private func near(_ wanted: [Unicode.Scalar], _ allowed: Int) -> [Int] {
        var comparison = EditDistance(wanted.map(\.value), allowed)
        var found: [(index: Int, distance: Int)] = []
        var candidate: [UInt32] = []
        bytes.withUnsafeBufferPointer { bytes in
            for index in 0..<count {
                let range = range(index)
                // A scalar has one to four bytes: skip words that are certainly too short or too long.
                guard range.count + allowed >= wanted.count, range.count <= (wanted.count + allowed) * 4 else { continue }
                candidate.removeAll(keepingCapacity: true)
                var position = range.lowerBound
                while position < range.upperBound {
                    let word = UnsafeBufferPointer(rebasing: bytes[..<range.upperBound])
                    let (scalar, length) = UTF8Scalar.decode(word, at: position)
                    candidate.append(scalar.value)
                    position += length
                }
                guard let distance = comparison.distance(to: candidate), distance > 0 else { continue }
                found.append((index, distance))
            }
        }
        found.sort { ($0.distance, -documents[$0.index], $0.index) < ($1.distance, -documents[$1.index], $1.index) }
        return found.map(\.index)
    }
}

/// The number of letters to insert, remove, change or swap with their neighbour (optimal string alignment). The computation stops
/// when the result is certain to exceed a limit.
private struct EditDistance {
    private let word: [UInt32]
    private let limit: Int
    private var rows: [[Int]]

    init(_ word: [UInt32], _ limit: Int) {
        self.word = word
        self.limit = limit
        rows = Array(repeating: Array(repeating: 0, count: word.count + 1), count: 3)
    }

    mutating func distance(to other: [UInt32]) -> Int? {
        guard abs(word.count - other.count) <= limit else { return nil }
        for column in 0...word.count { rows[0][column] = column }
        var current = 0
        for line in 0..<other.count {
            let above = current
            let twoAbove = (line + 2) % 3
            current = (line + 1) % 3
            rows[current][0] = line + 1
            var best = line + 1
            for column in 0..<word.count {
                let isSame = word[column] == other[line]
                var cost = min(
                    rows[above][column] + (isSame ? 0 : 1), rows[above][column + 1] + 1, rows[current][column] + 1)
                if line > 0, column > 0, word[column] == other[line - 1], word[column - 1] == other[line] {
                    cost = min(cost, rows[twoAbove][column - 1] + 1)
                }
                rows[current][column + 1] = cost
                best = min(best, cost)
            }
            // The result is no less than the least cell of a row; but a swap skips a row, whose cells can be 1 less: hence `+ 1`.
            if best > limit + 1 { return nil }
        }
        let result = rows[current][word.count]
        return result <= limit ? result : nil
    }
}

/// Marks the words that a typed search has found, including synonyms, other forms and words with typing errors.
struct TypedMarker {
    /// A word in a text.
    private struct Place {
        var range: Range<Int>
        /// The slot that it matches; nil for any other word.
        var slot: Int?
    }

    private struct Sequence {
        var hashes: [UInt64]
        var slot: Int
    }

    private let index: TypedIndex
    private var words: [UInt64: Int] = [:]
    private var phrases: [UInt64: [Sequence]] = [:]
    /// The number of bytes of a column that are searched for words to mark.
    private static let limit = 200_000

    init(_ slots: TypedSlots, _ index: TypedIndex) {
        self.index = index
        for place in slots.wanted {
            for alternative in slots.slots[place].alternatives {
                let hashes = alternative.tokens.map { token in token.withUnsafeBufferPointer { Self.hash($0) } }
                if hashes.count == 1 {
                    if words[hashes[0]] == nil { words[hashes[0]] = place }
                } else {
                    phrases[hashes[0], default: []].append(Sequence(hashes: hashes, slot: place))
                }
            }
        }
    }

    /// FNV-1a. At worst, two words with the same hash mark one word too many.
    private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private func places(_ text: UnsafeRawBufferPointer) throws -> [Place] {
        let count = min(text.count, Self.limit)
        guard count > 0 else { return [] }
        let bytes = UnsafeBufferPointer(rebasing: text.assumingMemoryBound(to: UInt8.self)[..<count])
        var places: [Place] = []
        places.reserveCapacity(count / 6 + 1)
        var hashes: [(hash: UInt64, place: Int)] = []
        let hasPhrases = !phrases.isEmpty
        try index.tokenize(bytes, .auxiliary) { token, range, isColocated in
            let hash = Self.hash(token)
            let range = min(range.lowerBound, count)..<min(range.upperBound, count)
            if isColocated, let last = places.indices.last {
                if places[last].slot == nil, let slot = words[hash] { places[last] = Place(range: range, slot: slot) }
            } else {
                places.append(Place(range: range, slot: words[hash]))
            }
            if hasPhrases { hashes.append((hash, places.count - 1)) }
        }
        if hasPhrases { markPhrases(hashes, &places) }
        return places
    }

    private func markPhrases(_ tokens: [(hash: UInt64, place: Int)], _ places: inout [Place]) {
        var at: [[UInt64]] = Array(repeating: [], count: places.count)
        for token in tokens where token.place >= 0 { at[token.place].append(token.hash) }
        for token in tokens {
            for phrase in phrases[token.hash] ?? [] {
                let end = token.place + phrase.hashes.count
                guard end <= places.count else { continue }
                if phrase.hashes.indices.allSatisfy({ at[token.place + $0].contains(phrase.hashes[$0]) }) {
                    for place in token.place..<end { places[place].slot = phrase.slot }
                }
            }
        }
    }

    func highlight(_ text: UnsafeRawBufferPointer) throws -> HighlightedText {
        let places = try places(text)
        return Self.marked(text, 0..<text.count, places.filter { $0.slot != nil }.map(\.range), "", "")
    }

    /// Returns the window with the most of the typed words, and its score; nil for a text without a word.
    func snippet(
        _ text: UnsafeRawBufferPointer, _ wanted: FullTextSearch.Snippet
    ) throws -> (score: Int, text: HighlightedText)? {
        let places = try places(text)
        guard !places.isEmpty else { return nil }
        let length = min(wanted.words, places.count)
        var counts: [Int: Int] = [:]
        var marks = 0
        var best = (score: -1, start: 0)
        for end in places.indices {
            if let slot = places[end].slot {
                counts[slot, default: 0] += 1
                marks += 1
            }
            let start = end - length + 1
            if start > 0, let slot = places[start - 1].slot {
                marks -= 1
                if let count = counts[slot] { counts[slot] = count == 1 ? nil : count - 1 }
            }
            if start >= 0 {
                let score = counts.count * 1_000 + min(marks, 100)
                if score > best.score { best = (score, start) }
            }
        }
        // The first of the best windows ends with the last word found. Move it so that the words found are in its middle.
        var start = best.start
        let found = places[start..<(start + length)].indices.filter { places[$0].slot != nil }
        if let first = found.first, let last = found.last, start > 0 {
            let room = length - (last - first + 1)
            start = max(0, min(first - room / 2, places.count - length))
        }
        let end = start + length
        let from = start == 0 ? 0 : places[start].range.lowerBound
        let to = end == places.count && text.count <= Self.limit ? text.count : places[end - 1].range.upperBound
        let ranges = places[start..<end].filter { $0.slot != nil }.map(\.range)
        return (
            best.score,
            Self.marked(
                text, from..<max(from, to), ranges, start == 0 ? "" : wanted.ellipsis, to == text.count ? "" : wanted.ellipsis)
        )
    }

    /// Returns a part of a text with marks. Each piece is decoded separately, so that invalid UTF-8 does not shift any mark.
    private static func marked(
        _ text: UnsafeRawBufferPointer, _ part: Range<Int>, _ ranges: [Range<Int>], _ before: String, _ after: String
    ) -> HighlightedText {
        var result = before
        var marks: [Range<Int>] = []
        var position = part.lowerBound
        func append(_ range: Range<Int>) {
            if !range.isEmpty { result += String(decoding: UnsafeRawBufferPointer(rebasing: text[range]), as: UTF8.self) }
        }
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let range = max(range.lowerBound, position)..<max(range.upperBound, position)
            guard !range.isEmpty, range.upperBound <= part.upperBound else { continue }
            append(position..<range.lowerBound)
            let start = result.utf8.count
            append(range)
            if let last = marks.last, last.upperBound == start {
                marks[marks.count - 1] = last.lowerBound..<result.utf8.count
            } else {
                marks.append(start..<result.utf8.count)
            }
            position = range.upperBound
        }
        append(position..<part.upperBound)
        result += after
        let utf8 = result.utf8
        return HighlightedText(
            result,
            ranges: marks.map {
                utf8.index(utf8.startIndex, offsetBy: $0.lowerBound)..<utf8.index(utf8.startIndex, offsetBy: $0.upperBound)
            })
    }
}

/// Marks the words that a search has found, including synonyms, other forms and words with typing errors.
struct SearchMarker {
    /// A word or several in sequence, which may be marked.
    struct Phrase {
        /// For each place in the sequence, the tokens that may be there.
        var places: [[[UInt8]]]
        /// True if longer words than the last one are marked too.
        var isPrefix = false
        /// The number of the typed word or phrase that it belongs to.
        var slot: Int
        /// The columns in which it is marked; nil for all.
        var columns: Set<Int>?
    }

    /// A word in a text.
    private struct Place {
        var range: Range<Int>
        /// The slot that it matches; nil for any other word.
        var slot: Int?
        /// True if it is marked together with the word before it, as a part of a phrase.
        var continues = false
    }

    private struct Sequence {
        var hashes: [Set<UInt64>]
        var slot: Int
        var columns: Set<Int>?
    }

    private let index: SearchIndex
    // Words by their hashes. At worst, two with the same hash mark one word too many.
    private var words: [UInt64: [(slot: Int, columns: Set<Int>?)]] = [:]
    private var phrases: [UInt64: [Sequence]] = [:]
    private var prefixes: [(bytes: [UInt8], hash: UInt64)] = []
    /// True for the last bits of each of these hashes. Most words of a text need only this look-up.
    private var mayMark = Array(repeating: false, count: 4_096)
    /// The number of bytes of a column that are searched for words to mark.
    private static let limit = 200_000

    init(_ slots: SearchSlots, _ index: SearchIndex) throws {
        let phrases = try slots.wanted.flatMap { place in
            let slot = slots.slots[place]
            let columns = slot.columns.isEmpty ? nil : Set(slot.columns.map(Int.init))
            return try slot.alternatives.map { alternative in
                Phrase(places: try alternative.tokens.flatMap(index.entries).map { [$0] }, slot: place, columns: columns)
            }
        }
        self.init(phrases, index)
    }

    init(_ phrases: [Phrase], _ index: SearchIndex) {
        self.index = index
        for phrase in phrases {
            var hashes = phrase.places.map { tokens in Set(tokens.map { $0.withUnsafeBufferPointer(\.hash) }) }
            if phrase.isPrefix, let last = phrase.places.last {
                // A word that begins with it has the same hash, in addition to its own.
                hashes[hashes.count - 1] = Set(last.map { prefix($0) })
            }
            for hash in hashes.joined() { mayMark[Int(hash % 4_096)] = true }
            if hashes.count == 1 {
                for hash in hashes[0] { words[hash, default: []].append((phrase.slot, phrase.columns)) }
            } else if let first = hashes.first {
                let sequence = Sequence(hashes: hashes, slot: phrase.slot, columns: phrase.columns)
                for hash in first { self.phrases[hash, default: []].append(sequence) }
            }
        }
    }

    private mutating func prefix(_ bytes: [UInt8]) -> UInt64 {
        let hash = ~bytes.withUnsafeBufferPointer(\.hash)
        if !prefixes.contains(where: { $0.hash == hash }) { prefixes.append((bytes, hash)) }
        return hash
    }

    private func slot(_ hash: UInt64, _ column: Int) -> Int? {
        words[hash]?.first { $0.columns?.contains(column) ?? true }?.slot
    }

    private func places(_ text: UnsafeRawBufferPointer, _ column: Int) throws -> [Place] {
        let count = min(text.count, Self.limit)
        guard count > 0 else { return [] }
        let bytes = UnsafeBufferPointer(rebasing: text.assumingMemoryBound(to: UInt8.self)[..<count])
        var places: [Place] = []
        places.reserveCapacity(count / 6 + 1)
        var hashes: [(hash: UInt64, place: Int)] = []
        let hasPhrases = !phrases.isEmpty
        try index.tokenize(bytes, .auxiliary) { token, range, isColocated in
            let hash = token.hash
            let range = min(range.lowerBound, count)..<min(range.upperBound, count)
            if !isColocated || places.isEmpty { places.append(Place(range: range)) }
            let place = places.count - 1
            func take(_ hash: UInt64) {
                guard mayMark[Int(hash % 4_096)] else { return }
                if places[place].slot == nil, let slot = slot(hash, column) { places[place] = Place(range: range, slot: slot) }
                if hasPhrases { hashes.append((hash, place)) }
            }
            take(hash)
            for prefix in prefixes where token.starts(with: prefix.bytes) { take(prefix.hash) }
        }
        if hasPhrases { markPhrases(hashes, column, &places) }
        return places
    }

    private func markPhrases(_ tokens: [(hash: UInt64, place: Int)], _ column: Int, _ places: inout [Place]) {
        for (number, token) in tokens.enumerated() {
            for phrase in phrases[token.hash] ?? [] where phrase.columns?.contains(column) ?? true {
                guard Self.follow(phrase.hashes.dropFirst(), tokens[number...]) else { continue }
                for place in token.place..<(token.place + phrase.hashes.count) {
                    places[place].slot = phrase.slot
                    if place > token.place { places[place].continues = true }
                }
            }
        }
    }

    /// Returns true if the places after that of the first token have a token of each set.
    private static func follow(_ hashes: ArraySlice<Set<UInt64>>, _ tokens: ArraySlice<(hash: UInt64, place: Int)>) -> Bool {
        var (rest, place) = (tokens, tokens[tokens.startIndex].place)
        return hashes.allSatisfy { wanted in
            place += 1
            rest = rest.drop { $0.place < place }
            return rest.prefix { $0.place == place }.contains { wanted.contains($0.hash) }
        }
    }

    func highlight(_ text: UnsafeRawBufferPointer, _ column: Int) throws -> HighlightedText {
        let places = try places(text, column)
        return Self.marked(text, 0..<text.count, Self.ranges(places[...]), "", "")
    }

    /// The ranges to mark: of each word found, and of each phrase as a whole.
    private static func ranges(_ places: ArraySlice<Place>) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for (number, place) in places.enumerated() where place.slot != nil {
            if number > 0, place.continues, let last = ranges.last {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, place.range.upperBound)
            } else {
                ranges.append(place.range)
            }
        }
        return ranges
    }

    /// Returns the window with the most of the typed words, and its score; nil for a text without a word.
    func snippet(
        _ text: UnsafeRawBufferPointer, _ column: Int, _ wanted: FullTextSearch.Snippet
    ) throws -> (score: Int, text: HighlightedText)? {
        let places = try places(text, column)
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
        let ranges = Self.ranges(places[start..<end])
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
        return HighlightedText(result, ranges: marks.map { result.range(ofBytes: $0) })
    }
}

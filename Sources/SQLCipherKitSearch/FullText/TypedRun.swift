import CSQLCipher

/// Runs one typed search, of one index or several.
struct TypedRun {
    private enum Bound {
        /// Steps through lists of rows, for each round and each index.
        static let steps = 20_000
        static let fewerSteps = 10_000
    }

    /// A row, and the index that has it.
    private struct Ranked {
        var match: sqlcipherkit_match
        var place: Int

        static func < (a: Ranked, b: Ranked) -> Bool {
            (a.match.before, -a.match.relevance, a.match.after) == (b.match.before, -b.match.relevance, b.match.after)
                ? (a.place, a.match.row) < (b.place, b.match.row)
                : (a.match.before, -a.match.relevance, a.match.after) < (b.match.before, -b.match.relevance, b.match.after)
        }
    }

    private let search: TypedSearch
    private let isCounting: Bool
    private var parts: [TypedPart]
    /// The number of words that are searched for, as the tokenizer that finds the most words splits the text.
    private let words: Int

    /// - Parameter parts: the indexes, each with its own search. All have the text and the rules of `search`, and either all count
    ///   rows or none does.
    init(_ search: TypedSearch, _ parts: [TypedPart]) {
        self.search = search
        isCounting = parts.contains { $0.search.isCounting }
        self.parts = parts
        words = parts.map(\.wanted.count).max() ?? 0
    }

    mutating func found() throws -> TypedSearch.Found {
        let needed = search.offset + search.limit
        let rated = parts.reduce(needed) { max($0, $1.rated) }
        var ranking: [Ranked] = []
        var (missing, edits) = (0, 0)
        if words > 0 {
            for place in parts.indices { try parts[place].slots.findWords() }
            share()
            ranking = try match(missing: 0, wanted: rated)
            while edits < 2, !isSettled(ranking, needed, edits: edits + 1) {
                edits += 1
                if try findTypos(edits) { ranking = try match(missing: 0, wanted: rated) }
            }
            while ranking.count < min(needed, search.fewerWordsBelow), missing + 1 < words {
                missing += 1
                ranking = try match(missing: missing, wanted: rated)
            }
            if try applySignals() { ranking = ranked() }
        }
        let page = ranking.dropFirst(search.offset).prefix(search.limit)
        let hits = try hits(Array(page))
        let understood = understoodWords
        let isEverything = words == 0 || edits == 2
        var isComplete = isEverything && parts.allSatisfy(\.isComplete)
        var total = parts.reduce(0) { $0 + $1.answer.total }
        var facets: [String: [FullTextSearch.Facet]] = [:]
        if isCounting {
            // Counting works on copies, so that it changes neither the hits nor their marks.
            var counting = self
            total = try counting.count(missing: missing, edits: edits)
            isComplete = counting.parts.allSatisfy(\.isComplete)
            facets = try counting.facets(&isComplete)
        }
        return TypedSearch.Found(
            hits: hits, words: understood, total: total, facets: facets, isExhaustive: isComplete, hasFewerWords: missing > 0)
    }

    /// Whether rows with more typing errors can no longer be among the requested hits.
    private func isSettled(_ ranking: [Ranked], _ needed: Int, edits: Int) -> Bool {
        guard ranking.count >= needed, needed > 0 else { return needed == 0 }
        return search.rules.prefix(2) != [.words, .typos] || ranking[needed - 1].match.typos < edits
    }

    // MARK: Rounds

    private mutating func match(missing: Int, wanted count: Int) throws -> [Ranked] {
        let steps = missing == 0 ? Bound.steps : Bound.fewerSteps
        for place in parts.indices { try parts[place].match(missing: missing, wanted: count, budget: steps) }
        return ranked()
    }

    private mutating func findTypos(_ edits: Int) throws -> Bool {
        var isAny = false
        for place in parts.indices where try parts[place].slots.findTypos(edits) { isAny = true }
        if isAny { share() }
        return isAny
    }

    private mutating func applySignals() throws -> Bool {
        for place in parts.indices { try parts[place].applySignals() }
        return parts.contains { $0.hasSignals }
    }

    /// Returns the rows of all indexes, best first.
    private func ranked() -> [Ranked] {
        let all = parts.enumerated().flatMap { place, part in
            part.answer.matches.map { match in Ranked(match: adjusted(match, part), place: place) }
        }
        return parts.count == 1 ? all : all.sorted(by: <)
    }

    /// If an index's tokenizer finds fewer words in the text than another's does, its rows count as having the missing words.
    private func adjusted(_ match: sqlcipherkit_match, _ part: TypedPart) -> sqlcipherkit_match {
        let more = UInt64(words - part.wanted.count)
        guard more > 0 else { return match }
        var match = match
        // The rules before the relevance and those after it. Each rule is one byte of the key, the last rule the lowest byte.
        let halves = search.rules.split(separator: .relevance, maxSplits: 1, omittingEmptySubsequences: false)
        func all(_ rules: ArraySlice<TypedSearch.Rule>?) -> UInt64 {
            let rules = (rules ?? []).filter { $0 != .relevance }.prefix(8)
            return rules.enumerated().reduce(0) {
                $1.element == .words ? $0 + more << UInt64(8 * (rules.count - 1 - $1.offset)) : $0
            }
        }
        match.before -= all(halves.first)
        match.after -= all(halves.count > 1 ? halves[1] : nil)
        return match
    }

    /// Counts the rows of all indexes together for the rarity of each word, so that relevance can be compared across indexes.
    private mutating func share() {
        guard parts.count > 1 else { return }
        var documents: [[[UInt8]]: Int] = [:]
        for part in parts {
            var known: Set<[[UInt8]]> = []
            for alternative in part.slots.slots.flatMap(\.alternatives) where known.insert(alternative.tokens).inserted {
                documents[alternative.tokens, default: 0] += alternative.documents
            }
        }
        let rows = parts.reduce(0) { $0 + $1.index.rows }
        for place in parts.indices {
            parts[place].slots.rows = rows
            for slot in parts[place].slots.slots.indices {
                for number in parts[place].slots.slots[slot].alternatives.indices {
                    let tokens = parts[place].slots.slots[slot].alternatives[number].tokens
                    parts[place].slots.slots[slot].alternatives[number].shared = documents[tokens]
                }
            }
        }
    }

    // MARK: Results

    private func hits(_ page: [Ranked]) throws -> [TypedSearch.Hit] {
        var hits = [TypedSearch.Hit?](repeating: nil, count: page.count)
        for (place, part) in parts.enumerated() {
            let own = page.indices.filter { page[$0].place == place }
            for (position, hit) in zip(own, try part.hits(own.map { page[$0].match }, place: place)) { hits[position] = hit }
        }
        return hits.compactMap { $0 }
    }

    /// How each word was understood, merged from all indexes.
    private var understoodWords: [TypedSearch.Word] {
        let words = parts.map { $0.slots.words(of: search.text) }
        guard words.count > 1 else { return words.first ?? [] }
        var merged: [TypedSearch.Word] = []
        for word in words.joined() {
            if let place = merged.firstIndex(where: { $0.range == word.range }) {
                merged[place] = merged[place].merged(with: word)
            } else {
                merged.append(word)
            }
        }
        return merged.sorted { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    }

    /// Looks for all rows that any page may have, and returns their number.
    private mutating func count(missing: Int, edits: Int) throws -> Int {
        guard words > 0 else { return 0 }
        var found: Int { parts.reduce(0) { $0 + $1.counted } }
        var isAny = false
        for edits in (edits + 1)..<3 where try findTypos(edits) { isAny = true }
        if isAny, missing == 0 { _ = try match(missing: 0, wanted: 0) }
        var missing = missing
        while found < search.fewerWordsBelow, missing + 1 < words {
            missing += 1
            _ = try match(missing: missing, wanted: 0)
        }
        return found
    }

    private func facets(_ isComplete: inout Bool) throws -> [String: [FullTextSearch.Facet]] {
        var all: [String: FacetCounts] = [:]
        for part in parts {
            for (name, counts) in try part.facets() {
                if !counts.isComplete { isComplete = false }
                all[name] = all[name]?.merged(with: counts) ?? counts
            }
        }
        return all.mapValues(\.facets)
    }
}

import CSQLCipher

/// Runs one search for user input, of one index or several.
struct SearchRun {
    /// The minimum number of rows that are kept, so that a search ends at the same row however many are asked for.
    private static let fewest = 20

    /// A row, and the index that has it.
    private struct Ranked {
        var match: sqlcipherkit_match
        var place: Int

        static func < (a: Ranked, b: Ranked) -> Bool {
            sqlcipherkit_match.isEqual(a.match, b.match) && a.place != b.place
                ? a.place < b.place : sqlcipherkit_match.isBetter(a.match, b.match)
        }
    }

    private let search: FullTextSearch
    private let isCounting: Bool
    private var parts: [SearchPart]
    /// The number of words that are searched for, as the tokenizer that finds the most words splits the text.
    private let words: Int

    /// - Parameter parts: the indexes, each with its own search. All have the text and the rules of `search`, and either all count
    ///   rows or none does.
    init(_ search: FullTextSearch, _ parts: [SearchPart]) {
        self.search = search
        isCounting = parts.contains { $0.search.isCounting || $0.search.isSorted }
        self.parts = parts
        words = parts.map(\.wanted.count).max() ?? 0
    }

    /// Searches, and takes operators for words if they leave no row with all words.
    static func found(_ search: FullTextSearch, _ parts: [SearchPart]) throws -> FullTextSearch.Results {
        var run = SearchRun(search, parts)
        let found = try run.found()
        guard found.total.count == 0 || found.hasDroppedTokens, parts.contains(where: \.slots.hasKeywords) else { return found }
        func asWords(_ search: FullTextSearch) -> FullTextSearch {
            var search = search
            search.readsKeywords = false
            search.dropTokensThreshold = 0
            return search
        }
        var other = SearchRun(asWords(search), try parts.map { try SearchPart(asWords($0.search), $0.index) })
        let words = try other.found()
        return words.total.count > 0 ? words : found
    }

    private mutating func found() throws -> FullTextSearch.Results {
        let needed = search.offset + search.limit
        let kept = max(needed, Self.fewest)
        var ranking: [Ranked] = []
        var (missing, edits, complete) = (0, 0, 0)
        if words > 0 {
            for place in parts.indices {
                try parts[place].slots.findWords()
                try parts[place].slots.findFollowing(only: parts[place].options.rows.only)
            }
            share()
            ranking = try match(missing: 0, wanted: kept)
            while edits < 2, isShort(ranking) || !isSettled(ranking, needed, edits: edits + 1) {
                var isAny = false
                // Far from a page, words with two errors will be needed too.
                repeat {
                    edits += 1
                    isAny = try findTypos(edits) || isAny
                } while edits < 2 && ranking.count < needed / 2
                if isAny { ranking = try match(missing: 0, wanted: kept) }
            }
            complete = parts.reduce(0) { $0 + $1.total }
            while isShort(ranking), missing + 1 < words, !isSettled(ranking, needed, missing: missing + 1) {
                // A walk leaves out rows that lack too much to be among the best; without that, rows with more words come first.
                missing = search.rankingRules.first == .words ? words - 1 : missing + 1
                ranking = try match(missing: missing, wanted: kept)
            }
        }
        let isEverything = words == 0 || (edits == 2 && (missing + 1 == words || !isShort(ranking)))
        // Rows that have a word only in another one, far from the others, let rows with fewer words follow, but have all.
        let hasFewerWords = missing > 0 && complete < search.dropTokensThreshold
        let understood = understoodWords
        guard isCounting else {
            return FullTextSearch.Results(
                hits: try hits(Self.page(of: ranking, search)), words: understood,
                total: FullTextSearch.Total(
                    count: parts.reduce(0) { $0 + $1.total }, isExact: isEverything && parts.allSatisfy(\.isComplete)),
                facets: [:], hasDroppedTokens: hasFewerWords)
        }
        // Counting works on copies, so that it changes neither the hits nor their marks.
        var counting = self
        let total = try counting.count(missing: isShort(ranking) ? words - 1 : 0, edits: edits)
        var isComplete = counting.parts.allSatisfy(\.isComplete)
        let facets = try counting.facets(&isComplete)
        let hits = search.isSorted ? try counting.sortedHits() : try hits(Self.page(of: ranking, search))
        return FullTextSearch.Results(
            hits: hits, words: understood, total: FullTextSearch.Total(count: total, isExact: isComplete), facets: facets,
            hasDroppedTokens: hasFewerWords)
    }

    private static func page<Row>(of rows: [Row], _ search: FullTextSearch) -> [Row] {
        Array(rows.dropFirst(search.offset).prefix(search.limit))
    }

    /// The page of the rows found, in the order that was asked for. Only a search of one index has one.
    private func sortedHits() throws -> [FullTextSearch.Hit] {
        guard let part = parts.first else { return [] }
        let found = part.options.rows.found
        let sorted = switch search.order {
        case .best, .rowID: found
        case .rowIDDescending: Array(found.reversed())
        case .sql(let terms): try part.options.sorted(found, by: terms)
        }
        return try part.hits(part.matches(of: Self.page(of: sorted, search)), place: 0)
    }

    /// Whether rows with more typing errors can no longer be among the requested hits.
    private func isSettled(_ ranking: [Ranked], _ needed: Int, edits: Int) -> Bool {
        guard ranking.count >= needed, needed > 0 else { return needed == 0 }
        // A row with a typing error may cost less than one in which a word is typed otherwise.
        let last = ranking[needed - 1].match
        return search.rankingRules.prefix(2) != [.words, .typos] || (last.cost == 0 && last.typos < edits)
    }

    /// Whether rows that lack at least `missing` of the words can no longer be among the requested hits.
    private func isSettled(_ ranking: [Ranked], _ needed: Int, missing: Int) -> Bool {
        guard ranking.count >= needed, needed > 0 else { return false }
        let cost = Int(ranking[needed - 1].match.cost)
        return search.rankingRules.first == .words && parts.allSatisfy { $0.slots.leastCost(missing: missing) > cost }
    }

    /// Whether so few rows have all words, near one another or as typed, that others are shown too.
    private func isShort(_ ranking: [Ranked]) -> Bool {
        ranking.count { $0.match.cost == 0 } < search.dropTokensThreshold
    }

    // MARK: Rounds

    private mutating func match(missing: Int, wanted count: Int) throws -> [Ranked] {
        for place in parts.indices { try parts[place].match(missing: missing, wanted: count) }
        return ranked()
    }

    private mutating func findTypos(_ edits: Int) throws -> Bool {
        var isAny = false
        for place in parts.indices where try parts[place].slots.findTypos(edits) { isAny = true }
        if isAny { share() }
        return isAny
    }

    /// Returns the rows of all indexes, best first.
    private func ranked() -> [Ranked] {
        let all = parts.enumerated().flatMap { place, part in part.matches.map { Ranked(match: $0, place: place) } }
        return parts.count == 1 ? all : all.sorted(by: <)
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
        var typed: [[[UInt8]]: Int] = [:]
        for slot in parts.flatMap(\.slots.slots) { typed[slot.tokens, default: 0] += slot.documents }
        for place in parts.indices {
            parts[place].slots.rows = rows
            for slot in parts[place].slots.slots.indices {
                parts[place].slots.slots[slot].shared = typed[parts[place].slots.slots[slot].tokens]
                for number in parts[place].slots.slots[slot].alternatives.indices {
                    let tokens = parts[place].slots.slots[slot].alternatives[number].tokens
                    parts[place].slots.slots[slot].alternatives[number].shared = documents[tokens]
                }
            }
        }
    }

    // MARK: Results

    private func hits(_ page: [Ranked]) throws -> [FullTextSearch.Hit] {
        var hits = [FullTextSearch.Hit?](repeating: nil, count: page.count)
        for (place, part) in parts.enumerated() {
            let own = page.indices.filter { page[$0].place == place }
            for (position, hit) in zip(own, try part.hits(own.map { page[$0].match }, place: place)) { hits[position] = hit }
        }
        return hits.compactMap { $0 }
    }

    /// How each word was understood, merged from all indexes.
    private var understoodWords: [FullTextSearch.Word] {
        let words = parts.map { $0.slots.words(of: search.text) }
        guard words.count > 1 else { return words.first ?? [] }
        var merged: [FullTextSearch.Word] = []
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
    /// - Parameter missing: how many words a row may lack.
    private mutating func count(missing: Int, edits: Int) throws -> Int {
        guard words > 0 else { return 0 }
        // The hits may have been found without all rows that lack words.
        var isAny = missing > 0
        for edits in (edits + 1)..<3 where try findTypos(edits) { isAny = true }
        if isAny { _ = try match(missing: missing, wanted: 0) }
        return parts.reduce(0) { $0 + $1.counted }
    }

    private func facets(_ isComplete: inout Bool) throws -> [String: [FullTextSearch.FacetCount]] {
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

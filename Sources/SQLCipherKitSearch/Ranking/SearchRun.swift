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
    /// True if so few rows have all words that rows without some are shown too.
    private var isShort = false

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
        let kept = max(search.offset + search.limit, Self.fewest)
        var ranking: [Ranked] = []
        if words > 0 {
            for place in parts.indices {
                try parts[place].slots.findWords()
                try parts[place].slots.findFollowing()
            }
            share()
            ranking = try match(missing: 0, wanted: kept)
            let total = parts.reduce(0) { $0 + $1.total }
            // So few rows have all words that others are shown too.
            isShort = total < search.dropTokensThreshold
            if isShort {
                let hasWordTooMany = try words >= 3 && total == 0 && !parts.contains { try $0.hasRejectedRowWithAllWords() }
                var hasMore = words > 1
                for place in parts.indices {
                    parts[place].slots.mayHaveWordTooMany = hasWordTooMany
                    if try parts[place].slots.findTypos(isKnown: true) { hasMore = true }
                }
                share()
                if hasMore { ranking = try matchFewer(wanted: kept, prunes: search.rankingRules.first == .words) }
            }
        }
        let understood = understoodWords
        let hasDropped = isShort && words > 1
        guard isCounting else {
            return FullTextSearch.Results(
                hits: try hits(Self.page(of: ranking, search)), words: understood,
                total: FullTextSearch.Total(
                    count: parts.reduce(0) { $0 + $1.total }, isExact: parts.allSatisfy(\.isComplete)),
                facets: [:], hasDroppedTokens: hasDropped)
        }
        // Counting works on copies, so that it changes neither the hits nor their marks.
        var counting = self
        for place in parts.indices { counting.parts[place].isWalkComplete = true }
        if words > 0 {
            _ = try counting.match(missing: 0, wanted: 0)
            _ = try counting.matchFewer(wanted: 0, prunes: false)
        }
        var isComplete = counting.parts.allSatisfy(\.isComplete)
        let facets = try counting.facets(&isComplete)
        let hits = search.isSorted ? try counting.sortedHits() : try hits(Self.page(of: ranking, search))
        let total = counting.parts.reduce(0) { $0 + $1.counted }
        return FullTextSearch.Results(
            hits: hits, words: understood, total: FullTextSearch.Total(count: total, isExact: isComplete), facets: facets,
            hasDroppedTokens: hasDropped)
    }

    /// Looks for rows that lack words, if too few have all.
    private mutating func matchFewer(wanted count: Int, prunes: Bool) throws -> [Ranked] {
        isShort ? try match(missing: words - 1, wanted: count, prunes: prunes) : ranked()
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

    // MARK: Walks

    private mutating func match(missing: Int, wanted count: Int, prunes: Bool = false) throws -> [Ranked] {
        for place in parts.indices {
            // An index whose tokenizer finds fewer words in the text lacks none for that.
            let missing = min(missing, max(0, parts[place].wanted.count - 1))
            try parts[place].match(missing: missing, wanted: count, prunes: prunes)
        }
        return ranked()
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
                parts[place].slots.slots[slot].share(typed, documents)
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

    /// The meaning that was given to each word, merged from all indexes.
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

    private func facets(_ isComplete: inout Bool) throws -> [String: [FullTextSearch.FacetCount]] {
        var all: [String: FacetCounts] = [:]
        for part in parts { all.merge(try part.facets()) { $0.merged(with: $1) } }
        isComplete = isComplete && all.values.allSatisfy(\.isComplete)
        return all.mapValues(\.facets)
    }
}

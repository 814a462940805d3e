import CSQLCipher
import SQLCipherKitCore

/// An index of a search, and the rows found in it.
struct SearchPart {
    let search: FullTextSearch
    let index: SearchIndex
    /// The indices of the slots that are searched for.
    let wanted: [Int]
    var slots: SearchSlots
    /// The best rows, best first.
    private(set) var matches: [sqlcipherkit_match] = []
    private(set) var total = 0
    /// True if nothing was left out on the way.
    var isWalkComplete = true
    let options: SearchOptions

    init(_ search: FullTextSearch, _ index: SearchIndex) throws {
        guard search.limit >= 0, search.offset >= 0, search.limit <= 10_000, search.offset <= 10_000 - search.limit else {
            throw DatabaseError.invalidArgument("a search has a limit and an offset from 0 to 10,000 together")
        }
        self.search = search
        self.index = index
        options = try SearchOptions(search, index)
        slots = try SearchSlots(search, index)
        wanted = slots.wanted
    }

    /// The number of words that have at least one match in the index.
    private var known: Int { wanted.filter { !slots.slots[$0].alternatives.isEmpty }.count }

    /// Looks for the rows that lack at most `missing` of the words, and adds them to those that were found before.
    mutating func match(missing: Int, wanted count: Int, prunes: Bool = false) throws {
        let minimum = wanted.count - missing
        // If more words are required than the index has, no row can match.
        guard minimum >= 1, minimum <= known else { return }
        let budget = SearchSlots.Budget.walk(missing: missing, prunes: prunes, of: slots)
        let answer = try slots.match(minimum: minimum, wanted: count, budget, options.rows, prunes: prunes)
        total = max(total, answer.total)
        if !answer.isComplete { isWalkComplete = false }
        let before = Set(matches.map(\.row))
        matches += answer.matches.filter { !before.contains($0.row) }
        matches.sort { sqlcipherkit_match.isBetter($0, $1) }
        matches = Array(matches.prefix(count))
    }

    /// Returns whether a row has all words, but does not pass the filter: a row's rank does not depend on that.
    func hasRejectedRowWithAllWords() throws -> Bool {
        guard search.filter != nil, known == wanted.count, known > 0 else { return false }
        let budget = SearchSlots.Budget.walk(missing: 0, prunes: false, of: slots)
        return try slots.match(minimum: known, wanted: 0, budget, nil, isFirst: true).total > 0
    }

    /// The number of rows found.
    var counted: Int { options.rows.found.count }

    /// True if all words and rows were looked at and, if the search counts rows, all were counted.
    var isComplete: Bool { isWalkComplete && slots.isComplete && !((search.isCounting || search.isSorted) && options.rows.isFull) }

    /// Returns the facets of the rows found.
    func facets() throws -> [String: FacetCounts] { try options.facets(options.rows.found) }

    func hits(_ matches: [sqlcipherkit_match], place: Int) throws -> [FullTextSearch.Hit] {
        try options.shown.hits(matches.map(SearchHits.Row.init), marker: try SearchMarker(slots, index), source: place)
    }

    /// Returns the matches of some of the rows found, in their order.
    func matches(of rows: [Int64]) throws -> [sqlcipherkit_match] {
        guard !rows.isEmpty else { return [] }
        let budget = SearchSlots.Budget(steps: 2_000_000, limit: 2_000_000)
        let answer = try slots.match(minimum: 1, wanted: rows.count, budget, options.rows, only: rows.sorted())
        let byRow = Dictionary(answer.matches.map { ($0.row, $0) }, uniquingKeysWith: { first, _ in first })
        return rows.compactMap { byRow[$0] }
    }
}

extension FullTextSearch {
    /// True if all rows are counted.
    var isCounting: Bool { countsAll || !facets.isEmpty }

    /// True if all rows are found and sorted, rather than the best kept.
    var isSorted: Bool {
        if case .best = order { return false }
        return true
    }
}

extension sqlcipherkit_match {
    var wordPlace: FullTextSearch.Place { FullTextSearch.Place(rawValue: Int(place)) ?? .anywhere }

    /// Returns whether a row comes before another one by the rules.
    static func isBetter(_ a: Self, _ b: Self) -> Bool {
        (a.before, -a.relevance, a.after, b.row) < (b.before, -b.relevance, b.after, a.row)
    }

    /// Returns whether the rules leave the order of the rows to others.
    static func isEqual(_ a: Self, _ b: Self) -> Bool {
        (a.before, a.relevance, a.after) == (b.before, b.relevance, b.after)
    }
}

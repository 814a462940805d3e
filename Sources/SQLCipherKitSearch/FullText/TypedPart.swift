import CSQLCipher
import SQLCipherKitCore

/// One index of a typed search, and the rows found in it.
struct TypedPart {
    let search: TypedSearch
    let index: TypedIndex
    /// The indices of the slots that are searched for.
    let wanted: [Int]
    var slots: TypedSlots
    var answer = TypedSlots.Answer()
    private let rows: TypedRows?
    /// Read from the schema only if there are SQL terms.
    private let source: TypedSource?
    private let signals: TypedSignals?
    private let shown: TypedHits
    private let facetCounts: [String: FacetCounts]

    init(_ search: TypedSearch, _ index: TypedIndex) throws {
        guard (0...1_000).contains(search.limit), (0...9_000).contains(search.offset) else {
            throw DatabaseError.invalidArgument("a typed search has a limit from 0 to 1,000 and an offset from 0 to 9,000")
        }
        guard search.weights.allSatisfy({ abs($0) <= 1e15 }) else {
            throw DatabaseError.invalidArgument("a column's weight is a number from -1e15 to 1e15")
        }
        guard search.facets.count <= 16 else {
            throw DatabaseError.invalidArgument("a typed search has up to 16 facets, not \(search.facets.count)")
        }
        self.search = search
        self.index = index
        shown = try TypedHits(search, index)
        signals = try TypedSignals(search)
        facetCounts = try search.facets.mapValues { try FacetCounts($0) }
        let hasTerms = search.filter != nil || signals != nil || !search.facets.isEmpty
        source = hasTerms ? try TypedSource(index.table) : nil
        var filter: ((Int64) throws -> Bool)?
        if let condition = search.filter, let source {
            try FullTextStatements.requirePositional(condition, "a filter")
            let connection = index.table.connection
            filter = { row in try connection.fetchOne(Int.self, "\(source.row("1", row)) AND (\(condition))") != nil }
        }
        rows = TypedRows(filter: filter, isCounting: search.isCounting)
        slots = try TypedSlots(search, index)
        wanted = slots.wanted
    }

    /// The number of words that have at least one match in the index.
    private var known: Int { wanted.filter { !slots.slots[$0].alternatives.isEmpty }.count }

    /// Looks for the rows that lack at most `missing` of the words.
    mutating func match(missing: Int, wanted count: Int, budget: Int) throws {
        let minimum = wanted.count - missing
        guard minimum >= 1 else { return }
        // If more words are required than the index has, no row can match.
        answer = minimum > known ? TypedSlots.Answer()
            : try slots.match(minimum: minimum, wanted: count, budget: budget, rows)
    }

    /// The number of rows whose relevance is computed with the length of their texts and with signals.
    var rated: Int { hasSignals ? 512 : 256 }
    var hasSignals: Bool { signals != nil }

    mutating func applySignals() throws {
        if let source { try signals?.apply(to: &answer, source, index.table.connection) }
    }

    /// The number of rows found in all rounds.
    var counted: Int { rows?.found.count ?? 0 }

    /// Whether all words and rows were looked at and, if the search counts rows, all were counted.
    var isComplete: Bool { answer.isComplete && slots.isComplete && !(search.isCounting && rows?.isFull == true) }

    /// Returns the facets of the rows found.
    func facets() throws -> [String: FacetCounts] {
        guard !facetCounts.isEmpty, let rows, let source else { return [:] }
        let found = source.rows(rows.found.sorted())
        return try facetCounts.mapValues { counts in
            var counts = counts
            try counts.add(found, index.table.connection, elements: 200_000)
            return counts
        }
    }

    func hits(_ matches: [sqlcipherkit_match], place: Int) throws -> [TypedSearch.Hit] { try shown.hits(matches, slots, place) }
}

extension TypedSearch {
    /// Whether all rows are counted.
    var isCounting: Bool { countsAll || !facets.isEmpty }
}

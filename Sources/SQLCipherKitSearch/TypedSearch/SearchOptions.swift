import SQLCipherKitCore

/// The options that a search for user input and one for an ``FTS5Query`` share, checked: the filter, signals, facets, the order by
/// SQL terms, and what hits contain.
struct SearchOptions {
    let shown: SearchHits
    let rows: SearchRows
    private let facetCounts: [String: FacetCounts]
    /// Read from the schema only if there are SQL terms.
    private let source: SearchSource?
    private let connection: Connection

    init(_ search: FullTextSearch, _ index: SearchIndex) throws {
        guard search.weights.allSatisfy({ abs($0) <= 1e15 }) else {
            throw DatabaseError.invalidArgument("a column's weight is a number from -1e15 to 1e15")
        }
        guard search.facets.count <= 16 else {
            throw DatabaseError.invalidArgument("a search has up to 16 facets, not \(search.facets.count)")
        }
        connection = index.table.connection
        shown = try SearchHits(search, index)
        let signals = try SearchSignals(search)
        facetCounts = try search.facets.mapValues { try FacetCounts($0) }
        var hasTerms = search.filter != nil || signals != nil || !search.facets.isEmpty
        if case .sql(let terms) = search.order {
            try SearchSource.requirePositional(terms, "an order")
            hasTerms = true
        }
        source = hasTerms ? try SearchSource(index.table) : nil
        rows = try SearchRows(search, source, signals, connection)
    }

    /// Returns the rows that pass the filter, their scores changed by the signals.
    func judged(_ matches: [(row: Int64, score: Double)]) throws -> [(row: Int64, score: Double)] {
        guard rows.judges else { return matches }
        var judged: [(row: Int64, score: Double)] = []
        for start in stride(from: 0, to: matches.count, by: 1_000) {
            let some = matches[start..<min(start + 1_000, matches.count)]
            for (match, factor) in zip(some, try rows.factors(some.map(\.row))) where factor >= 0 {
                judged.append((match.row, match.score * factor))
            }
        }
        return judged
    }

    /// Returns the facets of some rows, given in ascending order.
    func facets(_ found: [Int64]) throws -> [String: FacetCounts] {
        guard !facetCounts.isEmpty, let source else { return [:] }
        let found = source.rows(found)
        return try facetCounts.mapValues { counts in
            var counts = counts
            try counts.add(found, connection, elements: 2_000_000)
            return counts
        }
    }

    /// Returns the rows in the order of SQL terms.
    func sorted(_ found: [Int64], by terms: SQL) throws -> [Int64] {
        guard let source else { return found }
        let rows = source.rows(found)
        return try connection.fetchAll(Int64.self, "SELECT \(raw: rows.rowID) FROM \(rows.from) ORDER BY \(terms), 1")
    }
}

import SQLCipherKitCore

/// Searching. These methods throw ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/invalidArgument`` for an invalid
/// weight, function name or snippet length, and what SQLite reports, for example if the table is gone.
extension FullTextIndex {
    /// Searches for a query.
    /// ```swift
    /// for hit in try notes.search(FTS5Query(userInput: field.text), weights: [5, 1], snippet: .column("body"), limit: 20) {
    ///     print(hit.rowID, hit.rank, hit.snippet)
    /// }
    /// ```
    /// - Parameters:
    ///   - query: what to search for.
    ///   - weights: how much a word counts in each column, in the columns' order; columns left out count 1. Default: 1 for all.
    ///   - snippet: the part of the text to show with each hit. Default: none.
    ///   - limit: the maximum number of hits. Default: all.
    ///   - offset: the number of hits to skip. Default: 0.
    /// - Returns: the hits, the best first; none for a query without a word.
    public func search(
        _ query: FTS5Query, weights: [Double] = [], snippet: FullTextSearch.Snippet? = nil, limit: Int? = nil, offset: Int = 0
    ) throws -> [FullTextSearch.Hit] {
        var search = FullTextSearch(query, limit: limit)
        search.weights = weights
        search.snippet = snippet
        search.offset = offset
        return try self.search(search)
    }

    /// Searches with all the options of a ``FullTextSearch``, and returns the hits in its order.
    public func search(_ search: FullTextSearch) throws -> [FullTextSearch.Hit] {
        if case .sql = search.order {
            let ranking = try ranking(search)
            return try hits(of: ranking, in: 0..<ranking.count)
        }
        let marks = HighlightMarks()
        var hits: [FullTextSearch.Hit] = []
        try connection.forEach(try FullTextStatements(self, search).hits(marks)) { row in hits.append(try search.hit(row, marks)) }
        return hits
    }

    /// Returns the number of rows that a query finds.
    public func count(_ query: FTS5Query) throws -> Int { try count(FullTextSearch(query)) }

    /// Returns the number of rows that a search finds, ignoring its limit and offset.
    public func count(_ search: FullTextSearch) throws -> Int {
        try connection.fetchOne(Int.self, try FullTextStatements(self, search).count()) ?? 0
    }
}

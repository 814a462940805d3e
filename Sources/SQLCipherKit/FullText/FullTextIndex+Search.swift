/// Searching. Each of these throws ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/invalidArgument`` for a weight, a
/// function's name or a snippet's length out of range, and what SQLite reports, such as a table that is gone.
extension FullTextIndex {
    /// Searches for a query.
    /// ```swift
    /// for hit in try notes.search(FTS5Query(userInput: field.text), weights: [5, 1], snippet: .column("body"), limit: 20) {
    ///     print(hit.rowID, hit.rank, hit.snippet)
    /// }
    /// ```
    /// - Parameters:
    ///   - query: what is searched for.
    ///   - weights: how much a word counts in each column, in the columns' order. Default: all alike.
    ///   - snippet: the part of the text to show with each hit. Default: none.
    ///   - limit: the number of hits wanted. Default: all.
    ///   - offset: the number of hits passed over. Default: 0.
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

    /// Searches with everything that a ``FullTextSearch`` can ask for.
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

    /// How many rows a query finds.
    public func count(_ query: FTS5Query) throws -> Int { try count(FullTextSearch(query)) }

    /// How many rows a search finds. Its limit and offset do not matter.
    public func count(_ search: FullTextSearch) throws -> Int {
        try connection.fetchOne(Int.self, try FullTextStatements(self, search).count()) ?? 0
    }
}

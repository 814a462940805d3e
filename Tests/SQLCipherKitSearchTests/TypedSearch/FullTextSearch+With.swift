import SQLCipherKitCore
import SQLCipherKitSearch

extension FullTextSearch {
    /// A search for a query in FTS5's own terms, for all hits.
    init(exactly query: FTS5Query, filter: SQL? = nil, order: Order = .best, limit: Int = 100_000) {
        self.init(query, limit: limit)
        (self.filter, self.order, snippet) = (filter, order, nil)
    }

    /// The search with properties that the initialiser does not set.
    func with(_ change: (inout FullTextSearch) -> Void) -> FullTextSearch {
        var search = self
        change(&search)
        return search
    }
}

extension FTS5Query {
    /// All of the words.
    static func words(_ text: String) -> FTS5Query { .all(text.split(separator: " ").map { .phrase(String($0)) }) }
}

extension FullTextIndex {
    func hits(_ search: FullTextSearch) throws -> [FullTextSearch.Hit] { try self.search(search).hits }

    func hits(
        _ query: FTS5Query, weights: [Double] = [], snippet: FullTextSearch.Snippet? = nil, limit: Int = 100_000, offset: Int = 0
    ) throws -> [FullTextSearch.Hit] {
        try hits(FullTextSearch(exactly: query, limit: limit).with { ($0.weights, $0.snippet, $0.offset) = (weights, snippet, offset) })
    }

    /// The number of rows that a query finds.
    func count(_ query: FTS5Query) throws -> Int { try count(FullTextSearch(exactly: query)) }

    func count(_ search: FullTextSearch) throws -> Int { try self.search(search.with { $0.limit = 0 }).total.count }

    func facets(_ search: FullTextSearch, by grouping: FullTextSearch.Grouping) throws -> [FullTextSearch.FacetCount] {
        try self.search(search.with { ($0.limit, $0.facets) = (0, ["facet": grouping]) }).facets["facet"] ?? []
    }
}

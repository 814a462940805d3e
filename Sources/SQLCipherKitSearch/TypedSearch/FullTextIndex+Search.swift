import SQLCipherKitCore

/// Searching. These methods throw ``DatabaseError/Reason/noSuchColumn`` for a column that the table does not have,
/// ``DatabaseError/Reason/invalidArgument`` for numbers out of range or a table that no longer exists, and any error that SQLite
/// reports, including errors in the filter and the facets.
extension FullTextIndex {
    /// Searches for user input, complete or still being typed.
    /// ```swift
    /// let found = try notes.search("quikc bro", limit: 20)
    /// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
    /// ```
    /// Each word is found as typed, in its other forms in ``FullTextSearch/languages``, as the beginning of a word, and with typing
    /// errors. ``FullTextSearch/Results/words`` tells the meaning that the search gave to each word. Rows are ranked by
    /// ``FullTextSearch/RankingRule``. If few or no rows have all words, rows without one or more of them follow. A text without
    /// any word finds nothing.
    ///
    /// The work of a search is limited for every text: see <doc:SearchRanking>.
    /// - Parameters:
    ///   - text: the user's input. Any text is accepted.
    ///   - limit: the maximum number of hits. Default: 20.
    /// - Throws: the errors of ``search(_:)``. No text causes an error.
    public func search(_ text: String, limit: Int = 20) throws -> FullTextSearch.Results {
        try search(FullTextSearch(text, limit: limit))
    }

    /// Searches for a query in FTS5's own terms.
    /// - Parameters:
    ///   - query: the query. A query without a word finds nothing.
    ///   - limit: the maximum number of hits. Default: 20.
    /// - Returns: the hits, best first by bm25, and the number of all rows that the query finds.
    /// - Throws: the errors of ``search(_:)``.
    public func search(_ query: FTS5Query, limit: Int = 20) throws -> FullTextSearch.Results {
        try search(FullTextSearch(query, limit: limit))
    }

    /// Searches with all options of a ``FullTextSearch``.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` for a column that the table does not have;
    ///   ``DatabaseError/Reason/invalidArgument`` for numbers out of range or if the table is gone; and errors from SQLite,
    ///   including errors in the filter and the facets.
    public func search(_ search: FullTextSearch) throws -> FullTextSearch.Results {
        try SearchIndex.with(self) { index in
            if search.query != nil { return try QuerySearch(search, index).found() }
            return try SearchRun.found(search, [try SearchPart(search, index)])
        }
    }
}

extension SearchSlots {
    /// Returns the meaning of each word.
    func words(of text: String) -> [FullTextSearch.Word] {
        slots.map { slot in
            let range = text.range(ofBytes: slot.range)
            return FullTextSearch.Word(
                typed: String(text[range]), range: range,
                matches: slot.alternatives.map { alternative in
                    FullTextSearch.Word.Match(
                        text: alternative.tokens.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " "),
                        kind: alternative.kind, typos: alternative.typos, documents: alternative.documents)
                },
                isExcluded: slot.isExcluded, isLeftOut: slot.isLeftOut)
        }
    }
}

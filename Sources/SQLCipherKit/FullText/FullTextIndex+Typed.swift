/// Searching for what people type.
extension FullTextIndex {
    /// Searches for what was typed, or is still being typed.
    /// ```swift
    /// let found = try notes.search(typed: "quikc bro", limit: 20)
    /// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
    /// ```
    /// Each word is found as it is, in its other English forms, as the beginning of a word, and with typing errors; what was
    /// understood is in ``TypedSearch/Found/words``. Rows are ranked by ``TypedSearch/Rule``. If few or no rows have all words,
    /// rows without one of them follow. Of a text without a word nothing is found.
    ///
    /// The work of a search is limited, whatever was typed: see <doc:Search>.
    /// - Parameters:
    ///   - text: what was typed. Any text is accepted.
    ///   - limit: the number of hits wanted. Default: 20.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and what SQLite reports.
    public func search(typed text: String, limit: Int = 20) throws -> TypedSearch.Found {
        try search(TypedSearch(text, limit: limit))
    }

    /// Searches for what was typed, with everything that a ``TypedSearch`` can ask for.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` for a column that the table has not,
    ///   ``DatabaseError/Reason/invalidArgument`` for numbers out of their range or a table that is gone, and what SQLite reports,
    ///   of the filter and the facets among others.
    public func search(_ search: TypedSearch) throws -> TypedSearch.Found {
        try TypedIndex.with(self) { index in
            var run = TypedRun(search, [try TypedPart(search, index)])
            return try run.found()
        }
    }
}

extension TypedSlots {
    /// What was understood of each word.
    func words(of text: String) -> [TypedSearch.Word] {
        let utf8 = text.utf8
        return slots.map { slot in
            let lower = utf8.index(utf8.startIndex, offsetBy: slot.range.lowerBound, limitedBy: utf8.endIndex) ?? utf8.endIndex
            let upper = utf8.index(utf8.startIndex, offsetBy: slot.range.upperBound, limitedBy: utf8.endIndex) ?? utf8.endIndex
            return TypedSearch.Word(
                typed: String(text[lower..<upper]), range: lower..<upper,
                matches: slot.alternatives.map { alternative in
                    TypedSearch.Word.Match(
                        text: alternative.tokens.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " "),
                        kind: alternative.kind, typos: alternative.typos, documents: alternative.documents)
                },
                isExcluded: slot.isExcluded, isLeftOut: slot.isLeftOut)
        }
    }
}

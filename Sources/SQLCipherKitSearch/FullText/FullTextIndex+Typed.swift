/// Searching for user input.
extension FullTextIndex {
    /// Searches for user input, complete or still being typed.
    /// ```swift
    /// let found = try notes.search(typed: "quikc bro", limit: 20)
    /// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
    /// ```
    /// Each word is found as typed, in its other English forms, as the beginning of a word, and with typing errors;
    /// ``TypedSearch/Found/words`` tells how each was understood. Rows are ranked by ``TypedSearch/Rule``. If few or no rows have
    /// all words, rows without one or more of them follow. A text without any word finds nothing.
    ///
    /// The work of a search is limited, whatever the text: see <doc:Search>.
    /// - Parameters:
    ///   - text: the user's input. Any text is accepted.
    ///   - limit: the maximum number of hits. Default: 20.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table no longer exists, and any error that SQLite reports.
    public func search(typed text: String, limit: Int = 20) throws -> TypedSearch.Found {
        try search(TypedSearch(text, limit: limit))
    }

    /// Searches for user input with all options of a ``TypedSearch``.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` for a column that the table does not have,
    ///   ``DatabaseError/Reason/invalidArgument`` for numbers out of range or a table that no longer exists, and any error that
    ///   SQLite reports, including errors in the filter and the facets.
    public func search(_ search: TypedSearch) throws -> TypedSearch.Found {
        try TypedIndex.with(self) { index in
            var run = TypedRun(search, [try TypedPart(search, index)])
            return try run.found()
        }
    }
}

extension TypedSlots {
    /// How each word was understood.
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

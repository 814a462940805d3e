import SQLCipherKitCore

/// Searching several full-text tables at once.
extension Connection {
    /// Searches several full-text tables for user input, complete or still being typed, with one ranking.
    /// ```swift
    /// let found = try db.search("quikc bro", in: [notes, mails])
    /// for hit in found.hits { print(hit.schema, hit.table, hit.rowID, hit.snippet ?? "") }
    /// ```
    /// See ``search(_:in:adapting:)`` for how the tables are ranked together.
    /// - Parameters:
    ///   - text: the user's input. Any text is accepted.
    ///   - indexes: the tables: one or more, each only once. They may be in several databases of this connection.
    ///   - limit: the maximum number of hits. Default: 20.
    /// - Returns: the hits of all tables, best first.
    /// - Throws: the errors of ``search(_:in:adapting:)``.
    public func search(
        _ text: String, in indexes: [FullTextIndex], limit: Int = 20
    ) throws -> FullTextSearch.Results {
        try search(FullTextSearch(text, limit: limit), in: indexes)
    }

    /// Searches several full-text tables with one ranking.
    /// ```swift
    /// let found = try db.search(search, in: [notes, mails]) { search, index in
    ///     if index.name == "mail_fts" { search.filter = "folder <> 'trash'" }
    /// }
    /// ```
    /// ``FullTextSearch/Hit/schema``, ``FullTextSearch/Hit/table`` and ``FullTextSearch/Hit/indexPosition`` tell which table a hit
    /// is from. The rules compare rows across all tables:
    /// - words: rows are compared by their missing words. If a table's tokenizer finds fewer words in the text, the difference does
    ///   not count as missing;
    /// - field, place and exactness: rows are compared as if all were in one table; the heaviest column of a row is that of its own
    ///   table;
    /// - relevance: rows are compared by bm25. The rows of all tables together determine how rare a word is. The length of a text
    ///   is compared with the average length in its own table, so that short mails and long articles are treated alike.
    ///
    /// Ties are sorted by the order of the tables, then by row id. The limits on work apply to each table as in a search of that
    /// table alone, and all tables are read in one transaction.
    /// - Parameters:
    ///   - search: the search. It must be for user input, and its order must be `.best`.
    ///   - indexes: the tables: one or more, each only once. They may be in several databases of this connection.
    ///   - adapt: changes the search for one table: its filter, weights, columns, highlights, snippet, signals, facets, synonyms or
    ///     stop words. Facets with the same name are counted together. Default: no change.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there are no tables; if a table is listed twice or belongs to another
    ///   connection; if the search has a query, or an order other than `.best`; and if `adapt` changes the text, the limit, the
    ///   offset, the rules or `dropTokensThreshold`, or groups facets of the same name in different ways. Also the errors of
    ///   ``FullTextIndex/search(_:)``, and any error that `adapt` throws.
    public func search(
        _ search: FullTextSearch, in indexes: [FullTextIndex],
        adapting adapt: (inout FullTextSearch, FullTextIndex) throws -> Void = { _, _ in }
    ) throws -> FullTextSearch.Results {
        guard !indexes.isEmpty else { throw DatabaseError.invalidArgument("a search needs a full-text table") }
        var names: Set<SQLName> = []
        for index in indexes {
            guard index.connection === self else {
                throw DatabaseError.invalidArgument("\(index.name) belongs to another connection")
            }
            guard names.insert(SQLName(index.qualifiedName)).inserted else {
                throw DatabaseError.invalidArgument("\(index.name) is listed twice")
            }
        }
        guard search.query == nil, !search.isSorted else {
            throw DatabaseError.invalidArgument("a search of several tables takes user input only, and is ordered by relevance")
        }
        var searches: [FullTextSearch] = []
        var groups: [String: FacetCounts] = [:]
        for index in indexes {
            var own = search
            try adapt(&own, index)
            guard own.hasSameHits(as: search) else {
                throw DatabaseError.invalidArgument(
                    "text, limit, offset, rankingRules and dropTokensThreshold must be the same in all tables"
                )
            }
            for (name, grouping) in own.facets {
                if let other = groups[name], !other.hasSameGroups(as: grouping) {
                    throw DatabaseError.invalidArgument("the facet \(name) is grouped in different ways")
                }
                groups[name] = try FacetCounts(grouping)
            }
            searches.append(own)
        }
        if searches.contains(where: \.isCounting) {
            for place in searches.indices { searches[place].countsAll = true }
        }
        return try SearchIndex.with(indexes) { opened in
            try SearchRun.found(search, try zip(searches, opened).map { try SearchPart($0, $1) })
        }
    }
}

extension Connection {
    /// Returns the hits of a search of several tables with their records, each read from the content table of its index, in the
    /// order of the hits. Hits whose rows have been deleted are left out.
    /// ```swift
    /// for match in try db.records(Note.self, of: found.hits) {
    ///     print(match.hit.schema, match.record.title)
    /// }
    /// ```
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table or a table that is gone, and errors of reading a
    ///   record, such as ``DatabaseError/Reason/typeMismatch``.
    public func records<Record: SQLRowConvertible>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.RecordHit<Record>] {
        try read(hits) { try $0.records(type, of: [$1]) }
    }

    /// Returns the hits with their records, read as a `Decodable` type whose coding keys are the columns' names; see
    /// ``Row/decode(_:)``.
    /// - Throws: the errors of the form for records.
    @_disfavoredOverload
    public func records<Record: Decodable>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.RecordHit<Record>] {
        try read(hits) { try $0.records(type, of: [$1]) }
    }

    private func read<R>(
        _ hits: [FullTextSearch.Hit], _ records: (FullTextIndex, FullTextSearch.Hit) throws -> [R]
    ) throws -> [R] {
        var indexes: [ExactText: FullTextIndex] = [:]
        return try hits.flatMap { hit in
            let schema = try schema(hit.schema), name = ExactText(schema.qualified(hit.table))
            let index = try indexes[name] ?? schema.fullText(hit.table)
            indexes[name] = index
            return try records(index, hit)
        }
    }
}

extension FullTextSearch {
    /// Returns whether the options that must be the same for all tables are the same.
    fileprivate func hasSameHits(as other: FullTextSearch) -> Bool {
        text.isSameText(as: other.text) && limit == other.limit && offset == other.offset && rankingRules == other.rankingRules
            && dropTokensThreshold == other.dropTokensThreshold && query == nil && !isSorted
    }
}

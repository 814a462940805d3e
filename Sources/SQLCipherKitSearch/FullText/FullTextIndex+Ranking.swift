import SQLCipherKitCore

/// The pages, records and facets of a search.
extension FullTextIndex {
    /// Finds all hits once, so that you can show them page by page.
    /// ```swift
    /// let ranking = try notes.ranking(FullTextSearch(query, limit: 1_000))
    /// let first = try notes.hits(of: ranking, in: 0..<20)
    /// let second = try notes.hits(of: ranking, in: 20..<40)   // none twice, none left out, whatever was written
    /// ```
    /// A ranking takes 16 bytes for each hit.
    public func ranking(_ search: FullTextSearch) throws -> FullTextSearch.Ranking {
        var rowIDs: [Int64] = []
        var ranks: [Double] = []
        try connection.forEach(try FullTextStatements(self, search).ranking()) { row in
            rowIDs.append(try row[0])
            ranks.append(try row[1])
        }
        return FullTextSearch.Ranking(search: search, rowIDs: rowIDs, ranks: ranks)
    }

    /// Returns the hits at these positions of a ranking of this table. Rows that have been deleted since, or no longer match, are
    /// left out.
    /// - Parameters:
    ///   - ranking: the result of ``ranking(_:)``, on this connection or on another one of the same database.
    ///   - range: the positions, starting at 0; those beyond the end are ignored.
    public func hits(of ranking: FullTextSearch.Ranking, in range: Range<Int>) throws -> [FullTextSearch.Hit] {
        let marks = HighlightMarks()
        let places = range.clamped(to: 0..<ranking.count)
        guard !places.isEmpty else { return [] }
        var place = Dictionary(places.map { (ranking.rowIDs[$0], $0) }, uniquingKeysWith: { first, _ in first })
        var hits: [(place: Int, hit: FullTextSearch.Hit)] = []
        let statement = try FullTextStatements(self, ranking.search).hits(marks, rowIDs: ranking.rowIDs[places])
        try connection.forEach(statement) { row in
            guard let place = place.removeValue(forKey: try row[0]) else { return }
            hits.append((place, try ranking.search.hit(row, marks, rank: ranking.ranks[place])))
        }
        return hits.sorted { $0.place < $1.place }.map(\.hit)
    }

    // MARK: Records

    /// Searches, and reads the record of each hit from the content table.
    /// ```swift
    /// for match in try notes.records(Note.self, FullTextSearch(query, limit: 20)) {
    ///     print(match.record.title, match.hit.rank)
    /// }
    /// ```
    /// The record is read from all columns of the content table, or of the full-text table if that stores its own text.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table, and the errors of
    ///   ``search(_:)->[FullTextSearch.Hit]``.
    public func records<Record: SQLRow>(_ type: Record.Type, _ search: FullTextSearch) throws -> [FullTextSearch.Match<Record>] {
        try records(type, of: self.search(search))
    }

    /// Returns the hits with their records, read from the content table. Hits whose rows have been deleted are left out.
    public func records<Record: SQLRow>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.Match<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(type, sql, [hit.rowID]).map { FullTextSearch.Match(record: $0, hit: hit) }
        }
    }

    /// Returns the hits with their records, read as a `Decodable` type whose coding keys are the columns' names; see
    /// ``Row/decode(_:)``.
    public func records<Record: Decodable>(
        decoding type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.Match<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(decoding: type, sql, [hit.rowID]).map { FullTextSearch.Match(record: $0, hit: hit) }
        }
    }

    private func recordSQL() throws(DatabaseError) -> SQL {
        if let content = try content() {
            return SQL(raw: "SELECT t.* FROM \(content.rows) AS t\(content.join) WHERE \(content.rowID) = ?")
        }
        guard try options()["content"] == nil else {
            throw .invalidArgument("\(name) is contentless: there is no record to read")
        }
        return SQL(raw: "SELECT * FROM \(qualifiedName) WHERE rowid = ?")
    }

    // MARK: Facets

    /// Counts the hits by value, so that the user can narrow the search.
    /// ```swift
    /// let years = try notes.facets(search, by: "strftime('%Y', created)", limit: 10)
    /// ```
    /// - Parameters:
    ///   - search: the search. Its order, limit and offset are ignored.
    ///   - expression: a column of the content table, or an SQL expression over its columns; of the full-text table itself if that
    ///     stores its own text.
    ///   - limit: the maximum number of values. Default: all.
    /// - Returns: the values, most frequent first.
    public func facets(_ search: FullTextSearch, by expression: SQL, limit: Int? = nil) throws -> [FullTextSearch.Facet] {
        let rows: [(SQLValue, Int)] = try connection.fetchAll(try FullTextStatements(self, search).facets(expression, limit: limit))
        return rows.map { FullTextSearch.Facet(value: $0.0, count: $0.1, range: nil) }
    }
}

/// The result of a search as a list of row ids: small, fit to be kept and passed between threads, and the ground for pages that hold
/// still while others write.
public struct SearchRanking: Sendable {
    /// The row ids, in order.
    public let rowIDs: [Int64]
    /// The rank of each, as it was when the search ran.
    public let ranks: [Double]
    let request: SearchRequest

    /// The number of hits.
    public var count: Int { rowIDs.count }
    /// Whether nothing was found.
    public var isEmpty: Bool { rowIDs.isEmpty }
}

extension Connection {
    /// Searches once for all hits, to be shown page by page.
    /// ```swift
    /// let ranking = try db.rankedSearch("note_fts", query, limit: 1_000)
    /// let first = try db.hits(of: ranking, 0..<20, snippet: .best())
    /// let second = try db.hits(of: ranking, 20..<40, snippet: .best())   // none twice, none left out, whatever was written
    /// ```
    /// - Parameters:
    ///   - table: the full-text table.
    ///   - query: what is searched for.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - weights: how much each column counts, in their order. Default: all alike.
    ///   - function: a ranking function that is registered. Default: bm25.
    ///   - filter: an SQL condition over the content's columns. Default: all rows.
    ///   - order: what the hits are sorted by. Default: their rank.
    ///   - limit: the number of hits kept, at 16 bytes each. Default: all.
    /// - Throws: as ``search(_:_:schema:weights:rankedBy:snippet:highlights:columns:where:orderedBy:limit:offset:)``.
    public func rankedSearch(
        _ table: String, _ query: FTS5Query, schema: String = "main", weights: [Double] = [], rankedBy function: String? = nil,
        where filter: SQL? = nil, orderedBy order: SearchOrder = .rank, limit: Int? = nil
    ) throws -> SearchRanking {
        var request = SearchRequest(table: table, schema: schema, query: query)
        request.weights = weights
        request.rankFunction = function
        request.filter = filter
        request.order = order
        request.limit = limit
        return try ranking(request)
    }

    /// The hits at these places of a ranking. Rows that are gone since then, or no longer match, are left out.
    /// - Parameters:
    ///   - ranking: what ``rankedSearch(_:_:schema:weights:rankedBy:where:orderedBy:limit:)`` has given.
    ///   - range: the places, counted from 0; those beyond the end are passed over.
    ///   - snippet: the part of the text that each hit shows. Default: none.
    ///   - highlights: columns whose whole text each hit brings along, marked. Default: none.
    ///   - columns: columns whose values each hit brings along. Default: none.
    public func hits(
        of ranking: SearchRanking, _ range: Range<Int>, snippet: FTS5Snippet? = nil, highlights: [String] = [], columns: [String] = []
    ) throws -> [SearchHit] {
        var request = ranking.request
        request.snippet = snippet
        request.highlights = highlights
        request.columns = columns
        // The place is known: the rank need not be computed again, nor the filter asked.
        request.filter = nil
        request.computesRank = false
        request.order = .rowID
        request.limit = nil
        request.offset = 0
        var hits: [SearchHit] = []
        for index in range.clamped(to: 0..<ranking.count) {
            request.rowID = ranking.rowIDs[index]
            request.knownRank = ranking.ranks[index]
            hits += try search(request)
        }
        return hits
    }

    func ranking(_ request: SearchRequest) throws -> SearchRanking {
        try withSimplerQuery { simplified in
            let sql = try request.rankingStatement(self, simplified: simplified)
            var rowIDs: [Int64] = []
            var ranks: [Double] = []
            try forEach(sql) { row in
                rowIDs.append(try row[0])
                ranks.append(try row[1])
            }
            return SearchRanking(rowIDs: rowIDs, ranks: ranks, request: request)
        }
    }

    // MARK: Records

    /// Searches, and reads the record of each hit from the content table.
    /// ```swift
    /// for match in try db.search(Note.self, in: "note_fts", query, snippet: .column("body"), limit: 20) {
    ///     print(match.record.title, match.hit.snippet)
    /// }
    /// ```
    /// The record is read from all columns of the content table, or of the full-text table if that has its own content.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table, and as
    ///   ``search(_:_:schema:weights:rankedBy:snippet:highlights:columns:where:orderedBy:limit:offset:)``.
    public func search<Record: SQLRow>(
        _ type: Record.Type, in table: String, _ query: FTS5Query, schema: String = "main", weights: [Double] = [],
        snippet: FTS5Snippet? = nil, highlights: [String] = [], where filter: SQL? = nil, orderedBy order: SearchOrder = .rank,
        limit: Int? = nil, offset: Int = 0
    ) throws -> [SearchMatch<Record>] {
        let hits = try search(
            table, query, schema: schema, weights: weights, snippet: snippet, highlights: highlights, where: filter, orderedBy: order,
            limit: limit, offset: offset)
        return try records(type, of: hits, in: table, schema: schema)
    }

    /// The hits with their records, read from the content table. Hits whose rows are gone are left out.
    public func records<Record: SQLRow>(
        _ type: Record.Type, of hits: [SearchHit], in table: String, schema: String = "main"
    ) throws -> [SearchMatch<Record>] {
        let sql = try recordSQL(table, schema)
        return try hits.compactMap { hit in
            try fetchOne(type, SQL(raw: sql), [hit.rowID]).map { SearchMatch(record: $0, hit: hit) }
        }
    }

    /// The hits with their records as a `Decodable` type whose coding keys are the columns' names; see ``Row/decode(_:)``.
    public func records<Record: Decodable>(
        decoding type: Record.Type, of hits: [SearchHit], in table: String, schema: String = "main"
    ) throws -> [SearchMatch<Record>] {
        let sql = try recordSQL(table, schema)
        return try hits.compactMap { hit in
            try fetchOne(decoding: type, SQL(raw: sql), [hit.rowID]).map { SearchMatch(record: $0, hit: hit) }
        }
    }

    /// The statement that reads the record of a row id.
    private func recordSQL(_ table: String, _ schema: String) throws(DatabaseError) -> String {
        let description = try fullTextSchema(table, schema: schema)
        if let content = description.content {
            let rows = "\(schema.quotedSQLIdentifier).\(content.table.quotedSQLIdentifier)"
            return "SELECT t.* FROM \(rows) AS t\(content.join) WHERE \(content.rowID) = ?"
        } else if description.options["content"] == nil {
            return "SELECT * FROM \(description.qualifiedName) WHERE rowid = ?"
        }
        throw .invalidArgument("\(table) is contentless: there is no record to read")
    }

    // MARK: Facets

    /// How many hits have which value: for narrowing a search down.
    /// ```swift
    /// let years = try db.facets("note_fts", query, by: "strftime('%Y', created)", limit: 10)
    /// ```
    /// - Parameters:
    ///   - table: the full-text table.
    ///   - query: what is searched for.
    ///   - expression: a column of the content table, or an SQL expression over its columns; of the full-text table itself if
    ///     that has its own content.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - filter: an SQL condition over the content's columns. Default: all rows.
    ///   - limit: the number of values wanted. Default: all.
    /// - Returns: the values, the most frequent first.
    public func facets(
        _ table: String, _ query: FTS5Query, by expression: SQL, schema: String = "main", where filter: SQL? = nil, limit: Int? = nil
    ) throws -> [SearchFacet] {
        var request = SearchRequest(table: table, schema: schema, query: query)
        request.filter = filter
        request.limit = limit
        return try withSimplerQuery { simplified in
            let sql = try request.facetStatement(self, expression, simplified: simplified)
            let rows: [(SQLValue, Int)] = try fetchAll(sql)
            return rows.map { SearchFacet(value: $0.0, count: $0.1) }
        }
    }
}

/// A value and how many hits have it.
public struct SearchFacet: Hashable, Sendable {
    /// The value.
    public let value: SQLValue
    /// The number of hits.
    public let count: Int
}

extension Connection {
    /// Searches a full-text table.
    /// ```swift
    /// let query = FTS5Query(userInput: field.text)
    /// for hit in try db.search("note_fts", query, weights: [5, 1], snippet: .column("body"), limit: 20) {
    ///     print(hit.rowID, hit.rank, hit.snippet)
    /// }
    /// let recent = try db.search("note_fts", query, where: "created > \(lastWeek)", orderedBy: .sql("created DESC"))
    /// ```
    /// - Parameters:
    ///   - table: the full-text table's name.
    ///   - query: what is searched for.
    ///   - schema: the attached database that the table is in. Default: `main`.
    ///   - weights: how much a word counts in each column, in the columns' order; those left out count 1. From -1e15 to 1e15,
    ///     to 12 decimals. Default: all alike.
    ///   - snippet: the part of the text to show with each hit. Default: none.
    ///   - highlights: columns that are wanted whole, with the query's words marked. Default: none.
    ///   - columns: columns of the full-text table that are wanted. Default: none.
    ///   - filter: a condition in SQL over the columns of the content table, or of the full-text table itself if that has
    ///     its own content. Default: none.
    ///   - order: the order of the hits. Default: the best first.
    ///   - limit: the number of hits wanted. Default: all.
    ///   - function: the name of the function that ranks, `bm25` or one registered with
    ///     ``SQLExtension/ranking(_:_:)``; it gets the weights as its arguments. Default: `bm25`.
    ///   - offset: the number of hits passed over. For pages that hold still while others write, see
    ///     ``rankedSearch(_:_:schema:weights:rankedBy:where:orderedBy:limit:)``.
    /// - Returns: the hits; none for a query without a word.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/invalidArgument`` for a weight, a function's name or a
    ///   snippet's length out of range, and what SQLite reports, such as a table that is not there.
    public func search(
        _ table: String, _ query: FTS5Query, schema: String = "main", weights: [Double] = [], rankedBy function: String? = nil,
        snippet: FTS5Snippet? = nil, highlights: [String] = [], columns: [String] = [], where filter: SQL? = nil,
        orderedBy order: SearchOrder = .rank, limit: Int? = nil, offset: Int = 0
    ) throws -> [SearchHit] {
        var request = SearchRequest(table: table, schema: schema, query: query)
        request.weights = weights
        request.rankFunction = function
        request.snippet = snippet
        request.highlights = highlights
        request.columns = columns
        request.filter = filter
        request.order = order
        request.limit = limit
        request.offset = max(0, offset)
        return try search(request)
    }

    func search(_ request: SearchRequest) throws -> [SearchHit] {
        if case .sql = request.order {
            let ranking = try ranking(request)
            return try hits(
                of: ranking, 0..<ranking.count, snippet: request.snippet, highlights: request.highlights, columns: request.columns)
        }
        return try withSimplerQuery { simplified in
            let (sql, marks) = try request.statement(self, simplified: simplified)
            var hits: [SearchHit] = []
            try forEach(sql) { row in hits.append(try request.hit(row, marks)) }
            return hits
        }
    }

    /// The number of rows that a query finds.
    /// - Throws: as ``search(_:_:schema:weights:rankedBy:snippet:highlights:columns:where:orderedBy:limit:offset:)``.
    public func searchCount(
        _ table: String, _ query: FTS5Query, schema: String = "main", where filter: SQL? = nil
    ) throws -> Int {
        var request = SearchRequest(table: table, schema: schema, query: query)
        request.filter = filter
        return try withSimplerQuery { simplified in
            let condition = try request.condition(self, simplified: simplified, order: nil)
            let sql = SQL(raw: "SELECT count(*) FROM \(request.from)\(condition.text)", StatementArguments(condition.arguments))
            return try fetchOne(Int.self, sql) ?? 0
        }
    }

    /// Runs a search, and again with single words in place of phrases if the index knows no positions
    /// (``FTS5Table/Detail/column`` and ``FTS5Table/Detail/none``), where a phrase finds all of its words.
    func withSimplerQuery<R>(_ body: (Bool) throws -> R) throws -> R {
        do { return try body(false) } catch let error as DatabaseError where error.message.contains("(detail!=full)") {
            return try body(true)
        }
    }
}

extension FTS5Query {
    /// The same without phrases: each of their words on its own.
    var simplified: FTS5Query { FTS5Query(node.simplified) }
}

extension FTS5Query.Node {
    fileprivate var simplified: Self {
        switch self {
        case .text(let text, let isPrefix, _):
            let words = text.unicodeScalars.split { !$0.isPartOfWord }.map { String($0) }
            return .all(
                words.enumerated().map { .text($1, isPrefix: isPrefix && $0 == words.count - 1, isInitial: false) })
        case .near(let texts, _): return .all(texts.map { Self.text($0, isPrefix: false, isInitial: false).simplified })
        case .all(let nodes): return .all(nodes.map(\.simplified))
        case .any(let nodes): return .any(nodes.map(\.simplified))
        case .not(let node, let excluded): return .not(node.simplified, excluded.simplified)
        case .columns(let names, let excluded, let node): return .columns(names, excluded: excluded, node.simplified)
        }
    }
}

extension Unicode.Scalar {
    /// Whether `unicode61` takes it for part of a word.
    var isPartOfWord: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .letterNumber,
            .otherNumber, .privateUse, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }
}

import Foundation

/// One search as SQL: which columns come in which place.
struct SearchRequest {
    let table: String
    let schema: String
    let query: FTS5Query
    var weights: [Double] = []
    var rankFunction: String?
    var snippet: FTS5Snippet?
    var highlights: [String] = []
    var columns: [String] = []
    var filter: SQL?
    var order = SearchOrder.rank
    var limit: Int?
    var offset = 0
    /// Only this row.
    var rowID: Int64?
    /// Whether the rank is computed, and what stands for it otherwise.
    var computesRank = true
    var knownRank = 0.0

    private var name: String { table.quotedSQLIdentifier }
    var from: String { "\(schema.quotedSQLIdentifier).\(name) AS f" }
    private var handle: String { "f.\(name)" }

    /// The statement with the hits, and the marks that it writes.
    func statement(_ db: Connection, simplified: Bool) throws(DatabaseError) -> (sql: SQL, marks: TextMarks) {
        let marks = TextMarks()
        var arguments: [(any SQLValueConvertible)?] = []
        var selected = ["f.rowid", computesRank ? "f.rank" : "NULL"]
        let needsPositions = (snippet?.column != nil) || !highlights.isEmpty
        let known = needsPositions ? try db.fullTextColumns(table, schema: schema) : []
        func position(_ column: String) throws(DatabaseError) -> Int {
            guard let index = known.firstIndex(where: { $0.lowercased() == column.lowercased() }) else {
                throw DatabaseError(
                    code: .error, reason: .noSuchColumn, message: "the full-text table \(table) has no column \(column)")
            }
            return index
        }
        if let snippet {
            guard (1...64).contains(snippet.words) else { throw .invalidArgument("a snippet has from 1 to 64 words, not \(snippet.words)") }
            let column = try snippet.column.map { name throws(DatabaseError) in try position(name) } ?? -1
            selected.append("snippet(\(handle), \(column), ?, ?, ?, \(snippet.words))")
            arguments += [marks.opening, marks.closing, snippet.ellipsis]
        }
        for highlight in highlights {
            selected.append("highlight(\(handle), \(try position(highlight)), ?, ?)")
            arguments += [marks.opening, marks.closing]
        }
        for column in columns { selected.append("f.\(column.quotedSQLIdentifier)") }
        let filtered = try condition(db, simplified: simplified, order: order)
        arguments += filtered.arguments
        var text = "SELECT \(selected.joined(separator: ", ")) FROM \(from)\(filtered.text)"
        if let limit {
            text += " LIMIT ?"
            arguments.append(max(0, limit))
        } else if offset > 0 {
            text += " LIMIT -1"
        }
        if offset > 0 {
            text += " OFFSET ?"
            arguments.append(offset)
        }
        return (SQL(raw: text, StatementArguments(arguments)), marks)
    }

    /// WHERE and ORDER BY, with their values.
    func condition(
        _ db: Connection, simplified: Bool, order: SearchOrder?
    ) throws(DatabaseError) -> (text: String, arguments: [(any SQLValueConvertible)?]) {
        var text = " WHERE \(handle) MATCH ?"
        var arguments: [(any SQLValueConvertible)?] = [simplified ? query.simplified.expression : query.expression]
        if computesRank, let rank = try rankExpression() {
            text += " AND f.rank MATCH ?"
            arguments.append(rank)
        }
        if let rowID {
            text += " AND f.rowid = ?"
            arguments.append(rowID)
        }
        if let filter {
            guard filter.arguments.named.isEmpty else { throw Self.namedArguments("a filter") }
            let content = try db.fullTextSchema(table, schema: schema).content
            if let content {
                let rows = "\(schema.quotedSQLIdentifier).\(content.table.quotedSQLIdentifier)"
                // In a subquery of its own, so that a column of the content table is not mistaken for the index's.
                text += " AND EXISTS (SELECT 1 FROM \(rows) AS t\(content.join) WHERE \(content.rowID) = f.rowid AND (\(filter.text)))"
            } else {
                text += " AND (\(filter.text))"
            }
            arguments += filter.arguments.positional
        }
        switch order {
        case nil: break
        case .rank: text += " ORDER BY f.rank"
        case .rowID: text += " ORDER BY f.rowid"
        case .rowIDDescending: text += " ORDER BY f.rowid DESC"
        case .sql: throw .misuse("an order by the content's columns takes two steps")
        }
        return (text, arguments)
    }

    /// The function that ranks, with its arguments as SQL literals, as FTS5 wants it
    /// (<https://sqlite.org/fts5.html#sorting_by_auxiliary_function_results>).
    private func rankExpression() throws(DatabaseError) -> String? {
        guard weights.allSatisfy({ abs($0) <= 1e15 }) else {
            throw .invalidArgument("a column's weight is a number from -1e15 to 1e15")
        }
        guard rankFunction?.isFunctionName != false else {
            throw .invalidArgument("\(rankFunction ?? "") is no name of a ranking function")
        }
        if weights.isEmpty && rankFunction == nil { return nil }
        // FTS5 reads numbers without an exponent.
        let literals = weights.map { $0 == $0.rounded() ? String(Int64($0)) : String(format: "%.12f", $0) }
        return "\(rankFunction ?? "bm25")(\(literals.joined(separator: ", ")))"
    }

    /// A hit from a row of the statement.
    func hit(_ row: borrowing Row, _ marks: TextMarks) throws -> SearchHit {
        var index = 2
        func marked(_ row: borrowing Row) throws -> HighlightedText {
            defer { index += 1 }
            if try Row.Column(row.handle, Int32(index)).isNull() { return HighlightedText("") }
            return try row.withUnsafeBytes(at: index) { HighlightedText($0, marks: marks) }
        }
        let snippet = self.snippet == nil ? HighlightedText("") : try marked(row)
        var highlighted: [String: HighlightedText] = [:]
        for name in highlights { highlighted[name] = try marked(row) }
        var values: [SQLValue] = []
        for offset in columns.indices { values.append(try row[index + offset]) }
        return SearchHit(
            rowID: try row[0], rank: computesRank ? try row[1] : knownRank, snippet: snippet, highlights: highlighted,
            columns: RowCopy(columnNames: columns, values: values))
    }
}

extension String {
    /// Whether FTS5's syntax takes the text for a function's name.
    var isFunctionName: Bool {
        guard let first = utf8.first, !(0x30...0x39).contains(first) else { return false }
        return unicodeScalars.allSatisfy { $0.isASCIIWordCharacter || $0 == "_" }
    }
}

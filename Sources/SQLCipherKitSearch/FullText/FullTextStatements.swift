import Foundation
import SQLCipherKitCore

/// The SQL statements of a search in one table.
struct FullTextStatements {
    let index: FullTextIndex
    let search: FullTextSearch
    private let query: FTS5Query

    private var handle: String { "f.\(index.name.quotedSQLIdentifier)" }
    private var table: String { "\(index.qualifiedName) AS f" }

    init(_ index: FullTextIndex, _ search: FullTextSearch) throws(DatabaseError) {
        self.index = index
        self.search = search
        query = try index.supported(search.query)
    }

    func hits(_ marks: HighlightMarks) throws(DatabaseError) -> SQL {
        try "SELECT f.rowid, f.rank\(extras(marks)) FROM \(raw: table) WHERE \(condition())\(raw: order)\(page)"
    }

    /// The hits for those of these rows that still match, in any order. Their ranks are known, and the filter is not applied again.
    func hits(_ marks: HighlightMarks, rowIDs: ArraySlice<Int64>) throws(DatabaseError) -> SQL {
        let ids = "[" + rowIDs.map(String.init).joined(separator: ",") + "]"
        let match: SQL = "\(raw: handle) MATCH \(query.expression)"
        let columns: SQL = try "SELECT f.rowid, NULL\(extras(marks)) FROM"
        guard query.node.hasPrefix else {
            // For whole words, FTS5 finds each row directly.
            return "\(columns) json_each(\(ids)) AS page CROSS JOIN \(raw: table) WHERE \(match) AND f.rowid = page.value"
        }
        // For a prefix, FTS5 merges all words that begin with it, which is best done once. The `+` keeps it from doing so per row.
        let range: SQL = "f.rowid BETWEEN \(rowIDs.min() ?? 0) AND \(rowIDs.max() ?? 0)"
        return "\(columns) \(raw: table) WHERE \(match) AND \(range) AND +f.rowid IN (SELECT value FROM json_each(\(ids)))"
    }

    func count() throws(DatabaseError) -> SQL {
        try "SELECT count(*) FROM \(raw: table) WHERE \(condition(ranks: false))"
    }

    func ranking() throws(DatabaseError) -> SQL {
        guard case .sql(let terms) = search.order else {
            return try "SELECT f.rowid, f.rank FROM \(raw: table) WHERE \(condition())\(raw: order)\(page)"
        }
        try Self.requirePositional(terms, "an order")
        return try "SELECT sqlcipherkit_row, search_rank FROM \(content()) ORDER BY \(terms), 1\(page)"
    }

    func facets(_ expression: SQL, limit: Int?) throws(DatabaseError) -> SQL {
        try Self.requirePositional(expression, "a facet")
        let limit = limit.map { max(0, $0) } ?? -1
        return try "SELECT (\(expression)), count(*) FROM \(content()) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT \(limit)"
    }

    /// The matches joined with the content, for SQL terms over its columns, such as an order or a facet.
    ///
    /// The terms see the content table only under its own name, and of the index only the row id and, as `search_rank`, the rank;
    /// otherwise a column that both have would be ambiguous. A second step computes the snippets, because SQLite would compute them
    /// here for every match before it sorts.
    func content() throws(DatabaseError) -> SQL {
        let condition = try condition()
        guard let content = try index.content() else {
            // The table stores its own text, or none: the columns are its own.
            let columns = try index.columns().map { "f.\($0.quotedSQLIdentifier)" }.joined(separator: ", ")
            return """
                (SELECT f.rowid AS sqlcipherkit_row, f.rank AS search_rank, \(raw: columns) FROM \(raw: table) WHERE \(condition))
                """
        }
        return """
            (SELECT f.rowid AS sqlcipherkit_row, f.rank AS search_rank FROM \(raw: table) WHERE \(condition)) AS h
            JOIN (SELECT \(raw: content.rowID) AS sqlcipherkit_id, t.* FROM \(raw: content.rows) AS t\(raw: content.join))
            ON sqlcipherkit_id = h.sqlcipherkit_row
            """
    }

    /// The columns after row id and rank: a snippet, highlights, values.
    private func extras(_ marks: HighlightMarks) throws(DatabaseError) -> SQL {
        var sql: SQL = ""
        let known = search.snippet?.column != nil || !search.highlights.isEmpty ? try index.columns() : []
        func position(_ column: String) throws(DatabaseError) -> Int {
            guard let position = known.firstIndex(named: column) else {
                throw DatabaseError(
                    code: .error, reason: .noSuchColumn, message: "the full-text table \(index.name) has no column \(column)")
            }
            return position
        }
        if let snippet = search.snippet {
            guard (1...64).contains(snippet.words) else {
                throw .invalidArgument("a snippet has from 1 to 64 words, not \(snippet.words)")
            }
            let column = try snippet.column.map(position) ?? -1
            sql = """
                \(sql), snippet(\(raw: handle), \(raw: String(column)), \(marks.opening), \(marks.closing), \(snippet.ellipsis), \
                \(raw: String(snippet.words)))
                """
        }
        if Set(search.highlights).count != Set(search.highlights.map { ExactText($0) }).count {
            // FullTextSearch.Hit.highlights could hold only one of them.
            throw .invalidArgument("two columns to be highlighted have names that are equal as Swift strings")
        }
        for highlight in search.highlights {
            let column = String(try position(highlight))
            sql = "\(sql), highlight(\(raw: handle), \(raw: column), \(marks.opening), \(marks.closing))"
        }
        for column in search.columns { sql = "\(sql), f.\(identifier: column)" }
        return sql
    }

    private func condition(ranks: Bool = true) throws(DatabaseError) -> SQL {
        var condition: SQL = "\(raw: handle) MATCH \(query.expression)"
        if ranks, let rank = try rankExpression() { condition = "\(condition) AND f.rank MATCH \(rank)" }
        guard let filter = search.filter else { return condition }
        try Self.requirePositional(filter, "a filter")
        guard let content = try index.content() else { return "\(condition) AND (\(filter))" }
        // A separate subquery, so that a column of the content table is not mistaken for one of the index.
        return """
            \(condition) AND EXISTS (
            SELECT 1 FROM \(raw: content.rows) AS t\(raw: content.join) WHERE \(raw: content.rowID) = f.rowid AND (\(filter)))
            """
    }

    /// The order, except by SQL terms, which takes two steps: ``ranking()`` is the first.
    private var order: String {
        switch search.order {
        case .rank, .sql: " ORDER BY f.rank"
        case .rowID: " ORDER BY f.rowid"
        case .rowIDDescending: " ORDER BY f.rowid DESC"
        }
    }

    private var page: SQL {
        let limit = search.limit.map { max(0, $0) }
        if search.offset > 0 { return " LIMIT \(limit ?? -1) OFFSET \(search.offset)" }
        return limit.map { " LIMIT \($0)" } ?? ""
    }

    /// The ranking function, with its arguments as SQL literals, as FTS5 requires
    /// (<https://sqlite.org/fts5.html#sorting_by_auxiliary_function_results>).
    private func rankExpression() throws(DatabaseError) -> String? {
        let (weights, function) = (search.weights, search.rankFunction)
        guard weights.allSatisfy({ abs($0) <= 1e15 }) else {
            throw .invalidArgument("a column's weight is a number from -1e15 to 1e15")
        }
        guard function?.isFunctionName != false else {
            throw .invalidArgument("\(function ?? "") cannot be the name of a ranking function")
        }
        if weights.isEmpty && function == nil { return nil }
        // FTS5 reads numbers without an exponent.
        let literals = weights.map { $0 == $0.rounded() ? String(Int64($0)) : String(format: "%.12f", $0) }
        return "\(function ?? "bm25")(\(literals.joined(separator: ", ")))"
    }

    static func requirePositional(_ sql: SQL, _ what: String) throws(DatabaseError) {
        guard !sql.arguments.named.isEmpty else { return }
        throw DatabaseError(
            code: .misuse, reason: .parameters, message: "the values of \(what) must be interpolated or positional, not named")
    }
}

extension FullTextSearch {
    /// Reads a hit from a row of the statement. If the statement computes no rank, `rank` is the hit's.
    func hit(_ row: borrowing Row, _ marks: HighlightMarks, rank: Double? = nil) throws -> Hit {
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
        return Hit(
            rowID: try row[0], rank: try rank ?? row[1], snippet: snippet, highlights: highlighted,
            columns: RowCopy(columnNames: columns, values: values))
    }
}

extension String {
    /// Whether FTS5's syntax accepts the text as a function's name.
    var isFunctionName: Bool {
        guard let first = utf8.first, !(0x30...0x39).contains(first) else { return false }
        return unicodeScalars.allSatisfy { $0.isASCIIWordCharacter || $0 == "_" }
    }
}

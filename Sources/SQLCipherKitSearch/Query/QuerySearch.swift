import Foundation
import SQLCipherKitCore

/// Runs a search for an ``FTS5Query``: FTS5 finds and ranks the rows, and all else is done as for user input.
struct QuerySearch {
    private let search: FullTextSearch
    private let index: SearchIndex
    private let query: FTS5Query
    private let options: SearchOptions

    init(_ search: FullTextSearch, _ index: SearchIndex) throws {
        guard search.limit >= 0, search.offset >= 0 else {
            throw DatabaseError.invalidArgument("a search has a limit and an offset of 0 or more")
        }
        options = try SearchOptions(search, index)
        self.search = search
        self.index = index
        query = try index.table.supported(search.query ?? .nothing)
    }

    func found() throws -> FullTextSearch.Results {
        var rows = try options.judged(matches())
        let total = rows.count
        let isWhole = total <= SearchRows.counted
        let ids = rows.prefix(SearchRows.counted).map(\.row).sorted()
        switch search.order {
        case .best: rows.sort { ($0.score, $0.row) > ($1.score, $1.row) }
        case .rowID: rows.sort { $0.row < $1.row }
        case .rowIDDescending: rows.sort { $0.row > $1.row }
        case .sql(let terms):
            let scores = Dictionary(rows.map { ($0.row, $0.score) }, uniquingKeysWith: { first, _ in first })
            rows = try options.sorted(ids, by: terms).map { ($0, scores[$0] ?? 0) }
        }
        let page = rows.dropFirst(search.offset).prefix(search.limit)
        var facets: [String: [FullTextSearch.FacetCount]] = [:]
        var isComplete = isWhole
        for (name, counts) in try options.facets(ids) {
            facets[name] = counts.facets
            if !counts.isComplete { isComplete = false }
        }
        return FullTextSearch.Results(
            hits: try options.shown.hits(page.map { SearchHits.Row(row: $0.row, score: $0.score) }, marker: marker(), source: 0),
            words: [], total: FullTextSearch.Total(count: total, isExact: search.facets.isEmpty || isComplete), facets: facets,
            hasDroppedTokens: false)
    }

    /// The rows that match and their scores.
    private func matches() throws -> [(row: Int64, score: Double)] {
        let table = index.table
        let handle = "f.\(table.name.quotedSQLIdentifier)"
        var condition: SQL = "\(raw: handle) MATCH \(query.expression)"
        if let rank = try rankExpression() { condition = "\(condition) AND f.rank MATCH \(rank)" }
        var rows: [(row: Int64, score: Double)] = []
        try table.connection.forEach("SELECT f.rowid, f.rank FROM \(raw: table.qualifiedName) AS f WHERE \(condition)") { row in
            let rank: Double = try row[1]
            rows.append((try row[0], rank == 0 ? 0 : -rank))
        }
        return rows
    }

    /// The ranking function, with its arguments as SQL literals, as FTS5 requires
    /// (<https://sqlite.org/fts5.html#sorting_by_auxiliary_function_results>).
    private func rankExpression() throws -> String? {
        let (weights, function) = (search.weights, search.rankFunction)
        guard function?.isFunctionName != false else {
            throw DatabaseError.invalidArgument("\(function ?? "") cannot be the name of a ranking function")
        }
        if weights.isEmpty && function == nil { return nil }
        // FTS5 reads numbers without an exponent.
        let literals = weights.map { $0 == $0.rounded() ? String(Int64($0)) : String(format: "%.12f", $0) }
        return "\(function ?? "bm25")(\(literals.joined(separator: ", ")))"
    }

    /// Marks the words and phrases that the query wants.
    private func marker() throws -> SearchMarker {
        var phrases: [SearchMarker.Phrase] = []
        func add(_ node: FTS5Query.Node, _ columns: Set<Int>?) throws {
            switch node {
            case .text(let text, let isPrefix, _):
                var places: [[[UInt8]]] = []
                for token in try index.tokens(of: text, isPrefix ? [.query, .prefix] : .query) {
                    if !token.isColocated || places.isEmpty { places.append([]) }
                    places[places.count - 1].append(token.bytes)
                }
                if !places.isEmpty {
                    phrases.append(SearchMarker.Phrase(places: places, isPrefix: isPrefix, slot: phrases.count, columns: columns))
                }
            case .near(let texts, _): for text in texts { try add(.text(text, isPrefix: false, isInitial: false), columns) }
            case .all(let nodes), .any(let nodes): for node in nodes { try add(node, columns) }
            case .not(let wanted, _): try add(wanted, columns)
            case .columns(let names, let isExcluded, let node):
                let named = Set(names.compactMap { index.columns.firstIndex(named: $0) })
                let wanted = isExcluded ? Set(index.columns.indices).subtracting(named) : named
                try add(node, columns.map { $0.intersection(wanted) } ?? wanted)
            }
        }
        try add(query.node, nil)
        return SearchMarker(phrases, index)
    }
}

extension String {
    /// True if FTS5's syntax accepts the text as a function's name.
    var isFunctionName: Bool {
        guard let first = utf8.first, !(0x30...0x39).contains(first) else { return false }
        return utf8.allSatisfy { $0.isASCIIWordByte || $0 == UInt8(ascii: "_") }
    }
}

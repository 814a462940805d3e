import CSQLCipher
import SQLCipherKitCore

/// Reads the snippet, highlights and columns of each hit.
struct TypedHits {
    private let search: TypedSearch
    private let index: TypedIndex
    private let snippetColumns: [Int]
    private let highlightColumns: [Int]
    private let statement: SQL?

    init(_ search: TypedSearch, _ index: TypedIndex) throws {
        func place(_ column: String) throws(DatabaseError) -> Int {
            if let place = index.columns.firstIndex(named: column) { return place }
            throw DatabaseError(
                code: .error, reason: .noSuchColumn, message: "the full-text table \(index.table.name) has no column \(column)")
        }
        if let snippet = search.snippet, !(1...64).contains(snippet.words) {
            throw DatabaseError.invalidArgument("a snippet has from 1 to 64 words, not \(snippet.words)")
        }
        if Set(search.highlights).count != Set(search.highlights.map { ExactText($0) }).count {
            throw DatabaseError.invalidArgument("two columns to be highlighted have names that are equal as Swift strings")
        }
        self.search = search
        self.index = index
        if let snippet = search.snippet {
            snippetColumns = try snippet.column.map { [try place($0)] } ?? Array(index.columns.indices)
        } else {
            snippetColumns = []
        }
        highlightColumns = try search.highlights.map(place)
        let values = try search.columns.map(place)
        // A table that stores its own text may have numbers in it.
        let texts = (snippetColumns + highlightColumns).map { "CAST(f.\(index.columns[$0].quotedSQLIdentifier) AS TEXT)" }
        let shown = texts + values.map { "f.\(index.columns[$0].quotedSQLIdentifier)" }
        statement = shown.isEmpty ? nil
            : SQL(raw: "SELECT \(shown.joined(separator: ", ")) FROM \(index.table.qualifiedName) AS f WHERE f.rowid = ")
    }

    func hits(_ matches: [sqlcipherkit_match], _ slots: TypedSlots, _ source: Int) throws -> [TypedSearch.Hit] {
        let marker = snippetColumns.isEmpty && highlightColumns.isEmpty ? nil : TypedMarker(slots, index)
        return try matches.map { match in
            var snippet: HighlightedText?
            var highlights: [String: HighlightedText] = [:]
            var values: [SQLValue] = []
            if let statement {
                try index.table.connection.forEach("\(statement)\(match.row)") { row in
                    var best: (score: Int, text: HighlightedText)?
                    for place in snippetColumns.indices {
                        guard let wanted = search.snippet, let marker else { continue }
                        if try Row.Column(row.handle, Int32(place)).isNull() { continue }
                        let found = try row.withUnsafeBytes(at: place) { try marker.snippet($0, wanted) }
                        if let found, best.map({ found.score > $0.score }) ?? true { best = found }
                    }
                    snippet = best?.text
                    for (place, name) in search.highlights.enumerated() {
                        let column = snippetColumns.count + place
                        guard let marker, try !Row.Column(row.handle, Int32(column)).isNull() else { continue }
                        highlights[name] = try row.withUnsafeBytes(at: column) { try marker.highlight($0) }
                    }
                    let first = snippetColumns.count + highlightColumns.count
                    for place in search.columns.indices { values.append(try row[first + place]) }
                }
            }
            if values.isEmpty { values = Array(repeating: .null, count: search.columns.count) }
            return TypedSearch.Hit(
                source: source, table: index.table.name, rowID: match.row, relevance: match.relevance, words: Int(match.words),
                typos: Int(match.typos), proximity: Int(match.proximity), column: Int(match.column),
                exactness: Int(match.exactness), snippet: snippet, highlights: highlights,
                columns: RowCopy(columnNames: search.columns, values: values))
        }
    }
}

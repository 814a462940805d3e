import CSQLCipher
import SQLCipherKitCore

/// Reads the snippet, highlights and columns of each hit.
struct SearchHits {
    private let search: FullTextSearch
    private let index: SearchIndex
    private let snippetColumns: [Int]
    private let highlightColumns: [Int]
    private let statement: SQL?

    init(_ search: FullTextSearch, _ index: SearchIndex) throws {
        func place(_ column: String) throws -> Int {
            if let place = index.columns.firstIndex(named: column) { return place }
            throw DatabaseError(
                code: .error, reason: .noSuchColumn, message: "the full-text table \(index.table.name) has no column \(column)")
        }
        if let snippet = search.snippet, !(1...64).contains(snippet.words) {
            throw DatabaseError.invalidArgument("a snippet has from 1 to 64 words, not \(snippet.words)")
        }
        if Set(search.highlightedColumns).count != Set(search.highlightedColumns.map { ExactText($0) }).count {
            throw DatabaseError.invalidArgument("two columns to be highlighted have names that are equal as Swift strings")
        }
        self.search = search
        self.index = index
        if let snippet = search.snippet {
            snippetColumns = try snippet.column.map { [try place($0)] } ?? Array(index.columns.indices)
        } else {
            snippetColumns = []
        }
        highlightColumns = try search.highlightedColumns.map(place)
        let values = try search.retrievedColumns.map(place)
        // A table that stores its own text may have numbers in it.
        let texts = (snippetColumns + highlightColumns).map { "CAST(f.\(index.columns[$0].quotedSQLIdentifier) AS TEXT)" }
        let shown = texts + values.map { "f.\(index.columns[$0].quotedSQLIdentifier)" }
        statement = shown.isEmpty ? nil
            : SQL(raw: "SELECT \(shown.joined(separator: ", ")) FROM \(index.table.qualifiedName) AS f WHERE f.rowid = ")
    }

    /// A row to show, and how it was ranked.
    struct Row {
        var row: Int64
        var score: Double
        var match: sqlcipherkit_match?
    }

    /// - Parameter source: the position of the index among those that are searched.
    func hits(_ rows: [Row], marker: @autoclosure () throws -> SearchMarker, source: Int) throws -> [FullTextSearch.Hit] {
        let marker = rows.isEmpty || (snippetColumns.isEmpty && highlightColumns.isEmpty) ? nil : try marker()
        return try rows.map { row in
            var snippet: HighlightedText?
            var highlights: [String: HighlightedText] = [:]
            var values: [SQLValue] = []
            if let statement {
                try index.table.connection.forEach("\(statement)\(row.row)") { row in
                    var best: (score: Int, text: HighlightedText)?
                    for (place, column) in snippetColumns.enumerated() {
                        guard let wanted = search.snippet, let marker else { continue }
                        if try SQLCipherKitCore.Row._Column(row.handle, Int32(place)).isNull() { continue }
                        let found = try row.withUnsafeBytes(at: place) { try marker.snippet($0, column, wanted) }
                        if let found, best.map({ found.score > $0.score }) ?? true { best = found }
                    }
                    snippet = best?.text
                    for (number, name) in search.highlightedColumns.enumerated() {
                        let place = snippetColumns.count + number
                        guard let marker, try !SQLCipherKitCore.Row._Column(row.handle, Int32(place)).isNull() else { continue }
                        highlights[name] = try row.withUnsafeBytes(at: place) { try marker.highlight($0, highlightColumns[number]) }
                    }
                    let first = snippetColumns.count + highlightColumns.count
                    for place in search.retrievedColumns.indices { values.append(try row[first + place]) }
                }
            }
            if values.isEmpty { values = Array(repeating: .null, count: search.retrievedColumns.count) }
            let match = row.match
            let columns = OwnedRow(columnNames: search.retrievedColumns, values: values, profile: index.table.connection.profile)
            return FullTextSearch.Hit(
                indexPosition: source, schema: index.table.schema.name, table: index.table.name, rowID: row.row, score: row.score,
                matchedWordCount: Int(match?.words ?? 0), typoCount: Int(match?.typos ?? 0),
                field: match.flatMap { FullTextSearch.Field(rawValue: Int($0.field)) } ?? .other,
                place: match?.wordPlace ?? .anywhere, inexactness: Int(match?.exactness ?? 0), snippet: snippet,
                highlights: highlights, columnValues: columns)
        }
    }
}

extension SearchHits.Row {
    init(_ match: sqlcipherkit_match) { self.init(row: match.row, score: match.score, match: match) }
}

import SQLCipherKitCore

/// The tables that the SQL terms of a search read: the content table, or the full-text table itself.
struct SearchSource {
    /// The SQL after FROM.
    private let tables: String
    /// The SQL of the row id in these tables.
    private let rowID: String

    init(_ table: FullTextIndex) throws {
        if let content = try table.content() {
            (tables, rowID) = ("\(content.rows) AS t\(content.join)", content.rowID)
        } else {
            (tables, rowID) = ("\(table.qualifiedName) AS t", "t.rowid")
        }
    }

    /// Returns a query of some rows: the ids of those that pass the filter, and two columns.
    func judging(_ rows: [Int64], _ columns: SQL, _ filter: SQL?) -> SQL {
        // The other columns of json_each would be ambiguous with those of the content. CROSS JOIN keeps SQLite from reading all
        // rows that an index finds for the filter.
        """
        SELECT sqlcipherkit_row, \(columns)
        FROM (SELECT value AS sqlcipherkit_row FROM json_each(\(list(rows)))) AS sqlcipherkit_rows CROSS JOIN \(raw: tables)
        WHERE \(raw: rowID) = sqlcipherkit_row AND (\(filter ?? "1"))
        """
    }

    /// Returns the rows that pass a filter, in ascending order, if an index finds them and there are at most `limit`.
    func few(_ filter: SQL, limit: Int, _ connection: Connection) throws -> [Int64]? {
        let rows: SQL = "SELECT \(raw: rowID) FROM \(raw: tables) WHERE (\(filter)) LIMIT \(raw: String(limit + 1))"
        var isScan = false
        try connection.forEach("EXPLAIN QUERY PLAN \(rows)") { step in
            // Below the top are subqueries, which run once.
            let (parent, detail): (Int, String) = (try step[1], try step[3])
            if parent == 0, detail.hasPrefix("SCAN") { isScan = true }
        }
        if isScan { return nil }
        let found = try connection.fetchAll(Int64.self, rows)
        return found.count > limit ? nil : found.sorted()
    }

    private func list(_ rows: some Sequence<Int64>) -> String { "[" + rows.map(String.init).joined(separator: ",") + "]" }

    /// Returns the rows with these ids.
    func rows(_ ids: some Sequence<Int64>) -> FacetRows {
        FacetRows(from: "\(raw: tables) WHERE \(raw: rowID) IN (SELECT value FROM json_each(\(list(ids))))", rowID: rowID)
    }

    static func requirePositional(_ sql: SQL, _ what: String) throws {
        guard !sql.arguments.named.isEmpty else { return }
        throw DatabaseError(
            code: .misuse, reason: .parameters, message: "the values of \(what) must be interpolated or positional, not named")
    }
}

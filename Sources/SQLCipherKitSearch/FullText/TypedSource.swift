import SQLCipherKitCore

/// The tables that the SQL terms of a typed search read: the content table, or the full-text table itself.
struct TypedSource {
    /// The SQL after FROM.
    private let tables: String
    /// The SQL of the row id in these tables.
    private let rowID: String

    init(_ table: FullTextIndex) throws(DatabaseError) {
        if let content = try table.content() {
            (tables, rowID) = ("\(content.rows) AS t\(content.join)", content.rowID)
        } else {
            (tables, rowID) = ("\(table.qualifiedName) AS t", "t.rowid")
        }
    }

    /// Returns a query of one row.
    func row(_ columns: SQL, _ row: Int64) -> SQL { "SELECT \(columns) FROM \(raw: tables) WHERE \(raw: rowID) = \(row)" }

    /// Returns the rows with these ids.
    func rows(_ ids: some Sequence<Int64>) -> FacetRows {
        let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
        return FacetRows(from: "\(raw: tables) WHERE \(raw: rowID) IN (SELECT value FROM json_each(\(list)))", rowID: rowID)
    }
}

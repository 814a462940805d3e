/// The tables that SQL terms of a typed search read: the content table, or the full-text table itself.
struct TypedSource {
    /// What follows FROM.
    private let tables: String
    /// The row's id in them.
    private let rowID: String

    init(_ table: FullTextIndex) throws(DatabaseError) {
        if let content = try table.content() {
            (tables, rowID) = ("\(content.rows) AS t\(content.join)", content.rowID)
        } else {
            (tables, rowID) = ("\(table.qualifiedName) AS t", "t.rowid")
        }
    }

    /// A question about one row.
    func row(_ columns: SQL, _ row: Int64) -> SQL { "SELECT \(columns) FROM \(raw: tables) WHERE \(raw: rowID) = \(row)" }

    /// Rows by their ids.
    func rows(_ ids: some Sequence<Int64>) -> FacetRows {
        let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
        return FacetRows(from: "\(raw: tables) WHERE \(raw: rowID) IN (SELECT value FROM json_each(\(list)))", rowID: rowID)
    }
}

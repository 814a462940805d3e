extension Schema {
    /// Opens the value of a column in a row, to read and write it incrementally.
    /// - Parameters:
    ///   - table: a table with row ids and without generated columns.
    ///   - column: a stored column. For writing, it must have no index and no foreign key.
    ///   - rowID: the row's id.
    ///   - forWriting: whether the value may be written. Default: false.
    /// - Throws: SQLite's error if there is no such table, column or row, or its value is neither a blob nor text.
    public func openBlob(table: String, column: String, rowID: Int64, forWriting: Bool = false) throws(DatabaseError) -> Blob {
        try Blob(self, table, column, rowID, forWriting: forWriting)
    }
}

extension Schema {
    /// Opens the value of a column of a row, to be read and written piece by piece.
    /// - Parameters:
    ///   - table: a table with row ids.
    ///   - column: a column that is stored: no generated one and, for writing, none with an index or a foreign key.
    ///   - rowID: the row's id.
    ///   - forWriting: whether it may be written. Default: no.
    /// - Throws: SQLite's error if there is no such table, column or row, or its value is neither a blob nor text.
    public func openBlob(table: String, column: String, rowID: Int64, forWriting: Bool = false) throws(DatabaseError) -> Blob {
        try Blob(self, table, column, rowID, forWriting: forWriting)
    }
}

import SQLCipherKitCore

extension DatabaseRegion {
    /// The whole table of a record type.
    public init<R: SQLRecord>(_ type: R.Type) { self.init(DatabaseTable(R.tableName)) }
}

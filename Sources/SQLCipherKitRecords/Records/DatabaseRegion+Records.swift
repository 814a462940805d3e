import SQLCipherKitCore

extension DatabaseRegion {
    /// The whole table of a record type.
    public init<R: SQLRecord>(_ type: R.Type) { self.init(DatabaseTable(R.tableName)) }

    /// The tables and columns that a query reads, for an observation that reads again only when these change.
    /// ```swift
    /// let region = try DatabaseRegion(Note.filter { $0.stars > 3 }, in: db)
    /// ```
    /// - Throws: the errors of ``Connection/sql(of:)``, or SQLite's error for a query that does not compile.
    public init(_ request: some SQLRequest, in db: Connection) throws {
        let sql = try db.sql(of: request)
        self = try db.recordingReads { db in _ = try db.prepare(SQL(raw: sql.text)) }.1
    }
}

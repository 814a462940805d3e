import SQLCipherKitCore

/// The records of a search.
extension FullTextIndex {
    /// Searches, and reads the record of each hit from the content table.
    /// ```swift
    /// for match in try notes.records(Note.self, FullTextSearch("quikc bro")) {
    ///     print(match.record.title, match.hit.score)
    /// }
    /// ```
    /// The record is read from all columns of the content table, or of the full-text table if that stores its own text.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table, and the errors of
    ///   ``search(_:)``.
    public func records<Record: SQLRow>(_ type: Record.Type, _ search: FullTextSearch) throws -> [FullTextSearch.Match<Record>] {
        try records(type, of: self.search(search).hits)
    }

    /// Returns the hits with their records, read from the content table. Hits whose rows have been deleted are left out.
    public func records<Record: SQLRow>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.Match<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(type, sql, [hit.rowID]).map { FullTextSearch.Match(record: $0, hit: hit) }
        }
    }

    /// Returns the hits with their records, read as a `Decodable` type whose coding keys are the columns' names; see
    /// ``Row/decode(_:)``.
    @_disfavoredOverload
    public func records<Record: Decodable>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.Match<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(type, sql, [hit.rowID]).map { FullTextSearch.Match(record: $0, hit: hit) }
        }
    }

    private func recordSQL() throws(DatabaseError) -> SQL {
        if let content = try content() {
            return SQL(raw: "SELECT t.* FROM \(content.rows) AS t\(content.join) WHERE \(content.rowID) = ?")
        }
        guard try options()["content"] == nil else {
            throw .invalidArgument("\(name) is contentless: there is no record to read")
        }
        return SQL(raw: "SELECT * FROM \(qualifiedName) WHERE rowid = ?")
    }
}

import Foundation

extension Schema {
    /// Says where words or other texts still stand in the files of the database: in what is not deleted, and in what is.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE title = 'Foxes'")
    /// let report = try db.main.residue(of: ["Foxes"])
    /// for place in report.residue { print(place.kind, place.file ?? "", place.page ?? 0, place.object ?? "") }
    /// if !report.isErased { try db.main.erase() }
    /// ```
    /// All pages are decrypted and looked at: rows and index entries with their overflow pages, what pages hold besides, free
    /// pages; so are older images of pages in the write-ahead log and the rollback journal, and files that a killed rewrite has
    /// left. In the index of a full-text table (FTS5) a text is found if the words that the table's tokenizer makes of it are all
    /// there, also in parts, as an index leaves out what a word shares with the one before; or if one word contains it. Elsewhere
    /// it is found byte for byte, in UTF-8 and in the database's encoding. Case counts, but where a tokenizer folds it.
    ///
    /// Not found are a text that was stored compressed or encoded by the application, one of which a part has been overwritten,
    /// words of deleted pages of an index that are no longer than three bytes beyond their common beginning, and what an FTS3 or
    /// FTS4 index has left of deleted rows. It looks at the database alone, not at what the file system or the drive keeps.
    /// - Parameters:
    ///   - texts: what is looked for; not empty.
    ///   - progress: called every few pages. If it throws, so does this call.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, ``DatabaseError/Reason/invalidArgument`` for an empty text,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, and what keeps the files from being read.
    public func residue(of texts: [String], progress: RewriteProgressHandler? = nil) throws -> ResidueReport {
        let encoding = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).encoding")) ?? "UTF-8"
        return try search(for: texts.map { ResidueTarget($0, encoding: encoding) }, progress)
    }

    /// The same for bytes.
    public func residue(ofBytes bytes: [Data], progress: RewriteProgressHandler? = nil) throws -> ResidueReport {
        try search(for: bytes.map { ResidueTarget(Array($0)) }, progress)
    }

    private func search(for targets: [ResidueTarget], _ progress: RewriteProgressHandler?) throws -> ResidueReport {
        try live()
        if targets.contains(where: { $0.bytes.isEmpty }) { throw DatabaseError.invalidArgument("an empty text is everywhere") }
        if connection.isInTransaction { throw DatabaseError.misuse("the files do not hold what a transaction has changed yet") }
        return try connection.rewriting {
            var report = ResidueReport()
            // One snapshot, in which no page changes its place.
            try connection.withSnapshot {
                _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(qualified("sqlite_schema"))"))
                let search = try ResidueSearch(self, targets, progress.map { ProgressRelay($0, on: connection) })
                report = try search.run()
            }
            return report
        }
    }
}

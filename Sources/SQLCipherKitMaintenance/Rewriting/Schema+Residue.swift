import Foundation
import SQLCipherKitCore

extension Schema {
    /// Searches the database's files for words or other texts, in deleted content as well as in content that is not deleted.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE title = 'Foxes'")
    /// let report = try db.main.residue(of: ["Foxes"])
    /// for place in report.residue { print(place.kind, place.file ?? "", place.page ?? 0, place.object ?? "") }
    /// if !report.isErased { try db.main.erase() }
    /// ```
    /// All pages are decrypted and searched: rows and index entries with their overflow pages, unused bytes of pages, and free
    /// pages. So are older images of pages in the write-ahead log and the rollback journal, and files left by a killed rewrite. In
    /// the index of a full-text table (FTS5), a text is found if all words into which the table's tokenizer splits it are there, or
    /// if one word contains it. A word may also be found in part, because an index omits the beginning that it shares with the
    /// previous word. Elsewhere a text is found byte for byte, in UTF-8 and in the database's encoding. Case matters, except where
    /// a tokenizer folds it.
    ///
    /// The following are not found: text that the application stored compressed or encoded, partly overwritten text, words on
    /// deleted index pages that have at most three bytes after the beginning they share, and remains of deleted rows in an FTS3 or
    /// FTS4 index. Only the database is searched, not copies that the file system or the drive keeps.
    /// - Parameters:
    ///   - values: the texts to search for, or blobs such as `Data`, which are found byte for byte. None of them is empty.
    ///   - progress: called every few pages. If it throws, this method throws the same error.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, ``DatabaseError/Reason/invalidArgument`` for an empty text or a
    ///   number, ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, or the error that prevents the files from
    ///   being read.
    public func residue<Value: SQLValueConvertible>(
        of values: [Value], progress: RewriteProgress.Handler? = nil
    ) throws -> ResidueReport {
        try live()
        let encoding = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).encoding")) ?? "UTF-8"
        let targets = try values.map { try ResidueTarget($0.sqlValue, encoding: encoding) }
        if targets.contains(where: { $0.bytes.isEmpty }) { throw DatabaseError.invalidArgument("an empty text cannot be found") }
        if connection.isInTransaction { throw DatabaseError.misuse("the files lack the transaction's changes: commit first") }
        return try connection.usingExclusively {
            var report = ResidueReport()
            // In one snapshot, so that no page moves.
            try connection.withSnapshot {
                _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(qualified("sqlite_schema"))"))
                let search = try ResidueSearch(self, targets, progress.map { ProgressRelay($0, on: connection) })
                report = try search.run()
            }
            return report
        }
    }
}

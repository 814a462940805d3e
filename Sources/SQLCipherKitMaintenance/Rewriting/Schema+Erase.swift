import SQLCipherKitCore

extension Schema {
    /// Rewrites the database so that deleted content can no longer be read from its files, with or without the key.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE id = \(id)")
    /// let report = try db.main.erase()
    /// print(report.pages, report.fullTextIndexes, report.isComplete)
    /// ```
    /// `DELETE` leaves a row's bytes in its page, in the indexes of full-text search, in the samples of `ANALYZE`, and in the log
    /// or the journal. This method rewrites full-text indexes without the words of deleted rows, clears the unused bytes in R-Tree
    /// nodes, replaces existing samples, rewrites every page as ``vacuum()`` does, and empties the write-ahead log or removes the
    /// journal. Files that a killed process left next to the database are removed too. Rows keep their ids.
    ///
    /// The new pages are flushed to disk. Other copies are not erased: earlier backups, exports and changesets, snapshots of the
    /// file system, and blocks that the file system or the drive has freed without wiping them. To protect against these, change
    /// the key. ``residue(of:progress:)`` tells whether given content is still in the files.
    ///
    /// It takes as long as rebuilding the full-text indexes plus a vacuum. The indexes and the pages are rewritten in two
    /// transactions: after an error, or if the process ends, the content is unchanged, but the indexes may have been rewritten.
    /// - Parameter progress: called before each full-text index, before the pages are rewritten, and with all pages done. If it
    ///   throws before the last call, nothing is changed, and this method throws the same error.
    /// - Returns: a report of what was rewritten and what could not be.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read, on a read-only database and for
    ///   `temp`, which is never in a file; ``DatabaseError/Reason/busy`` if another connection reads or writes for longer than the
    ///   busy timeout; the message then says whether the pages have already been rewritten; ``DatabaseError/Reason/schemaName``;
    ///   ``DatabaseError/Reason/schemaText`` before anything is changed; or an error from SQLite, for instance for an unknown
    ///   tokenizer.
    @discardableResult
    public func erase(progress: RewriteProgress.Handler? = nil) throws -> ErasureReport {
        try connection.usingExclusively { try Erasure(of: self, progress).run() }
    }
}

extension Schema {
    /// Rewrites the database so that nothing of what was deleted from it can be read in its files again, with the key or without.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE id = \(id)")
    /// let report = try db.main.erase()
    /// print(report.pages, report.fullTextIndexes, report.isComplete)
    /// ```
    /// `DELETE` leaves a row's bytes in its page, in the indexes of full-text search, in the samples of `ANALYZE`, and in the log
    /// or the journal. This call writes full-text indexes again without the words of deleted rows, empties what R-Trees have left
    /// in their nodes, takes new samples where there are some, rewrites every page as ``vacuum()`` does, and empties the
    /// write-ahead log or removes the journal. What a process that was killed has left beside the file goes too. Rows keep their
    /// ids.
    ///
    /// The new pages are flushed to the disk. Not touched are other copies: backups, exports and changesets made before, snapshots
    /// of the file system, the blocks that the file system or the drive has freed without wiping them; for these, change the key.
    /// ``residue(of:progress:)`` tells whether something still stands in the files.
    ///
    /// It takes as long as building the full-text indexes again, and a vacuum. It is two transactions, for the indexes and for the
    /// pages: after an error or the end of the process the content is as it was, and the indexes may have been rewritten.
    /// - Parameter progress: called before each full-text index, before the pages are rewritten, and with all pages done. If it
    ///   throws before the last, nothing has changed, and this call throws the same error.
    /// - Returns: what was rewritten, and what could not be.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read, on a read-only database and for
    ///   `temp`, which is never in a file; ``DatabaseError/Reason/busy`` if another connection reads or writes for longer than the
    ///   busy timeout, and the message says whether the pages were rewritten by then; ``DatabaseError/Reason/schemaName``; and what
    ///   SQLite reports, for an unknown tokenizer for instance.
    @discardableResult
    public func erase(progress: RewriteProgressHandler? = nil) throws -> ErasureReport {
        try connection.rewriting { try Erasure(of: self, progress).run() }
    }
}

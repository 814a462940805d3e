import CSQLCipher

extension Schema {
    /// Rewrites the database without its free pages, and with each table's pages side by side
    /// (<https://sqlite.org/lang_vacuum.html>).
    ///
    /// It is one transaction: after an error, or the end of the process, the database is as it was. The new content is collected
    /// in a temporary file without a name, encrypted with the key of the connection's main database, so that the memory it takes
    /// does not grow with the database: two caches of 8 MB, whatever ``cacheSize`` is. The disk needs room for the file, in the
    /// folder that SQLite keeps temporary files in (<https://sqlite.org/tempfiles.html>), and for the journal. If only one of the
    /// main database and this one is encrypted, the content is collected in memory instead, as with `VACUUM` in SQL.
    /// Every row keeps its row id, also in a table without an `INTEGER PRIMARY KEY`, to which `VACUUM` in SQL gives new ones. What
    /// was deleted from full-text indexes and the samples of `ANALYZE` is copied with them: see ``erase(progress:)``.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read or on a read-only database,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, and what SQLite reports.
    public func vacuum() throws(DatabaseError) {
        let rewrite = try connection.beginRewrite()
        defer { rewrite?.end() }
        try requireRewritable()
        let journal = try replaceJournal()
        defer { restoreJournal(journal) }
        try vacuumPages()
    }

    /// The statement itself, where nothing else stands in its way.
    func vacuumPages() throws(DatabaseError) {
        // The database and its copy have a cache of this size each; neither reads a page twice.
        let cacheSize = try self.cacheSize
        try setCacheSize(-8192)
        defer { _ = try? setCacheSize(cacheSize) }
        let handle = try live()
        sqlcipherkit_vacuum_begins(handle, name)
        defer { sqlcipherkit_vacuum_ended(handle) }
        try connection.execute(SQL(raw: "VACUUM \(quotedName)"))
    }
}

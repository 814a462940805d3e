import CSQLCipher
import SQLCipherKitCore

extension Schema {
    /// Rewrites the database without its free pages and with each table's pages contiguous (<https://sqlite.org/lang_vacuum.html>).
    ///
    /// A vacuum is one transaction: after an error or an interrupt, or if the process ends, the database is unchanged. An interrupt
    /// while the new content is written back takes the time that is needed to undo this part. The new content is collected in an
    /// unnamed temporary file, encrypted with the key of the connection's main database, so that memory use does not grow with the
    /// database: the vacuum uses two caches of 8 MB, whatever ``cacheSize`` is. The disk needs room for that file, in the folder
    /// where SQLite keeps temporary files (<https://sqlite.org/tempfiles.html>), and for the journal. If only one of the two
    /// databases (the main database and this database) is encrypted, or if this database is in memory, the content is collected in
    /// memory instead, as with `VACUUM` in SQL.
    ///
    /// Every row keeps its row id, even in a table without an `INTEGER PRIMARY KEY`, where `VACUUM` in SQL assigns new row ids.
    /// Deleted content in full-text indexes and in the samples of `ANALYZE` is copied too: to remove it, see
    /// ``eraseDeletedContent(progress:)``.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read or on a read-only database,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/malformedSchema``, ``DatabaseError/Reason/busy``, or an error
    ///   from SQLite, such as one with the code ``ResultCode/interrupted``.
    public func vacuum() throws {
        let rewrite = try connection.beginExclusiveUse()
        defer { rewrite?.end() }
        try requireRewritable()
        try entriesToRun()
        let journal = try replaceJournal()
        defer { restoreJournal(journal) }
        try vacuumPages()
    }

    /// Runs the statement itself, without checks.
    func vacuumPages() throws {
        // The database and its copy each have a cache of this size; neither reads a page twice.
        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try setCacheSize(-8192)
        let handle = try live()
        sqlcipherkit_vacuum_begins(handle)
        defer { sqlcipherkit_vacuum_ended(handle) }
        try connection.execute(SQL(raw: "VACUUM \(quotedName)"))
    }
}

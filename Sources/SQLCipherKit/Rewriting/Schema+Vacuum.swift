extension Schema {
    /// Rewrites the database without its free pages, and with each table's pages side by side
    /// (<https://sqlite.org/lang_vacuum.html>).
    ///
    /// It is one transaction: after an error, or the end of the process, the database is as it was. The new content is collected
    /// in memory, because nothing temporary may be on the disk in plaintext, and so needs as much memory as the database has
    /// content; for a large one, ``backup(toFileAt:options:progress:)`` with ``BackupOptions/isCompact`` needs little.
    /// Tables without an `INTEGER PRIMARY KEY` get new row ids, which breaks everything that has stored the old ones, a full-text
    /// table with external content for instance; a compact backup keeps them.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read or on a read-only database,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, and what SQLite reports.
    public func vacuum() throws(DatabaseError) {
        _ = try connection.liveOutsideHooks()
        try requireRewritable()
        try connection.execute(SQL(raw: "VACUUM \(quotedName)"))
    }
}

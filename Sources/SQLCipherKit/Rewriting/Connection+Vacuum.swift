extension Connection {
    /// Writes a database anew without its free pages, and with each table's pages side by side (<https://sqlite.org/lang_vacuum.html>).
    ///
    /// It is one transaction: an error, or the end of the process, leaves the database as it was. The new content is collected in
    /// memory, as nothing temporary may lie on the disk in plaintext, and so needs as much of it as the database has content; for a
    /// large one, ``vacuum(_:intoFileAt:as:progress:)`` needs little.
    /// Tables without an `INTEGER PRIMARY KEY` get new row ids, which is fatal to whoever has kept the old ones, a full-text table
    /// with external content for instance; ``vacuum(_:intoFileAt:as:progress:)`` keeps them.
    /// - Parameter schema: `main`, or what the database was attached as.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside of a transaction, while a result is being read or on a read-only database,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, and what SQLite reports.
    public func vacuum(_ schema: String = "main") throws(DatabaseError) {
        _ = try liveOutsideHooks()
        try checkRewrite(schema)
        try execute(SQL(raw: "VACUUM \(schema.quotedSQLIdentifier)"))
    }

    /// Writes a compact copy of a database into a new file, with the same encryption or another one.
    ///
    /// ```swift
    /// try db.vacuum(intoFileAt: "compact.db")
    /// try db.vacuum(intoFileAt: "handover.db", as: .key(otherKey))
    /// ```
    /// SQLite's own `VACUUM INTO` takes the cipher's default settings whatever the database's are, and writes a file that does not
    /// open. This one is ``DatabaseConverter/export(_:schema:toFileAt:as:progress:)``: the copy is compared with the database and
    /// flushed to disk before it gets its name.
    /// - Parameters:
    ///   - schema: `main`, or what the database was attached as.
    ///   - path: the new file. There must be none of that name.
    ///   - encryption: how it is encrypted; nil, the default, is the same key, salt and settings.
    ///   - progress: as with ``DatabaseConverter/export(_:schema:toFileAt:as:progress:)``.
    /// - Throws: as ``DatabaseConverter/export(_:schema:toFileAt:as:progress:)``.
    public func vacuum(
        _ schema: String = "main", intoFileAt path: String, as encryption: Encryption? = nil, progress: RewriteProgressHandler? = nil
    ) throws {
        try requireSchema(schema)
        try DatabaseConverter.export(
            self, schema: schema, toFileAt: path, as: encryption ?? self.encryption(of: schema), progress: progress)
    }
}

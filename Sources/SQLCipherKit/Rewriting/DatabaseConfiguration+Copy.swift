extension DatabaseConfiguration {
    /// For the copy of a database of `connection`: a file that is being written, or a database in memory.
    static func forCopy(of connection: Connection) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.enforcesForeignKeys = false
        configuration.busyTimeout = connection.configuration.busyTimeout
        configuration.values = connection.configuration.values
        configuration.allowsDoubleQuotedStrings = connection.configuration.allowsDoubleQuotedStrings
        let prepare = connection.configuration.preparingOnly
        // Used on the connection's own thread, during the rewrite.
        nonisolated(unsafe) let rewrite = connection.rewrite
        configuration.prepare = { copy in
            guard let rewrite else { return try prepare?(copy) ?? () }
            rewrite.add(copy)
            try rewrite.call(allowing: copy) { try prepare?(copy) }
        }
        return configuration
    }

    /// For a database that is read as a whole and never written to, with the functions and collations of `connection`.
    static func forReading(with connection: Connection) -> DatabaseConfiguration {
        var configuration = forCopy(of: connection)
        configuration.access = .readOnly
        configuration.needsContent = true
        if let prepare = configuration.prepare {
            configuration.prepare = { db in
                // What it wants to write comes after what it registers, and would be undone anyway.
                do { try prepare(db) } catch let error as DatabaseError where error.code.primary == .readOnly {}
            }
        }
        return configuration
    }

    /// `prepare` for the functions and collations that it registers; what it may write is undone, as a copy must be a copy.
    var preparingOnly: (@Sendable (Connection) throws -> Void)? {
        guard let prepare else { return nil }
        return { db in
            try db.savepoint { db in
                try prepare(db)
                return TransactionEnd.rollback(())
            }
        }
    }
}

extension DatabaseConfiguration.Safeguards {
    /// For a file that is copied over a database of `connection`, whose schema calls the same functions. It is verified as a whole.
    static func forCopy(of connection: Connection) throws(DatabaseError) -> Self {
        var safeguards = Self()
        safeguards.checksStructure = false
        safeguards.trustsSchema = try connection.settings.isEnabled(.trustedSchema)
        (safeguards.allowsViews, safeguards.allowsTriggers, safeguards.limits) = (true, true, [:])
        return safeguards
    }
}

extension Schema {
    /// What gives a new file the shape of this database before its header is written.
    func shape(pageSize: Int?) throws(DatabaseError) -> @Sendable (Connection) throws -> Void {
        let encoding = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).encoding")) ?? "UTF-8"
        let autoVacuum = try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(quotedName).auto_vacuum")) ?? 0
        return { copy in
            if let pageSize { try copy.execute(SQL(raw: "PRAGMA page_size = \(pageSize)")) }
            try copy.execute(SQL(raw: "PRAGMA encoding = '\(encoding)'"))
            try copy.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
            // The encoding is written with the first table, and there may be none to copy.
            if encoding != "UTF-8" { try copy.execute(SQLScript("CREATE TABLE encoding_keeper(x); DROP TABLE encoding_keeper")) }
        }
    }
}

extension Connection {
    /// For a file that is worthless until it is complete: no journal, and one flush at the end.
    func disableJournal() throws(DatabaseError) {
        try execute("PRAGMA journal_mode = OFF")
        try execute("PRAGMA synchronous = OFF")
    }
}

import SQLCipherKitCore

extension DatabaseConfiguration {
    /// The configuration for a copy of one of the connection's databases: a file that is being written, or an in-memory database.
    static func forCopy(of connection: Connection) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.enforcesForeignKeys = false
        configuration.busyTimeout = connection.configuration.busyTimeout
        configuration.valueProfile = connection.configuration.valueProfile
        configuration.allowsDoubleQuotedStrings = connection.configuration.allowsDoubleQuotedStrings
        let prepare = connection.configuration.preparingOnly
        // Only used on the connection's own thread, during the rewrite.
        nonisolated(unsafe) let rewrite = connection.exclusiveUse
        configuration.prepareDatabase = { copy in
            guard let rewrite else { return try prepare?(copy) ?? () }
            rewrite.add(copy)
            try rewrite.call(allowing: copy) { try prepare?(copy) }
        }
        return configuration
    }

    /// The configuration for a database that is read as a whole and never written, with the functions and collations of
    /// `connection`.
    static func forReading(with connection: Connection) -> DatabaseConfiguration {
        var configuration = forCopy(of: connection)
        configuration.access = .readOnly
        configuration.needsContent = true
        if let prepare = configuration.prepareDatabase {
            configuration.prepareDatabase = { db in
                // It registers functions before it writes, and its writes would be undone anyway.
                do { try prepare(db) } catch let error as DatabaseError where error.code.primary == .readOnly {}
            }
        }
        return configuration
    }

    /// `prepare` for the functions and collations that it registers. Anything that it writes is undone, because a copy must stay
    /// identical.
    var preparingOnly: (@Sendable (Connection) throws -> Void)? {
        guard let prepareDatabase else { return nil }
        return { db in
            try db.savepoint { db in
                try prepareDatabase(db)
                return TransactionEnd.rollback(())
            }
        }
    }
}

extension DatabaseConfiguration.Safeguards {
    /// The safeguards for a file that is copied over one of the connection's databases, with a schema that calls the same
    /// functions. The file is verified as a whole.
    static func forCopy(of connection: Connection) throws -> Self {
        var safeguards = limited(to: .none)
        safeguards.isDefensive = true
        safeguards.trustsSchema = try connection.settings.isEnabled(.trustedSchema)
        return safeguards
    }

    /// Safeguards that refuse nothing of the file, but limit the work on it.
    static func limited(to work: ResourceLimits) -> Self {
        var safeguards = Self()
        (safeguards.checksStructure, safeguards.isDefensive, safeguards.resourceLimits) = (false, false, work)
        (safeguards.allowsViews, safeguards.allowsTriggers, safeguards.limits) = (true, true, [:])
        return safeguards
    }
}

extension Schema {
    /// A closure that gives a new file this database's page size, encoding and auto-vacuum mode before its header is written.
    func shape(pageSize: Int?) throws -> @Sendable (Connection) throws -> Void {
        let encoding = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).encoding")) ?? "UTF-8"
        let autoVacuum = try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(quotedName).auto_vacuum")) ?? 0
        return { copy in try copy.setShape(pageSize: pageSize, encoding: encoding, autoVacuum: autoVacuum) }
    }
}

extension Connection {
    /// Sets what cannot be changed after the header of a new file is written.
    func setShape(pageSize: Int?, encoding: String, autoVacuum: Int) throws {
        if let pageSize { try execute(SQL(raw: "PRAGMA page_size = \(pageSize)")) }
        try execute(SQL(raw: "PRAGMA encoding = '\(encoding)'"))
        try execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
        // The encoding is only written with the first table, and there may be no table to copy.
        if encoding != "UTF-8" { try execute(SQLScript("CREATE TABLE encoding_keeper(x); DROP TABLE encoding_keeper")) }
    }

    /// Turns off the journal and flushing, for a file that is worthless until it is complete and is flushed once at the end.
    func disableJournal() throws {
        try execute("PRAGMA journal_mode = OFF")
        try execute("PRAGMA synchronous = OFF")
    }
}

import CSQLCipher

extension Connection {
    /// Attaches a database under a name (<https://sqlite.org/lang_attach.html>).
    ///
    /// ```swift
    /// let archive = try db.attach(.file("archive.db"), as: "archive", key: archiveKey)
    /// try db.execute("INSERT INTO archive.note SELECT * FROM main.note WHERE year < \(2020)")
    /// try archive.detach()
    /// ```
    /// The database is read with the key before the call returns; a new file is created with the key. Up to 125 databases can be
    /// attached.
    /// - Parameters:
    ///   - location: the database to attach.
    ///   - name: its name in SQL, any text. Where SQL needs quotes, write `\(identifier: name)`.
    ///   - key: how the database is encrypted; nil for no encryption. To use the same key, salt and settings as another database,
    ///     pass its ``Schema/key``. There is no default, because any default would be wrong for some databases.
    ///   - safeguards: safeguards for an untrusted file. They apply to the whole connection from now on, even after the database is
    ///     detached. Default: nil, for the safeguards that the connection was opened with.
    /// - Returns: a handle to the database.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the name is taken or empty,
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/invalidKey`` or ``DatabaseError/Reason/cannotOpen``, ``ResultCode/corrupt`` if the structure is
    ///   damaged and the safeguards check it, or the errors of a ``KeyProvider`` or ``KeySlots``, as when a database is opened. In
    ///   each case nothing is attached.
    @discardableResult
    public func attach(
        _ location: DatabaseLocation, as name: String, key: DatabaseKey?, safeguards: DatabaseConfiguration.Safeguards? = nil
    ) throws -> Schema {
        do { return try attachAny(location, name, key, safeguards) } catch {
            throw DatabaseError(thrownBy: "attaching \(name)", error)
        }
    }

    private func attachAny(
        _ location: DatabaseLocation, _ name: String, _ key: DatabaseKey?, _ safeguards: DatabaseConfiguration.Safeguards?
    ) throws -> Schema {
        let handle = try liveForUse()
        if !loan.pool.attachesForAll { try refuseIfOneOfMany("attach(_:as:key:)", "attach(_:as:key:) of the pool") }
        try location.refuseKey()
        try checkIsFree(name)
        let resolved = try refusingUse { try (key ?? .plaintext).resolved(for: location, configuration) }
        let key = resolved.key
        if configuration.access != .readOnly { location.removeRemains() }
        _ = try DatabaseFile.prepare(location, configuration)
        let header = location.isOnDisk ? try DatabaseFile.header(at: location) : nil
        let schema = Schema(self, name), safeguards = safeguards ?? configuration.safeguards
        return try withSafeguards(safeguards) {
            let refusesCommit = sqlcipherkit_refuses_commit(handle) != 0
            do {
                try attachUnread(handle, location, name, key, header)
                do { try schema.readAfterAttaching() } catch let error as DatabaseError {
                    throw attachFailure(location, key, header, error)
                }
                if safeguards?.checksStructure == true { try schema.requireStructure() }
                try schema.applyDurability()
                schema.noteKey(key)
                try resolved.didOpen?(schema)
            } catch {
                // A database that the open transaction has read cannot be detached.
                sqlcipherkit_leave_transaction(handle, name)
                try? restoring { () throws in try schema.detach() }
                // Damage in a database that is not attached is no reason for a transaction to lose what it has changed in others.
                if !refusesCommit { sqlcipherkit_allow_commit(handle) }
                throw error
            }
            return schema
        }
    }

    /// Runs `body` with a database attached, and always detaches it afterwards. If `body` leaves a transaction open, it is rolled
    /// back. A cursor, a statement or a blob of `body` that still reads the database ends: its next call throws
    /// ``DatabaseError/Reason/closed``.
    ///
    /// ```swift
    /// let count = try db.withAttached(.file("archive.db"), as: "archive", key: archiveKey) { archive in
    ///     try archive.connection.fetchOne(Int.self, "SELECT count(*) FROM archive.note")
    /// }
    /// ```
    /// - Parameters:
    ///   - location: the database to attach.
    ///   - name: its name in SQL while `body` runs.
    ///   - key: the key of the database; nil for no encryption.
    ///   - safeguards: the checks for an untrusted file. Default: nil, for the safeguards that the connection was opened with.
    ///   - body: receives the attached database.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, because SQLite cannot detach a database before the end of a
    ///   transaction that has used it; any error from attaching or from `body`; or, if `body` did not throw, any error from
    ///   detaching, such as ``DatabaseError/Reason/misuse`` if `body` left a transaction open.
    public func withAttached<R>(
        _ location: DatabaseLocation, as name: String, key: DatabaseKey?, safeguards: DatabaseConfiguration.Safeguards? = nil,
        _ body: (Schema) throws -> R
    ) throws -> R {
        if isInTransaction {
            throw DatabaseError.misuse("withAttached cannot be called in a transaction: begin it inside, or attach before it")
        }
        let schema = try changingThisOneOnly { try attach(location, as: name, key: key, safeguards: safeguards) }
        let before = openObjects
        let result: Result<R, any Error>
        do { result = .success(try body(schema)) } catch { result = .failure(error) }
        let leftOpen = isInTransaction
        abandon()
        let detach = { () throws in
            try self.changingThisOneOnly { () throws in
                try self.restoring { () throws in try schema.detach() }
            }
        }
        do { try detach() } catch {
            // An object that outlives the closure keeps the database in use.
            endObjects(except: before)
            // An object from before that still reads another database keeps the transaction open.
            if let handle { sqlcipherkit_leave_transaction(handle, name) }
            do { try detach() } catch { if case .success = result { throw error } }
        }
        let value = try result.get()
        if leftOpen { throw DatabaseError.misuse("the closure of withAttached has left a transaction open, which was rolled back") }
        return value
    }

    private func checkIsFree(_ name: String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            let what = name.isEmpty ? "without a name" : "by a name that contains a NUL character"
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "a database cannot be attached \(what)")
        }
        // `temp` is not in the list before its first use, but the name is always taken.
        guard !name.isSameName(as: "temp"), try !schemas().map(\.name).contains(name: name) else {
            throw DatabaseError(code: .error, reason: .schemaName, message: "a database is already attached as \(name)")
        }
    }

    /// Attaches the database without reading it, so that a new file is still empty.
    private func attachUnread(
        _ handle: OpaquePointer, _ location: DatabaseLocation, _ name: String, _ key: DatabaseKey, _ header: [UInt8]?
    ) throws {
        let rc: Int32
        if key.isPlaintext {
            rc = sqlcipherkit_attach(handle, location.name, name, nil, 0, nil)
        } else {
            try key.refusePlaintext(header, location)
            let keyspec = try Keyspec(key, salt: header)
            var settings = key.settings.engineSettings
            rc = keyspec.withBytes {
                sqlcipherkit_attach(handle, location.name, name, $0.baseAddress, Int32($0.count), &settings)
            }
        }
        guard rc == SQLITE_OK else { throw attachFailure(location, key, header, failure(rc)) }
    }

    private func attachFailure(
        _ location: DatabaseLocation, _ key: DatabaseKey, _ header: [UInt8]?, _ error: DatabaseError
    ) -> DatabaseError {
        let path = location.path ?? location.name
        if .notADatabase ~= error.code { return key.refusal(by: path, header: header, code: error.code) }
        return DatabaseError(
            code: error.code, reason: .cannotOpen ~= error.code ? .cannotOpen : error.reason,
            message: "cannot attach \(path): \(error.message)", path: path)
    }
}

extension Connection.Settings {
    /// True if a transaction that writes several of the attached files is committed in all of them or in none, whatever happens
    /// during the commit (<https://sqlite.org/lang_attach.html>). True if there is only one file to write.
    ///
    /// Such a commit needs a rollback journal for each file, in the mode `delete`, `truncate` or `persist`, flushed to disk, and a
    /// main database on disk. With a write-ahead log, each file is committed by itself, one after the other: a process that dies in
    /// between has committed only some of the files. To move rows from one file to another without such a risk, use
    /// `moveRows(of:to:where:)` of ``Schema``.
    /// - Throws: ``DatabaseError/Reason/closed``, or SQLite's error if the settings cannot be read.
    public var isAtomicAcrossFiles: Bool {
        get throws {
            var files: [Schema] = []
            for schema in try connection.schemas() where !schema.name.isSameName(as: "temp") {
                if try schema.path != nil, try !schema.isReadOnly { files.append(schema) }
            }
            if files.count < 2 { return true }
            guard try connection.main.path != nil else { return false }
            for schema in files {
                guard try [.delete, .truncate, .persist].contains(schema.journalMode) else { return false }
                if try schema.synchronous == .off { return false }
            }
            return true
        }
    }
}

extension Schema {
    /// Detaches the database (<https://sqlite.org/lang_detach.html>).
    /// - Throws: ``DatabaseError/Reason/schemaName`` for `main`, `temp` or a database that is no longer attached;
    ///   ``DatabaseError/Reason/misuse`` while a transaction, an open result or a backup uses it.
    public func detach() throws {
        if ["main", "temp"].contains(name: name) {
            throw DatabaseError(code: .error, reason: .schemaName, message: "the database \(name) cannot be detached")
        }
        try live()
        if !connection.loan.pool.attachesForAll { try connection.refuseIfOneOfMany("detach()", "detach() of the pool's schema") }
        defer { if (try? live()) == nil { forgetKeyOrigin() } }
        do { try connection.prepare("DETACH DATABASE ?").execute([name]) } catch let error as DatabaseError {
            // SQLite reads all schemas first, which a failing disk prevents.
            if [.ioError, .outOfMemory, .corrupt].contains(error.code.primary),
                try sqlcipherkit_detach(connection.liveForUse(), name) == SQLITE_OK { return }
            // The name is attached, so the only remaining reason for this code is that the database is in use.
            guard error.code == .error else { throw error }
            throw DatabaseError(
                code: .locked, reason: .misuse,
                message: "the database \(name) is in use by a transaction or a result that is being read")
        }
    }

    /// Reads the database. Writes the header of a new file, which fixes its key.
    fileprivate func readAfterAttaching() throws {
        _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quotedName).sqlite_schema"))
        if try !isReadOnly, try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(quotedName).page_count")) == 0 {
            try connection.execute(SQL(raw: "PRAGMA \(quotedName).user_version = 0"))
        }
    }
}

extension DatabaseError {
    static func noSchema(_ name: String) -> DatabaseError {
        DatabaseError(code: .error, reason: .schemaName, message: "no database is attached as \(name)")
    }
}

extension DatabaseLocation {
    package var isOnDisk: Bool {
        switch place {
        case .file, .uri: true
        case .memory, .temporary: false
        }
    }
}

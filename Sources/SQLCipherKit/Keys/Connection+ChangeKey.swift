import CSQLCipher

extension Connection {
    /// Encrypts the database anew with another key, in place.
    ///
    /// The database is locked for the duration, so that no other connection sees a half-way state; a process that dies
    /// meanwhile leaves a journal that brings the old key back. At the end the file is opened a second time with the new key.
    /// Other connections to the file must be opened again.
    ///
    /// - Parameters:
    ///   - key: the new key.
    ///   - schema: the database's name: `main`, or what it was attached as.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, while a cursor is open or on a read-only database;
    ///   ``DatabaseError/Reason/notEncrypted`` on a plaintext one; ``DatabaseError/Reason/busy`` when another connection has the
    ///   database open or locked for longer than the busy timeout; ``DatabaseError/Reason/schemaName`` for a name that is not
    ///   attached. In all these cases nothing has changed. ``DatabaseError/Reason/rekeyFailed`` if the change itself failed: the
    ///   connection is closed then, as a write with it could destroy the database, and the message says which key opens the file.
    public func changeKey(to key: EncryptionKey, of schema: String = "main") throws(DatabaseError) {
        let handle = try live()
        try checkRekey(schema)
        let path = String(cString: sqlite3_db_filename(handle, schema))
        let cipher = attachedCiphers[schema.lowercased()] ?? configuration.cipher
        let name = schema.quotedSQLIdentifier
        let hadWAL = try fetchOne(String.self, SQL(raw: "PRAGMA \(name).journal_mode")) == "wal"
        try lock(name, hadWAL: hadWAL)
        let text: KeyText
        do throws(DatabaseError) {
            text = try KeyText(key, salt: DatabaseFile.header(handle, schema: schema), cipher)
        } catch {
            try? unlock(name, hadWAL: hadWAL)
            throw error
        }
        cache.removeAll()
        let rc = text.withBytes { sqlite3_rekey_v2(handle, schema, $0.baseAddress, Int32($0.count)) }
        guard rc == SQLITE_OK else {
            // The new key is already set for writing: nothing may be written with this connection any more.
            let error = failure(rc)
            close()
            throw rekeyFailed(error, path, which: keyThatOpens(path, key, cipher))
        }
        do throws(DatabaseError) {
            try unlock(name, hadWAL: hadWAL)
        } catch {
            close()
            throw rekeyFailed(error, path, which: keyThatOpens(path, key, cipher))
        }
        if case .old = keyThatOpens(path, key, cipher) {
            close()
            throw rekeyFailed(DatabaseError(message: "the file does not open with the new key"), path, which: .old)
        }
    }

    private func checkRekey(_ schema: String) throws(DatabaseError) {
        guard let attached = try attachedDatabases().first(where: { $0.name == schema }) else {
            throw .noSchema(schema)
        }
        if isInTransaction { throw .misuse("a key cannot be changed inside a transaction") }
        if hasOpenCursors || hasRunningStatements { throw .misuse("a key cannot be changed while a result is being read") }
        if try isReadOnly(schema) {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the database \(schema) is read-only")
        }
        let header = DatabaseFile.header(try live(), schema: schema)
        if header == DatabaseFile.plaintextHeader || (schema == "main" && !isKeyed) {
            throw DatabaseError(
                code: .misuse, reason: .notEncrypted, message: "the database \(attached.path ?? schema) is not encrypted",
                path: attached.path)
        }
    }

    /// Takes the exclusive lock and keeps it beyond the transaction that took it, until `unlock`.
    ///
    /// A write-ahead log is merged and left first: that needs the file for oneself, and a rollback journal is what undoes a
    /// rekey that was cut off.
    private func lock(_ name: String, hadWAL: Bool) throws(DatabaseError) {
        do throws(DatabaseError) {
            if hadWAL {
                let mode = try fetchOne(String.self, SQL(raw: "PRAGMA \(name).journal_mode = DELETE"))
                guard mode == "delete" else {
                    throw DatabaseError(code: .busy, reason: .busy, message: "another connection uses the database")
                }
            }
            try execute(SQL(raw: "PRAGMA \(name).locking_mode = EXCLUSIVE"))
            try execute("BEGIN EXCLUSIVE")
            try execute("COMMIT")
        } catch {
            if isInTransaction { try? execute("ROLLBACK") }
            try? unlock(name, hadWAL: hadWAL)
            throw error
        }
    }

    private func unlock(_ name: String, hadWAL: Bool) throws(DatabaseError) {
        // The lock goes with the next access in normal mode.
        try execute(SQL(raw: "PRAGMA \(name).locking_mode = NORMAL"))
        _ = try fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(name).sqlite_schema"))
        if hadWAL { try execute(SQL(raw: "PRAGMA \(name).journal_mode = WAL")) }
    }

    /// What a second connection says about the file.
    private enum WorkingKey: String {
        case new = "the file opens with the new key"
        case old = "the file opens with the old key"
        case unknown = "the file could not be read again to tell which key opens it: it is one of the two"
    }

    private func keyThatOpens(_ path: String, _ key: EncryptionKey, _ cipher: CipherConfiguration) -> WorkingKey {
        // A database in memory or a temporary one has no second way in.
        guard !path.isEmpty else { return .unknown }
        var probe = Configuration()
        probe.access = .readOnly
        probe.cipher = cipher
        probe.busyTimeout = configuration.busyTimeout
        do { _ = try Connection(.file(path), key: key, configuration: probe) } catch let error as DatabaseError {
            return error.reason == .wrongKeyOrNotADatabase ? .old : .unknown
        } catch {
            return .unknown
        }
        return .new
    }

    private func rekeyFailed(_ error: DatabaseError, _ path: String, which: WorkingKey) -> DatabaseError {
        DatabaseError(
            code: error.code, reason: .rekeyFailed,
            message: "the key could not be changed (\(error.message)); \(which.rawValue); the connection is closed", path: path)
    }
}

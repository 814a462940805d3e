import CSQLCipher

/// How an attached database is encrypted.
public enum AttachKey: Sendable {
    /// With a key of its own, and with these settings.
    case key(EncryptionKey, cipher: CipherConfiguration = CipherConfiguration())
    /// With the main database's key, salt and settings. An existing file must have been made that way: one that only shares the
    /// passphrase has a salt of its own and needs ``key(_:cipher:)``.
    case inherited
    /// Not at all.
    case plaintext
}

/// A database of a connection: `main`, `temp` or an attached one.
public struct AttachedDatabase: Hashable, Sendable {
    /// The name it has in SQL.
    public let name: String
    /// The file's absolute path; nil for one in memory or a temporary one.
    public let path: String?
}

extension Connection {
    /// The connection's databases, `main` first (<https://sqlite.org/pragma.html#pragma_database_list>).
    public func attachedDatabases() throws(DatabaseError) -> [AttachedDatabase] {
        let rows: [(Int, String, String?)] = try fetchAll("PRAGMA database_list")
        return rows.map { AttachedDatabase(name: $0.1, path: $0.2 == "" ? nil : $0.2) }
    }

    /// Attaches a database under a name (<https://sqlite.org/lang_attach.html>).
    ///
    /// ```swift
    /// try db.attach(.file("archive.db"), as: "archive", key: .key(archiveKey))
    /// try db.execute("INSERT INTO archive.note SELECT * FROM main.note WHERE year < \(2020)")
    /// try db.detach("archive")
    /// ```
    /// The database is read with the key before the call returns; a new file is made with it. Up to 125 can be attached.
    /// - Parameters:
    ///   - location: where the database is.
    ///   - name: the name it gets in SQL; any text, quoted where SQL needs it with `\(identifier: name)`.
    ///   - key: how it is encrypted; there is no default, as each choice is wrong for somebody.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the name is taken or empty,
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/invalidKey`` or ``DatabaseError/Reason/cannotOpen``; nothing is attached then.
    public func attach(_ location: DatabaseLocation, as name: String, key: AttachKey) throws(DatabaseError) {
        try attachUnread(location, as: name, key: key)
        do throws(DatabaseError) { try verifyAttached(name) } catch {
            try? detach(name)
            throw attachFailure(error.code.rawValue, location, key, error)
        }
    }

    /// Attaches without reading, so that a new file has nothing in it yet.
    func attachUnread(_ location: DatabaseLocation, as name: String, key: AttachKey) throws(DatabaseError) {
        let handle = try live()
        let existing = try attachedDatabases()
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "a database cannot be attached without a name")
        }
        // `temp` is not in the list before it is used, but the name is taken all the same.
        guard name.lowercased() != "temp", !existing.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
            throw DatabaseError(code: .error, reason: .schemaName, message: "a database is already attached as \(name)")
        }
        _ = try DatabaseFile.prepare(location, configuration)
        let header = location.isOnDisk ? DatabaseFile.header(at: location) : nil
        let rc: Int32
        switch key {
        case .plaintext:
            rc = CipherDefaults.reading { run(handle, location, name, key: UnsafeRawBufferPointer(start: nil, count: 0)) }
        case .inherited:
            guard isKeyed else {
                throw .misuse("the main database has no key that \(name) could inherit: attach it as plaintext or with a key")
            }
            try refusePlaintext(header, location, configuration.cipher)
            rc = CipherDefaults.setting(configuration.cipher, on: handle) { run(handle, location, name, key: nil) }
        case .key(let key, let cipher):
            try cipher.validate()
            try refusePlaintext(header, location, cipher)
            let text = try KeyText(key, salt: header, cipher)
            rc = text.withBytes { bytes in
                CipherDefaults.setting(cipher, on: handle) { run(handle, location, name, key: bytes) }
            }
        }
        guard rc == SQLITE_OK else { throw attachFailure(rc, location, key) }
        if case .key(_, let cipher) = key { attachedCiphers[name.lowercased()] = cipher }
    }

    /// Detaches a database (<https://sqlite.org/lang_detach.html>).
    /// - Throws: ``DatabaseError/Reason/schemaName`` for `main`, `temp` or a name that is not attached, and
    ///   ``DatabaseError/Reason/misuse`` while a transaction or a result uses it.
    public func detach(_ name: String) throws(DatabaseError) {
        let lowercased = name.lowercased()
        if lowercased == "main" || lowercased == "temp" {
            throw DatabaseError(code: .error, reason: .schemaName, message: "the database \(lowercased) cannot be detached")
        }
        guard try attachedDatabases().contains(where: { $0.name.lowercased() == lowercased }) else { throw .noSchema(name) }
        do throws(DatabaseError) { try execute("DETACH DATABASE \(name)") } catch {
            guard error.message.contains("locked") else { throw error }
            throw DatabaseError(
                code: .locked, reason: .misuse, message: "the database \(name) is in use by a transaction or a result that is being read")
        }
        attachedCiphers[lowercased] = nil
    }

    /// Runs `body` with a database attached, and detaches it on every way out.
    /// - Throws: what attaching throws, what `body` throws, and what detaching throws if `body` did not.
    public func withAttached<R>(
        _ location: DatabaseLocation, as name: String, key: AttachKey, _ body: (Connection) throws -> R
    ) throws -> R {
        try attach(location, as: name, key: key)
        let result: R
        do { result = try body(self) } catch {
            try? detach(name)
            throw error
        }
        try detach(name)
        return result
    }

    /// ATTACH with the key as a parameter, so that it stands in no SQL text; nil gives no KEY at all, which inherits.
    private func run(_ handle: OpaquePointer, _ location: DatabaseLocation, _ name: String, key: UnsafeRawBufferPointer?) -> Int32 {
        var statement: OpaquePointer?
        let sql = key == nil ? "ATTACH DATABASE ? AS ?" : "ATTACH DATABASE ? AS ? KEY ?"
        let rc = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        guard rc == SQLITE_OK else { return rc }
        defer { sqlite3_finalize(statement) }
        sqlite3_bind_text(statement, 1, location.name, -1, sqlcipherkit_transient())
        sqlite3_bind_text(statement, 2, name, -1, sqlcipherkit_transient())
        if let key {
            // Static: the engine makes no copy of the key for the parameter. Empty text means plaintext.
            let bytes = key.baseAddress?.assumingMemoryBound(to: CChar.self)
            if let bytes {
                sqlite3_bind_blob(statement, 3, bytes, Int32(key.count), nil)
            } else {
                sqlite3_bind_text(statement, 3, "", 0, sqlcipherkit_transient())
            }
        }
        let stepped = sqlite3_step(statement)
        return stepped == SQLITE_DONE ? SQLITE_OK : stepped
    }

    /// Reads the schema, and gives a new file its header, which fixes the key.
    private func verifyAttached(_ name: String) throws(DatabaseError) {
        let quoted = name.quotedSQLIdentifier
        _ = try fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quoted).sqlite_schema"))
        if try !Schema(self, name).isReadOnly, try fetchOne(Int.self, SQL(raw: "PRAGMA \(quoted).page_count")) == 0 {
            try execute(SQL(raw: "PRAGMA \(quoted).user_version = 0"))
        }
    }

    private func refusePlaintext(
        _ header: [UInt8]?, _ location: DatabaseLocation, _ cipher: CipherConfiguration
    ) throws(DatabaseError) {
        guard cipher.isPlaintext(header) else { return }
        let path = location.path ?? location.name
        throw DatabaseError(
            code: .notADatabase, reason: .notEncrypted, message: "a key was given, but \(path) is a plaintext SQLite database",
            path: path)
    }

    private func attachFailure(_ rc: Int32, _ location: DatabaseLocation, _ key: AttachKey, _ error: DatabaseError? = nil) -> DatabaseError {
        let path = location.path ?? location.name
        let error = error ?? failure(rc)
        let reason: DatabaseError.Reason
        var message = "cannot attach \(path): \(error.message)"
        switch (error.code.primary, key) {
        case (.notADatabase, .plaintext):
            reason = .wrongKeyOrNotADatabase
            message = "\(path) is encrypted or no database; no key was given"
        case (.notADatabase, .inherited):
            reason = .wrongKeyOrNotADatabase
            message = "\(path) was not made with the main database's key and salt; if it only shares the passphrase, give it as a key"
        case (.notADatabase, .key):
            reason = .wrongKeyOrNotADatabase
            message = "the key or the cipher settings are wrong for \(path), or it is no database"
        case (.cannotOpen, _): reason = .cannotOpen
        default: reason = error.reason
        }
        return DatabaseError(code: error.code, reason: reason, message: message, path: path)
    }
}

extension Connection {
    func requireSchema(_ schema: String) throws(DatabaseError) { _ = try self.schema(schema) }
}

extension DatabaseError {
    static func noSchema(_ name: String) -> DatabaseError {
        DatabaseError(code: .error, reason: .schemaName, message: "no database is attached as \(name)")
    }
}

extension DatabaseLocation {
    var isOnDisk: Bool {
        switch place {
        case .file, .uri: true
        case .memory, .temporary: false
        }
    }
}

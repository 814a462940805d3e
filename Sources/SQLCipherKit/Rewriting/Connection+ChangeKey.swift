import CSQLCipher

/// How a change of key rewrites the database.
public enum KeyChangeMode: Hashable, Sendable, CaseIterable {
    /// In the file itself, in one transaction. The connection goes on with the new key. The journal, and so the disk space for
    /// it, is as large as the database.
    case inPlace
    /// Into a new file that is compared with the old one and then takes its place, so that the old file is never written to:
    /// the safest way. The salt is new too. A connection to the main database is closed at the end, as it would go on with the
    /// old file; an attached database is attached again.
    case newFile
}

extension Connection {
    /// Encrypts the database anew with another key.
    ///
    /// ```swift
    /// try db.changeKey(to: .passphrase("battery staple"))
    /// ```
    /// The database is locked for the duration, so that no other connection sees a half-way state; a process that dies
    /// meanwhile leaves a file that opens with the old key, or with the new one. At the end the file is opened a second time
    /// with the new key. Other connections to the file must be opened again; a connection of another process that only waits,
    /// without a write-ahead log, is not noticed and would go on with the old file in the mode ``KeyChangeMode/newFile``.
    ///
    /// - Parameters:
    ///   - key: the new key.
    ///   - schema: the database's name: `main`, or what it was attached as.
    ///   - mode: in place, or by a new file. Default: in place.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, while a cursor is open or on a read-only database;
    ///   ``DatabaseError/Reason/notEncrypted`` on a plaintext one; ``DatabaseError/Reason/busy`` when another connection has the
    ///   database open or locked for longer than the busy timeout; ``DatabaseError/Reason/schemaName`` for a name that is not
    ///   attached. In all these cases nothing has changed. ``DatabaseError/Reason/rekeyFailed`` if the change itself failed: the
    ///   connection is closed then, and the message says which key opens the file. With a new file, a full disk and the like
    ///   are thrown as they are, and nothing has changed; ``DatabaseError/Reason/conversionFailed`` says that the copy was not
    ///   equal to the original, which stays.
    public func changeKey(
        to key: EncryptionKey, of schema: String = "main", mode: KeyChangeMode = .inPlace
    ) throws(DatabaseError) {
        // Without a handler there is nothing else that could throw.
        do { try changeKey(to: key, of: schema, mode: mode, handler: nil) } catch let error as DatabaseError { throw error } catch {
            throw DatabaseError(code: .internal, message: "\(error)")
        }
    }

    /// The same, telling how far it is.
    ///
    /// ```swift
    /// try db.changeKey(to: newKey) { progress in
    ///     try Task.checkCancellation()
    ///     print("\(progress.pagesDone) of \(progress.pagesTotal)")
    /// }
    /// ```
    /// - Parameters:
    ///   - key: the new key.
    ///   - schema: the database whose key is changed. Default: the main one.
    ///   - mode: how the file is rewritten.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect. If it throws,
    ///     the change is undone, this call throws the same error, and the connection goes on with the old key.
    /// - Throws: what the form without progress throws, and what `progress` throws.
    public func changeKey(
        to key: EncryptionKey, of schema: String = "main", mode: KeyChangeMode = .inPlace,
        progress: @escaping RewriteProgressHandler
    ) throws {
        try changeKey(to: key, of: schema, mode: mode, handler: progress)
    }

    private func changeKey(
        to key: EncryptionKey, of schema: String, mode: KeyChangeMode, handler: RewriteProgressHandler?
    ) throws {
        try checkRewrite(schema)
        let path = String(cString: sqlite3_db_filename(try live(), schema))
        var cipher = attachedCiphers[schema.lowercased()] ?? configuration.cipher
        if try cipherInfo(of: schema) == nil || cipher.isPlaintext(DatabaseFile.header(live(), schema: schema)) {
            throw DatabaseError(
                code: .misuse, reason: .notEncrypted, message: "the database \(path.isEmpty ? schema : path) is not encrypted",
                path: path)
        }
        // A raw key with a salt of its own brings the new one.
        if case .raw(salted: true) = key.form { cipher.salt = nil }
        switch mode {
        case .inPlace: try rekey(to: key, of: schema, cipher, path, handler)
        case .newFile:
            let rewrite = try DatabaseRewrite(self, schema, to: .key(key, cipher: cipher), handler: handler)
            try rewrite.run()
            if schema.lowercased() == "main" {
                close()
            } else {
                try detach(schema)
                try attach(.file(path), as: schema, key: .key(key, cipher: cipher))
            }
        }
    }

    private func rekey(
        to key: EncryptionKey, of schema: String, _ cipher: CipherConfiguration, _ path: String, _ handler: RewriteProgressHandler?
    ) throws {
        let handle = try live()
        let hadWAL = try hasWAL(schema)
        try lockForRewrite(schema, hadWAL: hadWAL)
        let text: KeyText
        do throws(DatabaseError) {
            text = try KeyText(key, salt: DatabaseFile.header(handle, schema: schema), cipher)
        } catch {
            try? unlockAfterRewrite(schema, hadWAL: hadWAL)
            throw error
        }
        cache.removeAll()
        let relay = handler.map { ProgressRelay($0) }
        let rc = text.withBytes { bytes in
            guard let relay else { return sqlcipherkit_rekey(handle, schema, bytes.baseAddress, Int32(bytes.count), nil, nil) }
            return relay.withPointer { pointer in
                sqlcipherkit_rekey(
                    handle, schema, bytes.baseAddress, Int32(bytes.count),
                    { ProgressRelay.from($0)?.report(done: Int($1), total: Int($2)) == false ? 1 : 0 }, pointer)
            }
        }
        if rc == SQLITE_INTERRUPT, let error = relay?.error {
            try unlockAfterRewrite(schema, hadWAL: hadWAL)
            throw error
        }
        guard rc == SQLITE_OK else {
            // The journal may not have been played back, and another write with this connection could make things worse.
            let error = failure(rc)
            close()
            throw rekeyFailed(error, path, which: keyThatOpens(path, key, cipher))
        }
        do throws(DatabaseError) { try unlockAfterRewrite(schema, hadWAL: hadWAL) } catch {
            close()
            throw rekeyFailed(error, path, which: keyThatOpens(path, key, cipher))
        }
        if case .old = keyThatOpens(path, key, cipher) {
            close()
            throw rekeyFailed(DatabaseError(message: "the file does not open with the new key"), path, which: .old)
        }
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
        var probe = DatabaseConfiguration()
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

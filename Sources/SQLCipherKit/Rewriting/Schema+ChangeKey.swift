/// How a change of key rewrites the database.
public enum KeyChangeMode: Hashable, Sendable, CaseIterable {
    /// In the file itself, in one transaction. The connection continues with the new key. The journal, and so the disk space for
    /// it, is as large as the database.
    case inPlace
    /// Into a new file that is compared with the old one and then takes its place, so that the old file is never written to:
    /// the safest way. The salt is new too. A connection to the main database is closed at the end, because it has the
    /// old file open; an attached database is attached again.
    case newFile
}

extension Schema {
    /// Encrypts the database with another key.
    ///
    /// ```swift
    /// try archive.changeKey(to: newKey) { progress in
    ///     try Task.checkCancellation()
    ///     print("\(progress.pagesDone) of \(progress.pagesTotal)")
    /// }
    /// ```
    /// The database is locked for the duration, so that no other connection sees a half-way state; a process that dies
    /// meanwhile leaves a file that opens with the old key, or with the new one. At the end the file is opened a second time
    /// with the new key. Other connections to the file must be opened again; a connection of another process that only waits,
    /// without a write-ahead log, is not noticed and would continue with the old file in the mode ``KeyChangeMode/newFile``.
    ///
    /// - Parameters:
    ///   - key: the new key. Without cipher settings the database keeps those that it has; other ones need a new file.
    ///   - mode: in place, or by a new file. Default: in place.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect. If it throws,
    ///     the change is undone, this call throws the same error, and the connection continues with the old key.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, while a cursor is open or on a read-only database;
    ///   and on one with ``KeySlots``, which would hold another key then, where
    ///   ``KeySlots/rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)`` changes both;
    ///   ``DatabaseError/Reason/notEncrypted`` on a plaintext one; ``DatabaseError/Reason/busy`` when another connection has the
    ///   database open or locked for longer than the busy timeout; ``DatabaseError/Reason/schemaName`` if it is no longer
    ///   attached; and what `progress` throws. In all these cases nothing has changed. ``DatabaseError/Reason/rekeyFailed`` if the
    ///   change itself met an error: the connection is closed then, and ``DatabaseError/workingKey-swift.property`` says which key
    ///   opens the file; it is the new one if the error came after the change was complete. With a new file, a
    ///   full disk and the like are thrown as they are, and nothing has changed; ``DatabaseError/Reason/conversionFailed`` says
    ///   that the copy was not equal to the original, which stays.
    public func changeKey(to key: Encryption, mode: KeyChangeMode = .inPlace, progress: RewriteProgressHandler? = nil) throws {
        try requireEncrypted()
        let key = try connection.refusingUse { try key.resolvedForNewKey() }
        try requireNoKeySlots(against: key)
        try rewrite(with: key, mode, progress)
    }

    /// The same, for key slots too, which get the new key at the same time.
    func rewrite(with key: Encryption, _ mode: KeyChangeMode, _ progress: RewriteProgressHandler?) throws {
        try connection.rewriting { try replaceKey(by: key, mode, progress) }
    }

    private func replaceKey(by key: Encryption, _ mode: KeyChangeMode, _ progress: RewriteProgressHandler?) throws {
        if connection.pool.isBesideReaders {
            throw DatabaseError.misuse("changeKey(to:) would change one connection of the pool only: use that of the pool")
        }
        try requireRewritable()
        let settings = try requireEncrypted()
        let key = try connection.refusingUse { try key.resolvedForNewKey() }.adopting(settings)
        switch mode {
        case .inPlace:
            guard key.settings.isSameFormat(as: settings) else {
                throw CipherConfiguration.invalid("other cipher settings need a new file: KeyChangeMode.newFile")
            }
            try InPlaceKeyChange(of: self, to: key).run(progress)
        case .newFile:
            let path = try self.path
            try DatabaseReplacement(of: self, key: key, progress: progress).run()
            if isMain { return connection.closeNow() }
            do {
                try connection.changingThisOneOnly {
                    try detach()
                    if let path { try connection.attach(.file(path), as: name, key: key) }
                }
            } catch {
                let error = error as? DatabaseError
                throw DatabaseError(
                    changingKeyOf: path, code: error?.code ?? .error, workingKey: .new,
                    message: "the key was changed, but the database could not be attached again (\(error?.message ?? ""))")
            }
        }
    }

    /// The cipher settings that the database has.
    @discardableResult
    private func requireEncrypted() throws -> CipherConfiguration {
        if let settings = try cipher?.settings, try !settings.isPlaintext(DatabaseFile.header(live(), schema: name)) {
            return settings
        }
        let path = try self.path
        throw DatabaseError(
            code: .misuse, reason: .notEncrypted, message: "the database \(path ?? name) is not encrypted", path: path)
    }
}

extension Connection {
    /// Encrypts the main database with another key.
    ///
    /// ```swift
    /// try db.changeKey(to: .passphrase("battery staple"))
    /// ```
    /// - Parameters:
    ///   - key: the new key. Without cipher settings the database keeps those that it has; other ones need a new file.
    ///   - mode: in place, or by a new file, which closes the connection at the end. Default: in place.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect; if it throws, the key
    ///     stays as it was.
    /// - Throws: as ``Schema/changeKey(to:mode:progress:)``.
    public func changeKey(to key: Encryption, mode: KeyChangeMode = .inPlace, progress: RewriteProgressHandler? = nil) throws {
        try main.changeKey(to: key, mode: mode, progress: progress)
    }
}

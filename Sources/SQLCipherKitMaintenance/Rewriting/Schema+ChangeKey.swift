import SQLCipherKitCore

extension Schema {
    /// How a key change rewrites the database.
    public enum KeyChangeMode: Hashable, Sendable, CaseIterable {
        /// Rewrites the file itself in one transaction. The connection continues with the new key. The journal is as large as the
        /// database, and needs that much disk space.
        case inPlace
        /// Writes a new file, which is compared with the old one and then replaces it, so that the old file is never written to.
        /// This is the safest way. The salt is new as well. If it is the main database, the connection is closed at the end,
        /// because it has the old file open; an attached database is attached again.
        case newFile
    }
}

extension Schema {
    /// Changes the key of the database.
    ///
    /// ```swift
    /// try archive.changeKey(to: newKey) { progress in
    ///     try Task.checkCancellation()
    ///     print("\(progress.done) of \(progress.total)")
    /// }
    /// ```
    /// The database is locked meanwhile, so that no other connection sees an intermediate state. If the process dies, the file
    /// opens with either the old or the new key. At the end, the file is opened a second time with the new key as a check. Other
    /// connections to the file must be opened again. An idle connection of another process, without a write-ahead log, is not
    /// detected, and would continue with the old file in the mode ``Schema/KeyChangeMode/newFile``.
    ///
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - mode: in place or with a new file. Default: in place.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect. If it throws,
    ///     the change is undone, this call throws the same error, and the connection continues with the old key.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, while a cursor is open, for a read-only database, and for
    ///   one with ``KeySlots``, which would then hold another key
    ///   (``KeySlots/rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)`` changes both);
    ///   ``DatabaseError/Reason/notEncrypted`` for a plaintext database; ``DatabaseError/Reason/busy`` when another connection has
    ///   the database open or locked for longer than the busy timeout; ``DatabaseError/Reason/schemaName`` if it is no longer
    ///   attached; or any error that `progress` throws. In all these cases nothing has changed.
    ///   ``DatabaseError/Reason/rekeyFailed`` if the change itself failed: the connection is then closed, and
    ///   ``DatabaseError/workingKey-swift.property`` tells which key opens the file; it is the new one if the error occurred after
    ///   the change was complete. With a new file, errors such as a full disk are thrown unchanged, and nothing has changed;
    ///   ``DatabaseError/Reason/conversionFailed`` means that the copy was not equal to the original, which is kept.
    public func changeKey(to key: Encryption, mode: KeyChangeMode = .inPlace, progress: RewriteProgress.Handler? = nil) throws {
        try requireEncrypted()
        let key = try connection.refusingUse { try key.resolvedForNewKey() }
        try requireNoKeySlots(against: key)
        try rewrite(with: key, mode, progress)
    }

    /// Like `changeKey(to:mode:progress:)`, but also for key slots, which get the new key at the same time.
    func rewrite(with key: Encryption, _ mode: KeyChangeMode, _ progress: RewriteProgress.Handler?) throws {
        try connection.usingExclusively { try replaceKey(by: key, mode, progress) }
    }

    private func replaceKey(by key: Encryption, _ mode: KeyChangeMode, _ progress: RewriteProgress.Handler?) throws {
        if connection.loan.pool.isBesideReaders {
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

    /// The database's cipher settings. Throws if it is not encrypted.
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
    /// Changes the key of the main database.
    ///
    /// ```swift
    /// try db.changeKey(to: .passphrase("battery staple"))
    /// ```
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - mode: in place, or with a new file, which closes the connection at the end. Default: in place.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect; if it throws, the key is
    ///     not changed.
    /// - Throws: the same errors as ``Schema/changeKey(to:mode:progress:)``.
    public func changeKey(
        to key: Encryption, mode: Schema.KeyChangeMode = .inPlace, progress: RewriteProgress.Handler? = nil
    ) throws {
        try main.changeKey(to: key, mode: mode, progress: progress)
    }
}

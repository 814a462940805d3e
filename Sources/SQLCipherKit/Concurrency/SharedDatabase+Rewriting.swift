/// Rewriting the whole file. The connection is opened again where that takes a new one.
extension SharedDatabase {
    /// Changes the key of the database, while no other call has a connection. After it all connections have the new key.
    /// - Parameters:
    ///   - key: the new key.
    ///   - mode: in place, or by a new file. Default: in place.
    ///   - progress: called now and then; if it throws, the key stays as it was.
    /// - Throws: as ``Connection/changeKey(to:mode:progress:)``. After ``DatabaseError/Reason/rekeyFailed`` the connection is closed,
    ///   and later calls throw ``DatabaseError/Reason/closed``.
    public func changeKey(to key: EncryptionKey, mode: KeyChangeMode = .inPlace, progress: RewriteProgressHandler? = nil) throws {
        try rewrite(reopening: key) { db in
            try db.changeKey(to: key, mode: mode, progress: progress)
        }
    }

    /// The same for a task. It is not cancelled with the task.
    public func changeKey(to key: EncryptionKey, mode: KeyChangeMode = .inPlace) async throws {
        try await runOnThread { try self.changeKey(to: key, mode: mode, progress: nil) }
    }

    /// Encrypts the database differently, or decrypts it, while no other call has a connection, and goes on with it.
    /// - Parameters:
    ///   - target: how it is encrypted after the call.
    ///   - progress: called now and then; if it throws, nothing has changed.
    /// - Throws: as ``DatabaseConverter/convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public func convert(to target: Encryption, progress: RewriteProgressHandler? = nil) throws {
        var key: EncryptionKey?
        var cipher: CipherConfiguration?
        if case .key(let newKey, let newCipher) = target { (key, cipher) = (newKey, newCipher) }
        try cipher?.validate()
        try rewrite(reopening: key, cipher) { db in
            try db.main.requireRewritable()
            try DatabaseReplacement(of: db.main, key: target, progress: progress).run()
            // It has the old file open, which no longer has a name.
            db.close()
        }
    }

    /// The same for a task. It is not cancelled with the task.
    public func convert(to target: Encryption) async throws {
        try await runOnThread { try self.convert(to: target, progress: nil) }
    }

    private func rewrite(
        reopening key: EncryptionKey?, _ cipher: CipherConfiguration? = nil, _ body: (Connection) throws -> Void
    ) throws {
        try checkCall()
        let slot = try writer.acquire(until: nil)
        defer { writer.release(slot) }
        try withoutReaders(slot) {
            let before = ReaderConfiguration.Shared(nil)
            try slot.run(.unrestricted) { db in
                before.current = try ReaderConfiguration(db)
                try body(db)
            }
            guard !slot.isOpen, var configuration = before.current else { return }
            if let cipher { configuration.configuration.cipher = cipher }
            let db = try configuration.openWriter(key)
            try checkpointer?.watch(db)
            slot.replace(by: db)
            observers.writerWasReplaced()
        }
    }
}

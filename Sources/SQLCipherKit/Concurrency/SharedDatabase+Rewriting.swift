/// Rewriting the whole file. The connection is opened again where that takes a new one.
extension SharedDatabase {
    /// Changes the key of the database, while no other call has a connection. After it all connections have the new key.
    /// - Parameters:
    ///   - key: the new key.
    ///   - mode: in place, or by a new file. Default: in place.
    ///   - progress: called now and then; if it throws, the key stays as it was.
    /// - Throws: as ``Connection/changeKey(to:mode:progress:)``. After ``DatabaseError/Reason/rekeyFailed`` the connection is closed,
    ///   and later calls throw ``DatabaseError/Reason/closed``.
    public func changeKey(to key: Encryption, mode: KeyChangeMode = .inPlace, progress: RewriteProgressHandler? = nil) throws {
        let key = try key.resolvedForNewKey()
        try rewrite(reopening: { key.adopting($0.settings) }) { db in
            try db.changeKey(to: key, mode: mode, progress: progress)
        }
    }

    /// The same for a task. It is not cancelled with the task.
    public func changeKey(to key: Encryption, mode: KeyChangeMode = .inPlace) async throws {
        try await runOnThread { try self.changeKey(to: key, mode: mode, progress: nil) }
    }

    /// Encrypts the database differently, or decrypts it, while no other call has a connection, and goes on with it.
    /// - Parameters:
    ///   - target: how it is encrypted after the call.
    ///   - progress: called now and then; if it throws, nothing has changed.
    /// - Throws: as ``DatabaseConverter/convert(fileAt:from:to:pageSize:configuration:progress:)``.
    public func convert(to target: Encryption, progress: RewriteProgressHandler? = nil) throws {
        let target = try target.resolvedForNewFile()
        try rewrite(reopening: { _ in target }) { db in
            try db.main.requireRewritable()
            try db.main.requireNoKeySlots(against: target)
            try DatabaseReplacement(of: db.main, key: target, progress: progress).run()
            // It has the old file open, which no longer has a name.
            db.close()
        }
    }

    /// The same for a task. It is not cancelled with the task.
    public func convert(to target: Encryption) async throws {
        try await runOnThread { try self.convert(to: target, progress: nil) }
    }

    /// - Parameter key: how the file is encrypted after `body`, given how it was encrypted before.
    private func rewrite(reopening key: (Encryption) -> Encryption, _ body: (Connection) throws -> Void) throws {
        try checkCall()
        let slot = try writer.acquire(until: nil)
        defer { writer.release(slot) }
        try withoutReaders(slot) {
            let before = ReaderConfiguration.Shared(nil)
            try slot.run(.unrestricted) { db in
                before.current = try ReaderConfiguration(db)
                try body(db)
            }
            guard !slot.isOpen, let configuration = before.current else { return }
            let db = try configuration.openWriter(key(configuration.key))
            try checkpointer?.watch(db)
            slot.replace(by: db)
            observers.writerWasReplaced()
        }
    }
}

import SQLCipherKitConcurrency
import SQLCipherKitCore

/// Rewriting the whole file. If that requires a new connection, one is opened.
extension DatabaseWriter {
    /// Changes the key of the database while no other call has a connection. Afterwards all connections use the new key.
    /// - Parameters:
    ///   - key: the new key.
    ///   - mode: whether to rewrite the file in place, or to write a new file. Default: in place.
    ///   - timeout: how long the call may take; after that it throws, and the key stays as it was. Default: nil, no limit.
    ///   - progress: called from time to time; if it throws, the key stays as it was.
    /// - Throws: the errors of ``Connection/changeKey(to:mode:progress:)``; ``DatabaseError/Reason/timeout``. After
    ///   ``DatabaseError/Reason/rekeyFailed`` the database continues with a new connection and the key that
    ///   ``DatabaseError/workingKey-swift.property`` names. If the file cannot be opened again, the database is closed: `isOpen` is
    ///   false, and later calls throw ``DatabaseError/Reason/closed``.
    public func changeKey(
        to key: DatabaseKey, mode: Schema.KeyChangeMode = .inPlace, timeout: Duration? = nil,
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        try rewrite(.closedReaders, timeout, progress, changing(to: key.resolvedForNewKey(), mode))
    }

    /// The asynchronous form. If the task is cancelled, the key stays as it was.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func changeKey(
        to key: DatabaseKey, mode: Schema.KeyChangeMode = .inPlace, timeout: Duration? = nil,
        progress: sending DatabaseProgress.Handler? = nil
    ) async throws {
        let key = try await BlockingExecutor.run { try key.resolvedForNewKey() }
        try await rewrite(.closedReaders, timeout, progress, changing(to: key, mode))
    }

    private func changing(to key: DatabaseKey, _ mode: Schema.KeyChangeMode) -> RewriteStep<Void> {
        { [self] slot, _, progress in
            try rewrite(slot, reopening: { key.adopting($0.settings) }) { db in
                try db.changeKey(to: key, mode: mode, progress: progress)
            }
        }
    }

    /// Encrypts the database differently, or decrypts it, while no other call has a connection. The queue or pool then continues
    /// with the converted database.
    /// - Parameters:
    ///   - target: how the database is encrypted after the call.
    ///   - timeout: how long the call may take; after that it throws, and nothing has changed. Default: nil, no limit.
    ///   - progress: called from time to time; if it throws, nothing has changed.
    /// - Throws: the errors of ``DatabaseConverter/convert(fileAt:from:to:pageSize:configuration:progress:)``;
    ///   ``DatabaseError/Reason/timeout``.
    public func convert(to target: DatabaseKey, timeout: Duration? = nil, progress: DatabaseProgress.Handler? = nil) throws {
        try rewrite(.closedReaders, timeout, progress, converting(to: target.resolvedForNewFile()))
    }

    /// The asynchronous form. If the task is cancelled, nothing has changed.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func convert(
        to target: DatabaseKey, timeout: Duration? = nil, progress: sending DatabaseProgress.Handler? = nil
    ) async throws {
        let target = try await BlockingExecutor.run { try target.resolvedForNewFile() }
        try await rewrite(.closedReaders, timeout, progress, converting(to: target))
    }

    private func converting(to target: DatabaseKey) -> RewriteStep<Void> {
        { [self] slot, _, progress in
            try rewrite(slot, reopening: { _ in target }) { db in
                try db.main.requireRewritable()
                try db.main.requireNoKeySlots(against: target)
                try DatabaseReplacement(of: db.main, key: target, progress: progress).run()
                // The connection has the old file open, which no longer has a name.
                db.closeNow()
            }
        }
    }

    /// - Parameter key: returns how the file is encrypted after `body`, given how it was encrypted before.
    private func rewrite(
        _ slot: ConnectionSlot, reopening key: (DatabaseKey) -> DatabaseKey, _ body: (Connection) throws -> Void
    ) throws {
        let before = ReaderConfiguration.Shared(nil)
        do {
            try slot.run(.unrestricted) { db in
                before.current = try ReaderConfiguration(db)
                try body(db)
            }
        } catch {
            // The connection may be lost, but the file is usable if it is known which key opens it.
            if !slot.isOpen, let configuration = before.current {
                switch (error as? DatabaseError)?.workingKey {
                case .old: try? reopen(slot, configuration, configuration.key)
                case .new: try? reopen(slot, configuration, key(configuration.key))
                case .unknown, nil: break
                }
            }
            throw error
        }
        if !slot.isOpen, let configuration = before.current { try reopen(slot, configuration, key(configuration.key)) }
    }

    private func reopen(_ slot: ConnectionSlot, _ configuration: ReaderConfiguration, _ key: DatabaseKey) throws {
        let db = try configuration.openWriter(key)
        try checkpointer?.watch(db)
        slot.replace(by: db)
        observers.writerWasReplaced()
    }
}

/// The work that both forms of a call do with the writer, once they have it. The handler also ends work that must not be
/// interrupted at an arbitrary point.
typealias RewriteStep<R> = @Sendable (ConnectionSlot, CallLimits, @escaping DatabaseProgress.Handler) throws -> R

extension DatabaseWriter {
    /// Runs the step of a synchronous call.
    func rewrite<R: Sendable>(
        _ claim: Claim, _ timeout: Duration?, _ progress: DatabaseProgress.Handler?, _ step: RewriteStep<R>
    ) throws -> R {
        try self.claim(claim, timeout: timeout) { slot, limits in try step(slot, limits, limits.checked(progress)) }
    }

    /// Runs the step of an asynchronous call.
    func rewrite<R: Sendable>(
        _ claim: Claim, _ timeout: Duration?, _ progress: sending DatabaseProgress.Handler?, _ step: @escaping RewriteStep<R>
    ) async throws -> R {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await self.claim(claim, timeout: timeout) { slot, limits in try step(slot, limits, limits.checked(progress)) }
    }
}

extension CallLimits {
    fileprivate func checked(_ progress: DatabaseProgress.Handler?) -> DatabaseProgress.Handler {
        { step in
            try check()
            try progress?(step)
            // The handler itself may have taken long.
            try check()
        }
    }
}

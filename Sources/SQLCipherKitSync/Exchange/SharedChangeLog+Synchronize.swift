import SQLCipherKitCore

extension ChangeStore {
    /// What `synchronize(with:)` of a `SharedChangeLog` did.
    public struct Outcome: Hashable, Sendable {
        /// What was received from the other copies.
        public internal(set) var received = ChangeLog.Outcome()
        /// The number of entries that were stored for them. A message with all rows counts as none.
        public internal(set) var sent = 0
        /// The number of entries that were deleted from the log, as all copies have them.
        public internal(set) var pruned = 0
        /// Whether everything in the store was received. It is false while a copy is storing something, or lacks what another one
        /// has not stored yet: synchronize again later.
        public internal(set) var isComplete = true
    }
}

extension SharedChangeLog {
    /// Receives what other copies have left in a store, and leaves there what they lack.
    ///
    /// ```swift
    /// try await log.synchronize(with: ChangeStore(FolderStore("/shared/notes"), key: key))
    /// ```
    /// Call it from time to time, and after changes. If there is nothing to do, it costs a list and a read of one small object. It
    /// can be cut off at any point, by a cancelled task, a killed process or a lost connection; the next call goes on. What was
    /// received until then stays received, message by message.
    ///
    /// - An unreadable object, or changes that this database cannot take, stop only the copy that they are from: the call does all
    ///   else first, and then throws.
    /// - Copies that have been away, and new ones, get what they lack: all rows, if logs were pruned meanwhile.
    /// - A copy that was restored from a backup receives its own former changes; those that it has made since are logged again
    ///   after them. Two copies that use one name by mistake are kept equal in the same way, but give each its own.
    /// - Then the log is pruned: ``ChangeStore/gracePeriod`` says for how long it waits for a silent copy.
    /// - Returns: what was received and stored.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the key does not open the store, or objects were changed; what
    ///   ``ChangeLog/receive(_:)`` throws; ``DatabaseError/Reason/storeUnavailable``; `CancellationError`.
    @discardableResult
    public func synchronize(with store: ChangeStore) async throws -> ChangeStore.Outcome {
        try await ChangeExchange.run(self, store)
    }
}

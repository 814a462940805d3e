import SQLCipherKitCore

extension ChangeStore {
    /// The result of `synchronize(with:)` of a `SharedChangeLog`.
    public struct Outcome: Hashable, Sendable {
        /// The changes received from the other copies.
        public internal(set) var received = ChangeLog.Outcome()
        /// The number of entries that were stored for the other copies. A message with all rows counts as no entry.
        public internal(set) var sent = 0
        /// The number of entries that were deleted from the log, because all copies have them.
        public internal(set) var pruned = 0
        /// True if all changes in the store were received. It is false while a copy is storing changes, or if a change depends on
        /// another change that is not stored yet: synchronize again later.
        public internal(set) var isComplete = true
    }
}

extension SharedChangeLog {
    /// Receives the changes of other copies from a store, and stores this copy's changes that the others lack.
    ///
    /// ```swift
    /// try await log.synchronize(with: ChangeStore(FolderStore("/shared/notes"), key: key))
    /// ```
    /// Call it from time to time, and after changes. Without changes, the call lists the store and reads one small object. A
    /// cancelled task, a killed process or a lost connection may interrupt the call at any point: received messages stay received,
    /// and the next call continues.
    ///
    /// - An unreadable object, or changes that this database cannot accept, stop only the changes of the copy that stored them: the
    ///   call finishes the rest first, and then throws.
    /// - New copies, and copies that were away, get the changes that they lack, or all rows if logs were pruned since.
    /// - On a copy that was restored from an older state, the call throws ``DatabaseError/Reason/copyRestored``, and stores
    ///   nothing, until you have called ``ChangeLog/resolveRestore(_:)``.
    /// - At the end, the log is pruned. For a silent copy, pruning waits ``ChangeStore/gracePeriod``.
    /// - Returns: the numbers of received and stored changes.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the key does not open the store, or objects were changed; the errors of
    ///   ``ChangeLog/receive(_:)``, such as ``DatabaseError/Reason/copyRestored``; ``DatabaseError/Reason/storeUnavailable``;
    ///   `CancellationError`.
    @discardableResult
    public func synchronize(with store: ChangeStore) async throws -> ChangeStore.Outcome {
        try await ChangeExchange.run(self, store)
    }
}

import Foundation

extension SharedSchema {
    /// Rewrites the database so that nothing of what was deleted from it can be read in its files again, while no other call has a
    /// connection of the queue or the pool. Calls that are made meanwhile wait.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, any time.
    ///   - progress: as with ``Schema/erase(progress:)``.
    /// - Returns: what was rewritten, and what could not be.
    /// - Throws: as ``Schema/erase(progress:)``; ``DatabaseError/Reason/busy`` only for other connections than those of the queue
    ///   or the pool; ``DatabaseError/Reason/timeout``.
    @discardableResult
    public func erase(timeout: Duration? = nil, progress: RewriteProgressHandler? = nil) throws -> ErasureReport {
        try database.claim(.idleReaders, timeout: timeout) { slot, limits in try erase(slot, limits, progress) }
    }

    /// The same for a task. When the task is cancelled, it ends as with a `progress` that throws.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func erase(timeout: Duration? = nil, progress: sending RewriteProgressHandler? = nil) async throws -> ErasureReport {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await database.claim(.idleReaders, timeout: timeout) { slot, limits in try erase(slot, limits, progress) }
    }

    private func erase(_ slot: ConnectionSlot, _ limits: CallLimits, _ progress: RewriteProgressHandler?) throws -> ErasureReport {
        try database.snapshots.endAll(because: "the database was erased", until: limits.deadline, limits.cancellation)
        return try slot.run(.unrestricted) { db in
            defer { database.observers.logsWereReset(db) }
            return try db.schema(name).erase(progress: limits.checked(progress))
        }
    }

    /// Says where texts still stand in the files of the database.
    /// - Parameters:
    ///   - texts: as with ``Schema/residue(of:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, any time.
    ///   - progress: as with ``Schema/residue(of:progress:)``.
    /// - Throws: likewise; ``DatabaseError/Reason/timeout``.
    public func residue(
        of texts: [String], timeout: Duration? = nil, progress: RewriteProgressHandler? = nil
    ) throws -> ResidueReport {
        try search(timeout) { schema, limits in try schema.residue(of: texts, progress: limits.checked(progress)) }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func residue(
        of texts: [String], timeout: Duration? = nil, progress: sending RewriteProgressHandler? = nil
    ) async throws -> ResidueReport {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await search(timeout) { schema, limits in try schema.residue(of: texts, progress: limits.checked(progress)) }
    }

    /// Says where bytes still stand in the files of the database.
    public func residue(
        ofBytes bytes: [Data], timeout: Duration? = nil, progress: RewriteProgressHandler? = nil
    ) throws -> ResidueReport {
        try search(timeout) { schema, limits in try schema.residue(ofBytes: bytes, progress: limits.checked(progress)) }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func residue(
        ofBytes bytes: [Data], timeout: Duration? = nil, progress: sending RewriteProgressHandler? = nil
    ) async throws -> ResidueReport {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await search(timeout) { schema, limits in
            try schema.residue(ofBytes: bytes, progress: limits.checked(progress))
        }
    }

    /// With the writer, so that the log does not grow meanwhile.
    private func search(_ timeout: Duration?, _ body: (Schema, CallLimits) throws -> ResidueReport) throws -> ResidueReport {
        try database.claim(.writer, timeout: timeout) { slot, limits in
            try slot.run(.unrestricted) { db in try body(try db.schema(name), limits) }
        }
    }

    private func search(
        _ timeout: Duration?, _ body: sending @escaping (Schema, CallLimits) throws -> ResidueReport
    ) async throws -> ResidueReport {
        // Sent on.
        nonisolated(unsafe) let body = body
        return try await database.claim(.writer, timeout: timeout) { [name] slot, limits in
            try slot.run(.unrestricted) { db in try body(try db.schema(name), limits) }
        }
    }
}

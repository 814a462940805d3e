import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

extension SharedSchema {
    /// Rewrites the database so that deleted content can no longer be read from its files, while no other call has a connection of
    /// the queue or the pool. Calls made in the meantime wait.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/erase(progress:)``.
    /// - Returns: what was rewritten, and what could not be.
    /// - Throws: as ``Schema/erase(progress:)``; ``DatabaseError/Reason/busy`` only because of connections outside the queue or the
    ///   pool; ``DatabaseError/Reason/timeout``.
    @discardableResult
    public func erase(timeout: Duration? = nil, progress: RewriteProgressHandler? = nil) throws -> ErasureReport {
        try database.claim(.idleReaders, timeout: timeout) { slot, limits in try erase(slot, limits, progress) }
    }

    /// The asynchronous form. If the task is cancelled, the call ends as if `progress` had thrown.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
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

    /// Reports where texts are still present in the files of the database.
    /// - Parameters:
    ///   - texts: as in ``Schema/residue(of:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/residue(of:progress:)``.
    /// - Throws: as ``Schema/residue(of:progress:)``; ``DatabaseError/Reason/timeout``.
    public func residue(
        of texts: [String], timeout: Duration? = nil, progress: RewriteProgressHandler? = nil
    ) throws -> ResidueReport {
        try search(timeout) { schema, limits in try schema.residue(of: texts, progress: limits.checked(progress)) }
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func residue(
        of texts: [String], timeout: Duration? = nil, progress: sending RewriteProgressHandler? = nil
    ) async throws -> ResidueReport {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await search(timeout) { schema, limits in try schema.residue(of: texts, progress: limits.checked(progress)) }
    }

    /// Reports where bytes are still present in the files of the database.
    public func residue(
        ofBytes bytes: [Data], timeout: Duration? = nil, progress: RewriteProgressHandler? = nil
    ) throws -> ResidueReport {
        try search(timeout) { schema, limits in try schema.residue(ofBytes: bytes, progress: limits.checked(progress)) }
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func residue(
        ofBytes bytes: [Data], timeout: Duration? = nil, progress: sending RewriteProgressHandler? = nil
    ) async throws -> ResidueReport {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        return try await search(timeout) { schema, limits in
            try schema.residue(ofBytes: bytes, progress: limits.checked(progress))
        }
    }

    /// Uses the writer, so that the log does not grow in the meantime.
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

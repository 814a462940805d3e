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
    public func erase(timeout: Duration? = nil, progress: RewriteProgress.Handler? = nil) throws -> Schema.ErasureReport {
        try database.rewrite(.idleReaders, timeout, progress, erasing)
    }

    /// The asynchronous form. If the task is cancelled, the call ends as if `progress` had thrown.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func erase(
        timeout: Duration? = nil, progress: sending RewriteProgress.Handler? = nil
    ) async throws -> Schema.ErasureReport { try await database.rewrite(.idleReaders, timeout, progress, erasing) }

    private var erasing: RewriteStep<Schema.ErasureReport> {
        { slot, limits, progress in
            try database.snapshots.endAll(because: "the database was erased", until: limits.deadline, limits.cancellation)
            return try slot.run(.unrestricted) { db in
                defer { database.observers.logsWereReset(db) }
                return try db.schema(name).erase(progress: progress)
            }
        }
    }

    /// Reports where texts or bytes are still present in the files of the database.
    /// - Parameters:
    ///   - values: as in ``Schema/residue(of:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/residue(of:progress:)``.
    /// - Throws: as ``Schema/residue(of:progress:)``; ``DatabaseError/Reason/timeout``.
    public func residue<Value: SQLValueConvertible>(
        of values: [Value], timeout: Duration? = nil, progress: RewriteProgress.Handler? = nil
    ) throws -> Schema.ResidueReport { try database.rewrite(.writer, timeout, progress, searching(for: values)) }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func residue<Value: SQLValueConvertible>(
        of values: [Value], timeout: Duration? = nil, progress: sending RewriteProgress.Handler? = nil
    ) async throws -> Schema.ResidueReport {
        try await database.rewrite(.writer, timeout, progress, searching(for: values))
    }

    /// Uses the writer, so that the log does not grow in the meantime.
    private func searching(for values: [some SQLValueConvertible]) throws(DatabaseError) -> RewriteStep<Schema.ResidueReport> {
        var wanted: [SQLValue] = []
        for value in values { wanted.append(try value.sqlValue) }
        return { [wanted] slot, _, progress in
            try slot.run(.unrestricted) { db in try db.schema(name).residue(of: wanted, progress: progress) }
        }
    }
}

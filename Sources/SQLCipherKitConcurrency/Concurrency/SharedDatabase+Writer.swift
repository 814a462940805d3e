import SQLCipherKitCore

/// Writing without a transaction around the closure.
extension SharedDatabase {
    /// Runs `body` on the connection that writes, without a transaction, while reads of a pool continue. Use it for several
    /// transactions in succession, for `VACUUM`, and for pragmas that a transaction does not allow.
    ///
    /// ```swift
    /// try await pool.withWriter { db in
    ///     for chunk in chunks { try db.transaction { db in try insert(chunk, db) } }
    ///     try db.execute("VACUUM")
    /// }
    /// ```
    /// Other writes wait until it has ended. To block reads as well, use `barrier(timeout:_:)`.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - body: reads and writes. What it does outside a transaction stays, even if it throws.
    /// - Throws: what `body` throws; ``DatabaseError/Reason/misuse`` if it leaves a transaction open, which is rolled back; and
    ///   what `read(timeout:_:)` throws.
    @discardableResult
    public func withWriter<R>(timeout: Duration? = nil, _ body: (Connection) throws -> sending R) throws -> sending R {
        try run(.withoutTransaction, timeout: timeout, body)
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func withWriter<R>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try await run(.withoutTransaction, timeout: timeout, body)
    }
}

extension DatabaseError {
    static let openTransaction = misuse("the closure has left a transaction open, which was rolled back")
}

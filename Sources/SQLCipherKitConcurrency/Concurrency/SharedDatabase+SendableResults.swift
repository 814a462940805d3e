import SQLCipherKitCore

// The same calls for functions and closures that are not written inline: their results are not `sending`, and the compiler does not
// convert them. They return Sendable results instead. The forms with a `sending` result are documented.

@_documentation(visibility: private)
extension SharedDatabase {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(reading, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(reading, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a function, or a closure that is not written inline. See the form with a `sending` result.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }

    /// Writes with a closure that returns nothing. With this form the compiler needs no help where the call is the only expression
    /// of another closure.
    public func write(timeout: Duration? = nil, _ body: (Connection) throws -> Void) throws {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func write(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> Void) async throws {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }
}

extension SharedDatabase {
    /// Writes, and commits or rolls back according to the result of `body`.
    /// ```swift
    /// let isFeasible = try await pool.write { db in
    ///     try plan.apply(to: db)
    ///     return .rollback(try plan.check(db))
    /// }
    /// ```
    /// - Throws: as the form that returns a value.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: (Connection) throws -> TransactionEnd<R>
    ) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }.value
    }

    /// The asynchronous form.
    @discardableResult
    public func write<R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> TransactionEnd<R>
    ) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }.value
    }
}

@_documentation(visibility: private)
extension DatabaseSnapshot {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

@_documentation(visibility: private)
extension DatabaseReader {
    /// Reads with a function, or a closure that is not written inline. See the form with a `sending` result.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The asynchronous form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

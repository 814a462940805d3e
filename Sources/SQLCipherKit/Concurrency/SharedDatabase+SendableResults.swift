// The same calls again, for closures that are not written down at the call: functions and parameters have no `sending` result,
// and the compiler takes none for one. What they return is Sendable instead. They are documented where the others are.

extension SharedDatabase {
    /// Reads, with a function or a closure that you were given. See the other form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(reading, timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(reading, timeout: timeout) { db in try body(db) }
    }

    /// Writes, with a function or a closure that you were given. See the other form.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(.write, timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    @discardableResult
    public func write<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await run(.write, timeout: timeout) { db in try body(db) }
    }

    /// Writes, and then reads what was committed, with functions or closures that you were given. See the other form.
    public func write<W: Sendable, R: Sendable>(
        timeout: Duration? = nil, _ body: (Connection) throws -> W, then read: (Connection, W) throws -> R
    ) throws -> R {
        try writeThenRead(timeout, { db in try body(db) }, { db, written in try read(db, written) })
    }

    /// The same for a task.
    public func write<W: Sendable, R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> W,
        then read: sending @escaping (Connection, W) throws -> R
    ) async throws -> R {
        try await writeThenRead(timeout, body) { db, written in try read(db, written) }
    }

    /// Has the database for itself, with a function or a closure that you were given. See the other form.
    @discardableResult
    public func barrier<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try runExclusively(timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    @discardableResult
    public func barrier<R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R
    ) async throws -> R {
        try await runExclusively(timeout: timeout) { db in try body(db) }
    }

    /// Writes without a transaction, with a function or a closure that you were given. See the other form.
    @discardableResult
    public func withWriter<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try run(.withoutTransaction, timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    @discardableResult
    public func withWriter<R: Sendable>(
        timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R
    ) async throws -> R {
        try await run(.withoutTransaction, timeout: timeout) { db in try body(db) }
    }
}

extension DatabaseSnapshot {
    /// Reads, with a function or a closure that you were given. See the other form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

extension DatabaseReader {
    /// Reads, with a function or a closure that you were given. See the other form.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: (Connection) throws -> R) throws -> R {
        try readSent(timeout: timeout) { db in try body(db) }
    }

    /// The same for a task.
    public func read<R: Sendable>(timeout: Duration? = nil, _ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await readSent(timeout: timeout) { db in try body(db) }
    }
}

/// Functions, collations and tokenizers on all connections.
extension SharedDatabase {
    /// Adds an extension to the SQL of all connections, also of those that are opened later, or replaces the one of the same name.
    ///
    /// ```swift
    /// try await pool.register(.function("half") { (x: Double) in x / 2 })
    /// ```
    /// Reads that run go on without it; each later call has it. What a schema needs, such as a collation of an index, is better
    /// registered in ``DatabaseConfiguration/prepare``, before anything is read.
    /// - Parameter item: the extension. It is made once for each connection.
    /// - Throws: as ``Connection/register(_:)``, and what `write(timeout:_:)` throws; nothing has changed then.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) throws {
        let additions = additions
        try run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
        }
    }

    /// The same for a task.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
        }
    }

    /// Removes a function or a collation from all connections. A name that is not registered is ignored.
    /// - Throws: as ``Connection/unregister(_:)``, and what `write(timeout:_:)` throws.
    public func unregister(_ name: SQLExtension.Name) throws {
        let additions = additions
        try run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
        }
    }

    /// The same for a task.
    public func unregister(_ name: SQLExtension.Name) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
        }
    }
}

extension Connection {
    /// Does it here first: what is refused is added to no connection. The next call does it here again, which changes nothing.
    fileprivate func add(_ action: @escaping SharedAdditions.Action, to additions: SharedAdditions) throws(DatabaseError) {
        try changingThisOneOnly { () throws(DatabaseError) in try action(self) }
        additions.add(action)
    }
}

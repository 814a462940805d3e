import SQLCipherKitCore

/// Functions, collations and tokenizers on all connections.
extension SharedDatabase {
    /// Adds an extension to the SQL of all connections, including those opened later, or replaces the one with the same name.
    ///
    /// ```swift
    /// try await pool.register(.function("half") { (x: Double) in x / 2 })
    /// ```
    /// Running reads continue without it; every later call has it. If a schema needs an extension, such as the collation of an
    /// index, register it in ``DatabaseConfiguration/prepare`` instead, before anything is read.
    /// - Parameter item: the extension. It is made once for each connection.
    /// - Throws: as ``Connection/register(_:)``, and what `write(timeout:_:)` throws; nothing has changed then.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) throws(DatabaseError) {
        let additions = additions
        try DatabaseError.only("a call") {
            try run(.unrestricted, timeout: nil) { db in
                try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
            }
        }
    }

    /// The asynchronous form.
    public func register(_ item: @autoclosure @escaping @Sendable () -> SQLExtension) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.register(item()) }, to: additions)
        }
    }

    /// Removes a function or a collation from all connections. A name that is not registered is ignored.
    /// - Throws: as ``Connection/unregister(_:)``, and what `write(timeout:_:)` throws.
    public func unregister(_ name: SQLExtension.Name) throws(DatabaseError) {
        let additions = additions
        try DatabaseError.only("a call") {
            try run(.unrestricted, timeout: nil) { db in
                try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
            }
        }
    }

    /// The asynchronous form.
    public func unregister(_ name: SQLExtension.Name) async throws {
        let additions = additions
        try await run(.unrestricted, timeout: nil) { db in
            try db.add({ db throws(DatabaseError) in try db.unregister(name) }, to: additions)
        }
    }
}

extension Connection {
    /// Performs the action here first, so that a refused one is added to no connection. The next call repeats it here, which
    /// changes nothing.
    fileprivate func add(_ action: @escaping SharedAdditions.Action, to additions: SharedAdditions) throws(DatabaseError) {
        try changingThisOneOnly { () throws(DatabaseError) in try action(self) }
        additions.add(action)
    }
}

import CSQLCipher

/// When a connection is open but cannot be used: inside a hook, inside a closure called by a rewrite of a whole database, and in
/// the rest of a transaction's closure after SQLite has rolled the transaction back.
///
/// All three are in one number, ``Connection/refusals``. A statement checks it once, when it begins to run; rows do not.
extension Connection {
    /// The parts of ``Connection/refusals``: a count of callbacks, and one bit above it.
    enum Refusals {
        static var callbacks: Int { aborted - 1 }
        static var aborted: Int { 1 << 24 }
    }

    /// Whether SQLite or a rewrite is calling a closure that may not use the connection.
    var isInCallback: Bool { refusals & Refusals.callbacks != 0 }

    /// Returns the handle, for a call that SQLite does not allow inside a hook.
    package func liveOutsideHooks() throws(DatabaseError) -> OpaquePointer {
        let handle = try live()
        if isInCallback { throw refusalInside() }
        return handle
    }

    /// Returns the handle, for a call that reads or writes a database.
    package func liveForUse() throws(DatabaseError) -> OpaquePointer {
        let handle = try live()
        if refusals != 0 { throw refusalInside() }
        return handle
    }

    /// Returns why no statement may begin.
    func refusalInside(sql: String? = nil) -> DatabaseError {
        if isInCallback { return exclusiveUse == nil ? .insideHook(sql: sql) : .insideExclusiveUse(sql: sql) }
        return .aborted(closures.cause, sql: sql)
    }

    // MARK: Callbacks

    /// Runs a user's function that SQLite has called and that may use the connection, unless a rewrite is running.
    @inline(__always)
    package func inFunction<R>(_ body: () -> R) -> R {
        guard exclusiveUse == nil else { return inHook(body) }
        callbackDepth += 1
        defer { callbackDepth -= 1 }
        return body()
    }

    /// Runs a user's hook. SQLite does not allow a hook to use the connection, so its calls throw.
    @inline(__always)
    func inHook<R>(_ body: () -> R) -> R {
        callbackDepth += 1
        defer { callbackDepth -= 1 }
        if let exclusiveUse { return exclusiveUse.call(body) }
        refusals += 1
        defer { refusals -= 1 }
        return body()
    }
}

extension DatabaseError {
    static func insideHook(sql: String? = nil) -> DatabaseError {
        .misuse("a hook, a handler, a collation or the authorizer cannot use the connection that called it", sql: sql)
    }

    static func insideExclusiveUse(sql: String? = nil) -> DatabaseError {
        .misuse(
            "the connection cannot be used by what it calls, such as a progress closure, while it rewrites or copies a database",
            sql: sql)
    }
}

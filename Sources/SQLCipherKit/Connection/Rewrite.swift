/// The connections that take part in one rewrite of a whole database: a change of key, a conversion, a backup with its target, a
/// restore.
///
/// SQLite does not know about a rewrite. A statement in the middle of it would commit half of what was written, or write into a
/// file that is about to be replaced. So while it calls a closure of the caller, none of these connections can be used.
final class Rewrite {
    private var members: [Connection] = []
    /// Whether a closure has tried to close one of them.
    var closeWasRefused = false

    /// Adds a connection until the rewrite has ended.
    func add(_ connection: Connection) {
        guard connection.rewrite == nil else { return }
        connection.rewrite = self
        members.append(connection)
    }

    /// Calls a closure that may use none of the connections except one.
    func call<R>(allowing allowed: Connection? = nil, _ body: () throws -> R) rethrows -> R {
        let refusing = members.filter { $0 !== allowed }
        for connection in refusing { connection.refusals += 1 }
        defer { for connection in refusing { connection.refusals -= 1 } }
        return try body()
    }

    func end() {
        for connection in members { connection.rewrite = nil }
        members = []
    }
}

extension Connection {
    /// Starts to rewrite or copy a whole database of this connection. Nothing that is called from then on may use the connection:
    /// no progress closure, key provider, hook or function called by SQL.
    /// - Parameter other: another connection that takes part.
    /// - Returns: the rewrite, which the caller has to end; nil inside another rewrite.
    /// - Throws: ``DatabaseError/Reason/misuse`` if one of the two must not be used now.
    func beginRewrite(with other: Connection? = nil) throws(DatabaseError) -> Rewrite? {
        _ = try liveForUse()
        _ = try other?.liveForUse()
        let new = rewrite == nil && other?.rewrite == nil ? Rewrite() : nil
        (new ?? other?.rewrite)?.add(self)
        if let other { rewrite?.add(other) }
        return new
    }

    /// Runs `body`, which rewrites or copies a whole database of this connection.
    func rewriting<R>(with other: Connection? = nil, _ body: () throws -> R) throws -> R {
        let rewrite = try beginRewrite(with: other)
        defer { rewrite?.end() }
        return try body()
    }

    /// Calls a closure of the caller that must not use the connection.
    /// - Throws: any error of the closure, and ``DatabaseError/Reason/misuse`` if it has tried to close the connection.
    func refusingUse<R>(_ body: () throws -> R) throws -> R {
        try rewriting {
            guard let rewrite else { return try body() }
            defer { rewrite.closeWasRefused = false }
            let result = try rewrite.call(body)
            if rewrite.closeWasRefused { throw DatabaseError.insideRewrite() }
            return result
        }
    }
}

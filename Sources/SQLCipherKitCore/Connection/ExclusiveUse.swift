/// The connections of an operation on a whole database: a key change, a conversion, a backup with its target, a restore.
///
/// SQLite does not know about such an operation. A statement in the middle of it would commit half of what was written, or write
/// into a file that is about to be replaced. So while it calls a closure of the caller, none of these connections can be used.
package final class ExclusiveUse {
    private var members: [Connection] = []
    /// True if a closure has tried to close one of them.
    var closeWasRefused = false

    /// Adds a connection until the operation has ended.
    package func add(_ connection: Connection) {
        guard connection.exclusiveUse == nil else { return }
        connection.exclusiveUse = self
        members.append(connection)
    }

    /// Calls a closure that may use none of the connections except one.
    package func call<R>(allowing allowed: Connection? = nil, _ body: () throws -> R) rethrows -> R {
        let refusing = members.filter { $0 !== allowed }
        for connection in refusing { connection.refusals += 1 }
        defer { for connection in refusing { connection.refusals -= 1 } }
        return try body()
    }

    package func end() {
        for connection in members { connection.exclusiveUse = nil }
        members = []
    }
}

extension Connection {
    /// Starts an operation on a whole database of this connection. Nothing that is called from then on may use the connection: no
    /// progress closure, key provider, hook or function called by SQL.
    /// - Parameter other: another connection that takes part.
    /// - Returns: the use, which the caller has to end; nil inside another one.
    /// - Throws: ``DatabaseError/Reason/misuse`` if one of the two must not be used now.
    package func beginExclusiveUse(with other: Connection? = nil) throws -> ExclusiveUse? {
        _ = try liveForUse()
        _ = try other?.liveForUse()
        let new = exclusiveUse == nil && other?.exclusiveUse == nil ? ExclusiveUse() : nil
        (new ?? other?.exclusiveUse)?.add(self)
        if let other { exclusiveUse?.add(other) }
        return new
    }

    /// Runs `body`, an operation on a whole database of this connection.
    package func usingExclusively<R>(with other: Connection? = nil, _ body: () throws -> R) throws -> R {
        let use = try beginExclusiveUse(with: other)
        defer { use?.end() }
        return try body()
    }

    /// Calls a closure of the caller that must not use the connection.
    /// - Throws: any error of the closure, and ``DatabaseError/Reason/misuse`` if it has tried to close the connection.
    package func refusingUse<R>(_ body: () throws -> R) throws -> R {
        try usingExclusively {
            guard let exclusiveUse else { return try body() }
            defer { exclusiveUse.closeWasRefused = false }
            let result = try exclusiveUse.call(body)
            if exclusiveUse.closeWasRefused { throw DatabaseError.insideExclusiveUse() }
            return result
        }
    }
}

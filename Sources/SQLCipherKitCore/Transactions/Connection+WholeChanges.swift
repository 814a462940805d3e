import CSQLCipher

extension Connection {
    /// Runs `body`, which steps a statement to its end: if it throws, nothing is changed.
    ///
    /// SQLite undoes what a failing statement has changed, unless a trigger fails it with `RAISE(FAIL)` or a constraint says
    /// `ON CONFLICT FAIL` (<https://sqlite.org/lang_conflict.html>). Only statements that may end so need a savepoint.
    package func wholly<R>(_ handle: OpaquePointer, _ body: () throws -> R) throws -> R {
        if sqlcipherkit_may_fail_halfway(handle) == 0 { return try body() }
        return try savepoint { _ in try body() }
    }

    /// Runs a statement that changes rows: if it throws, nothing is changed.
    package func changeRows(_ sql: SQL) throws(DatabaseError) {
        try DatabaseError.only("a change") {
            try withCached(sql, []) { statement, arguments in
                let handle = try statement.beginUse()
                defer { statement.endUse(handle) }
                try statement.bindAll(arguments, handle)
                try wholly(handle) { try statement.drain(handle) }
            }
        }
    }
}

import CSQLCipher

extension Connection {
    /// What an open connection can change about itself: how long it waits for locks, its options, its limits, its handlers, what
    /// its statements may do, and its cache of statements.
    /// ```swift
    /// try db.settings.setEnabled(.defensive, to: true)
    /// try db.settings.setLimit(.columns, to: 100)
    /// ```
    public var settings: Settings { Settings(connection: self) }

    /// The settings of an open connection. They last until it closes. Settings that a closure of a queue or a pool has changed last
    /// until the closure has ended; make settings for all calls in ``DatabaseConfiguration/prepare``.
    public struct Settings {
        let connection: Connection
    }
}

extension Connection.Settings {
    /// How long a call waits for another connection's lock; zero if a busy handler decides
    /// (<https://sqlite.org/c3ref/busy_timeout.html>).
    /// - Throws: ``DatabaseError/Reason/closed``.
    public var busyTimeout: Duration {
        get throws(DatabaseError) {
            _ = try connection.live()
            if let patience = connection.hooks?.patience { return .milliseconds(Int(patience.clampedMilliseconds)) }
            return .milliseconds(try connection.fetchOne(Int.self, "PRAGMA busy_timeout") ?? 0)
        }
    }

    /// Sets how long a call waits for another connection's lock before it throws ``DatabaseError/Reason/busy``; with zero or less
    /// it does not wait. This removes a busy handler, because SQLite has one or the other.
    /// - Returns: the timeout in effect, in whole milliseconds, rounded up, and at most 24 days.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setBusyTimeout(_ timeout: Duration) throws(DatabaseError) -> Duration {
        let handle = try connection.liveOutsideHooks()
        if connection.isLent {
            // So that a wait ends with the call.
            try connection.setInterruptibleBusyHandler(timeout.bounded)
        } else {
            try connection.check(sqlite3_busy_timeout(handle, timeout.clampedMilliseconds))
            connection.hooks?.busy = nil
            connection.hooks?.patience = nil
        }
        // Reading it again could fail after it has changed.
        return .milliseconds(Int(timeout.clampedMilliseconds))
    }

    /// Whether an option is on.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func isEnabled(_ option: ConnectionOption) throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        try connection.check(sqlcipherkit_db_config(connection.live(), option.number, -1, &result))
        return result != 0
    }

    /// Turns an option on or off.
    /// - Returns: the value in effect; ``ConnectionOption/foreignKeys`` does not change inside a transaction.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setEnabled(_ option: ConnectionOption, to isOn: Bool) throws(DatabaseError) -> Bool {
        let handle = try connection.liveOutsideHooks()
        // Like SQLite's pragma. The C call would switch in the middle of a transaction and miscount the keys that are left to
        // check.
        if option == .foreignKeys, sqlite3_get_autocommit(handle) == 0 { return try isEnabled(option) }
        var result: Int32 = 0
        if connection.isLent {
            let before = try isEnabled(option)
            connection.untilReturn(.option(option.number)) { db in try db.settings.setEnabled(option, to: before) }
        }
        try connection.check(sqlcipherkit_db_config(handle, option.number, isOn ? 1 : 0, &result))
        return result != 0
    }

    /// The value of a limit.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func limit(_ limit: Limit) throws(DatabaseError) -> Int {
        Int(sqlite3_limit(try connection.live(), limit.rawValue, -1))
    }

    /// Lowers a limit, or raises it up to the value that this engine was compiled with.
    /// - Returns: the limit in effect (<https://sqlite.org/c3ref/limit.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/invalidArgument`` for a negative value, or
    ///   ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setLimit(_ limit: Limit, to value: Int) throws(DatabaseError) -> Int {
        let handle = try connection.liveOutsideHooks()
        guard value >= 0 else { throw .invalidArgument("a limit of \(value)") }
        let before = sqlite3_limit(handle, limit.rawValue, Int32(clamping: value))
        connection.untilReturn(.limit(limit.rawValue)) { db in try db.settings.setLimit(limit, to: Int(before)) }
        return try self.limit(limit)
    }
}

import CSQLCipher

extension Connection.Settings {
    /// Replaces the timeout with `body`, which decides whether to try again when another connection holds a lock
    /// (<https://sqlite.org/c3ref/busy_handler.html>).
    ///
    /// If waiting could only lead to a deadlock, SQLite does not call `body`: ``DatabaseError/Reason/busy`` is thrown at once.
    /// ```swift
    /// try db.settings.setBusyHandler { attempts in
    ///     Thread.sleep(forTimeInterval: 0.01)
    ///     return attempts < 100
    /// }
    /// ```
    /// - Parameter body: gets the number of earlier calls for this lock, and returns whether to try again. It must not use the
    ///   connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs. Nil restores the timeout of the
    ///   configuration.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    public func setBusyHandler(_ body: ((_ attempts: Int) -> Bool)?) throws {
        guard let body else {
            try setBusyTimeout(connection.configuration.busyTimeout)
            return
        }
        let (hooks, handle) = try connection.usableHooks()
        try connection.setBusyBody(body)
        try connection.check(
            sqlite3_busy_handler(
                handle, { context, attempts in ConnectionHooks.at(context)?.isBusy(attempts) ?? 0 }, hooks.pointer))
    }

    /// Calls `body` every `instructions` instructions of SQLite's virtual machine, while a statement runs or is compiled, and each
    /// time that a statement that waits for a lock tries again (<https://sqlite.org/c3ref/progress_handler.html>). There is one
    /// handler; setting another replaces it.
    ///
    /// - Parameters:
    ///   - instructions: the approximate number of instructions between two calls; a million take about 10 ms. Default: 10,000.
    ///   - body: returns whether to continue. If not, the statement throws with the code ``ResultCode/interrupted``. An error that
    ///     `body` throws also ends the statement, and reaches its caller. `body` must not use the connection: its calls throw
    ///     ``DatabaseError/Reason/misuse`` while `body` runs. Nil removes the handler.
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/invalidArgument`` if `instructions` is less than 1,
    ///   or ``DatabaseError/Reason/misuse`` inside a hook.
    public func setProgressHandler(
        every instructions: Int = 10_000, _ body: (() throws -> Bool)?
    ) throws {
        let (hooks, handle) = try connection.usableHooks()
        guard instructions >= 1 else {
            throw DatabaseError.invalidArgument("a progress handler cannot run every \(instructions) instructions")
        }
        let before = (interval: hooks.progressInterval, body: hooks.progress)
        connection.untilReturn(.progress) { db in try db.settings.setProgressHandler(every: before.interval, before.body) }
        (hooks.progress, hooks.progressInterval) = (body, instructions)
        guard body != nil || hooks.stopsLentWork else {
            sqlite3_progress_handler(handle, 0, nil, nil)
            return
        }
        sqlite3_progress_handler(
            handle, Int32(clamping: instructions), { ConnectionHooks.at($0)?.progressed() ?? 0 }, hooks.pointer)
    }
}

extension ConnectionHooks {
    func isBusy(_ attempts: Int32) -> Int32 {
        guard let busy, let handle = connection.handle, sqlcipherkit_wait_goes_on(handle, attempts) != 0 else { return 0 }
        return connection.inHook { busy(Int(attempts)) } && connection.isOpen ? 1 : 0
    }

    func progressed() -> Int32 {
        if isRestoring || sqlcipherkit_has_ended(connection.handle) != 0 { return 0 }
        if stopsLentWork, connection.mustStop { return 1 }
        guard let progress else { return 0 }
        return connection.inHook {
            do {
                return try progress() && connection.isOpen ? 0 : 1
            } catch {
                connection.keepCallbackError(
                    DatabaseError(thrownBy: "a progress handler", error, code: .interrupted), rc: SQLITE_INTERRUPT)
                return 1
            }
        }
    }
}

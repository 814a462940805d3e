import CSQLCipher
import Foundation

/// A setting that a closure changes on a connection that is lent to it. It is reset when the closure ends, for the next call.
enum LoanSetting: Hashable {
    case busy, progress, authorizer, option(Int32), limit(Int32)
}

extension Connection {
    /// Whether the connection is lent to a closure on this thread.
    var isLent: Bool { borrower.load(ordering: .relaxed) == sqlcipherkit_thread() }

    /// Records how to reset a setting when the closure has ended, if the closure changes it for the first time.
    func untilReturn(_ setting: LoanSetting, _ putBack: @autoclosure () -> ((Connection) throws -> Void)) {
        guard isLent, case let loan = loan, loan.settings[setting] == nil else { return }
        loan.settings[setting] = putBack()
    }

    /// Resets what the closure has changed, after it has ended.
    func putSettingsBack() {
        let changed = loan.settings
        loan.settings = [:]
        for putBack in changed.values { try? putBack(self) }
    }

    // MARK: Waiting for locks

    /// Waits for locks like SQLite's timeout, but not beyond the end of the running call.
    package func setInterruptibleBusyHandler(_ patience: Duration) throws(DatabaseError) {
        let clock = ContinuousClock()
        var start = clock.now
        try installBusyHandler(patience: patience) { [unowned self] attempts in
            if attempts == 0 { start = clock.now }
            let left = patience - (clock.now - start)
            guard left > .zero, !mustStop else { return false }
            usleep(UInt32(min(.microseconds(Int(sqlcipherkit_busy_delay(Int32(clamping: attempts)))), left) / .microseconds(1)))
            return true
        }
    }

    /// - Parameter patience: how long `body` waits; nil if it is the user's own handler.
    func installBusyHandler(patience: Duration? = nil, _ body: @escaping (Int) -> Bool) throws(DatabaseError) {
        let (hooks, handle) = try usableHooks()
        let before = (body: hooks.busy, patience: hooks.patience)
        untilReturn(.busy) { db in
            if let patience = before.patience {
                try db.setInterruptibleBusyHandler(patience)
            } else if let body = before.body {
                try db.installBusyHandler(body)
            }
        }
        (hooks.busy, hooks.patience) = (body, patience)
        try check(
            sqlite3_busy_handler(
                handle, { context, attempts in ConnectionHooks.at(context)?.isBusy(attempts) ?? 0 }, hooks.pointer))
    }
}

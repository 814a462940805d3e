import Foundation
import SQLCipherKit

/// Control-C and SIGTERM during work that must end cleanly: unfinished changes are rolled back, and the database stays intact.
enum Interruption {
    // A signal handler can do little more than set a flag of this type. The tool's only thread reads it; a run in another
    // program's process handles no signals.
    nonisolated(unsafe) private static var flag: sig_atomic_t = 0
    nonisolated(unsafe) private static var isPatient = false

    static var isWanted: Bool { flag != 0 }

    /// Lets the signals stop what a connection is doing, and the command with it. A second signal ends the process at once. A
    /// terminal shows that a statement is still at work.
    /// - Returns: what shows it, for work between statements.
    @discardableResult
    static func stop(_ db: Connection) throws -> ProgressBar {
        catchSignals()
        let bar = ProgressBar("Working")
        try db.settings.setProgressHandler {
            if !isPatient { bar.tick() }
            return !isWanted
        }
        return bar
    }

    /// Lets the signals set a flag that ``check()`` looks at. A command that does not look, as it writes a single short change, is
    /// finished first.
    static func catchSignals() {
        guard Invocation.current.isProgram else { return }
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let former = signal(number) { number in
                if Interruption.flag != 0 && !Interruption.isPatient {
                    signal(number, SIG_DFL)
                    raise(number)
                }
                Interruption.flag = 1
            }
            // A shell starts background jobs with SIGINT ignored; keep it so.
            if unsafeBitCast(former, to: Int.self) == 1 { signal(number, SIG_IGN) }
        }
    }

    /// Lets control-C stop the running statement, any number of times; the other signals end the process.
    static func ofStatements() {
        guard Invocation.current.isProgram else { return }
        isPatient = true
        for number in [SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
    }

    /// Forgets a signal that was received.
    static func reset() { if Invocation.current.isProgram { flag = 0 } }

    /// Throws if one of the signals was received.
    static func check() throws {
        if isWanted { throw Failure("interrupted: unfinished changes were undone", status: .interrupted) }
    }
}

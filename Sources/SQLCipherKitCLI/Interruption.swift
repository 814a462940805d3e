import Foundation
import SQLCipherKit

/// Control-C and SIGTERM during work that should end in order: what is being written is rolled back, and the database is whole.
enum Interruption {
    // A signal's handler can do little more than set a flag of this type; it is read by the one thread there is.
    nonisolated(unsafe) private static var flag: sig_atomic_t = 0
    nonisolated(unsafe) private static var isPatient = false

    static var isWanted: Bool { flag != 0 }

    /// Lets the signals end what a database is doing, and the command with it. A second one ends the process at once.
    static func stop(_ db: Connection) throws {
        catchSignals()
        try db.setProgressHandler { !isWanted }
    }

    /// Lets the signals set a flag that ``check()`` looks at.
    static func catchSignals() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let former = signal(number) { number in
                if Interruption.flag != 0 && !Interruption.isPatient {
                    signal(number, SIG_DFL)
                    raise(number)
                }
                Interruption.flag = 1
            }
            // A shell gives its background jobs a SIGINT that is ignored; it stays so.
            if unsafeBitCast(former, to: Int.self) == 1 { signal(number, SIG_IGN) }
        }
    }

    /// Lets control-C end single statements, any number of them; the other signals end the process.
    static func ofStatements() {
        isPatient = true
        for number in [SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
    }

    /// Forgets what has come.
    static func reset() { flag = 0 }

    /// Throws if one of the signals has come.
    static func check() throws {
        if isWanted { throw Failure("interrupted: what was not complete is undone", status: .interrupted) }
    }
}

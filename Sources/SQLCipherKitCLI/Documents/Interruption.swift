import Foundation

/// Control-C and SIGTERM during work that should clean up behind itself.
enum Interruption {
    nonisolated(unsafe) private static var isWanted: sig_atomic_t = 0

    /// Runs `body`, which calls ``check()`` now and then, and lets the signals end it there.
    static func cleaningUp<R>(_ body: () throws -> R) throws -> R {
        let numbers = [SIGINT, SIGTERM, SIGHUP]
        // A shell gives its background jobs a SIGINT that is ignored; it stays so.
        let former = numbers.map { signal($0) { _ in Interruption.isWanted = 1 } }
        for (number, handler) in zip(numbers, former) where unsafeBitCast(handler, to: Int.self) == 1 { signal(number, SIG_IGN) }
        defer { for (number, handler) in zip(numbers, former) { signal(number, handler) } }
        return try body()
    }

    /// Throws if one of the signals has come.
    static func check() throws {
        if isWanted != 0 { throw Failure("interrupted: nothing was left behind", status: .interrupted) }
    }
}

import CSQLCipher
import Synchronization

/// Estimates whether the next asynchronous read is short. A short read runs at once, on the thread of Swift's cooperative pool
/// that it is on, because a switch of threads costs many times what it does.
///
/// A read that turns out to be long blocks its thread. So there is never more than one for each two threads of the pool in the
/// whole process, none where there is only one thread, and after a long read the next ones go to the connections' own threads until
/// they are short again.
final class ReadDurationEstimate: Sendable {
    /// The longest read that counts as short.
    private static let short = Duration.microseconds(200)
    /// How many short reads it takes after a long one.
    private static let probation = 16

    // Swift has as many threads as the process may use processors.
    private static let limit = Int(sqlcipherkit_processors()) / 2
    private static let running = Atomic<Int>(0)

    // Short reads that are still missing; the order of those at the same time does not matter.
    private let missing = Atomic<Int>(0)

    /// Whether a read may run at once; if so, call `end` after it.
    func begin() -> Bool {
        guard missing.load(ordering: .relaxed) <= 0 else { return false }
        if Self.running.add(1, ordering: .relaxed).newValue <= Self.limit { return true }
        end()
        return false
    }

    func end() { Self.running.subtract(1, ordering: .relaxed) }

    /// Runs a read and remembers how long it took.
    func measure<R>(_ body: () throws -> sending R) rethrows -> sending R {
        let start = Deadline.now
        defer {
            if Deadline.now - start > Self.short {
                missing.store(Self.probation, ordering: .relaxed)
            } else if missing.load(ordering: .relaxed) > 0 {
                missing.subtract(1, ordering: .relaxed)
            }
        }
        return try body()
    }
}

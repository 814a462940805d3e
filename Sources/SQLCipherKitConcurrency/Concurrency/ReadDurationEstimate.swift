import CSQLCipher
import SQLCipherKitCore
import Synchronization

/// Estimates whether the next asynchronous read is short. A short read runs at once, on its thread of Swift's cooperative pool,
/// because switching threads costs many times more than the read.
///
/// A read that turns out to be long blocks its thread. So in the whole process at most one read for every two threads of the pool
/// runs like this, and none if there is only one thread. After a long read, reads go to the connections' own threads until they are
/// short again.
final class ReadDurationEstimate: Sendable {
    /// The longest read that counts as short.
    private static let short = Duration.microseconds(200)
    /// The number of short reads required after a long one.
    private static let probation = 16

    // Swift has as many threads as the process may use processors.
    private static let limit = Int(sqlcipherkit_processors()) / 2
    private static let running = Atomic<Int>(0)

    // Short reads that are still required. The order of reads at the same time does not matter.
    private let missing = Atomic<Int>(0)

    /// Returns whether a read may run at once. If so, call `end` after it.
    func begin() -> Bool {
        guard missing.load(ordering: .relaxed) <= 0 else { return false }
        if Self.running.add(1, ordering: .relaxed).newValue <= Self.limit { return true }
        end()
        return false
    }

    func end() { Self.running.subtract(1, ordering: .relaxed) }

    /// Records how long a read took, short or not, once it has ended.
    func record(since start: Deadline) {
        if Deadline.now - start > Self.short {
            missing.store(Self.probation, ordering: .relaxed)
        } else if missing.load(ordering: .relaxed) > 0 {
            missing.subtract(1, ordering: .relaxed)
        }
    }
}

import Foundation
import Synchronization

/// Decides which asynchronous reads run at once, on the thread of Swift's cooperative pool that they are on, because a switch of
/// threads costs many times what they do: those that find a connection free, where the reads before were short.
///
/// One that turns out to be long blocks its thread. So there is never more than one for each two threads of the pool in the
/// whole process, none where there is only one thread, and after a long one the next reads go to threads of their own until they are short again.
final class ReadPace: Sendable {
    /// What is short.
    private static let short = Duration.microseconds(200)
    /// How many short reads it takes after a long one.
    private static let probation = 16

    private static let limit = ProcessInfo.processInfo.activeProcessorCount / 2
    private static let running = Atomic<Int>(0)

    // Reads still to be short; the order of those at the same time does not matter.
    private let wanted = Atomic<Int>(0)

    /// Whether a read may run at once; `end` follows if so.
    func begin() -> Bool {
        guard wanted.load(ordering: .relaxed) <= 0 else { return false }
        if Self.running.add(1, ordering: .relaxed).newValue <= Self.limit { return true }
        end()
        return false
    }

    func end() { Self.running.subtract(1, ordering: .relaxed) }

    /// Runs a read and remembers how long it took.
    func measure<R>(_ body: () throws -> sending R) rethrows -> sending R {
        let start = ContinuousClock.now
        defer {
            if ContinuousClock.now - start > Self.short {
                wanted.store(Self.probation, ordering: .relaxed)
            } else if wanted.load(ordering: .relaxed) > 0 {
                wanted.subtract(1, ordering: .relaxed)
            }
        }
        return try body()
    }
}

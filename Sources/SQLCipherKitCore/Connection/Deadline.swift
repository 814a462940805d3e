/// The latest time at which a call may end, by a clock that also runs while the machine sleeps.
///
/// A plain number: copying a `ContinuousClock.Instant` calls into the standard library, which would cost every call of a pool.
package struct Deadline: Comparable, Sendable {
    private static let origin = ContinuousClock.now
    private let nanoseconds: Int64

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: Deadline {
        let (seconds, attoseconds) = (ContinuousClock.now - origin).components
        return Deadline(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Returns the time that lies a duration from now.
    package static func after(_ time: Duration) -> Deadline { now + time }

    package var hasPassed: Bool { self <= .now }

    package static func + (moment: Deadline, time: Duration) -> Deadline {
        let (seconds, attoseconds) = time.bounded.components
        return Deadline(nanoseconds: moment.nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    package static func - (end: Deadline, start: Deadline) -> Duration { .nanoseconds(end.nanoseconds - start.nanoseconds) }

    package static func < (a: Deadline, b: Deadline) -> Bool { a.nanoseconds < b.nanoseconds }
}

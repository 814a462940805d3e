/// A moment by the clock that also counts while the machine sleeps, until which a call may take.
///
/// A plain number: `ContinuousClock.Instant` is copied by calls into the standard library, which each call of a pool would pay for.
package struct Deadline: Comparable, Sendable {
    private static let origin = ContinuousClock.now
    private let nanoseconds: Int64

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: Deadline {
        let (seconds, attoseconds) = (ContinuousClock.now - origin).components
        return Deadline(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// When a time from now on has passed.
    static func after(_ time: Duration) -> Deadline { now + time }

    var hasPassed: Bool { self <= .now }

    package static func + (moment: Deadline, time: Duration) -> Deadline {
        let (seconds, attoseconds) = time.bounded.components
        return Deadline(nanoseconds: moment.nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    static func - (end: Deadline, start: Deadline) -> Duration { .nanoseconds(end.nanoseconds - start.nanoseconds) }

    package static func < (a: Deadline, b: Deadline) -> Bool { a.nanoseconds < b.nanoseconds }
}

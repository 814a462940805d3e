import CSQLCipher
import Synchronization

/// One object for a process. A child has one of its own after a fork: threads of the parent's are not in it, and its locks may have
/// been held.
struct PerProcess<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    private final class Box: Sendable {
        let object: Object
        let forks = sqlcipherkit_forks()

        init(_ object: Object) { self.object = object }
    }

    // Without a lock, which another thread could hold when the process forks. What was made once stays.
    private let box = Atomic<Unmanaged<Box>?>(nil)
    private let make: @Sendable () -> Object

    init(_ make: @escaping @Sendable () -> Object) { self.make = make }

    var current: Object {
        while true {
            let known = box.load(ordering: .acquiring)
            if let known = known?.takeUnretainedValue(), known.forks == sqlcipherkit_forks() { return known.object }
            let made = Unmanaged.passRetained(Box(make()))
            if box.compareExchange(expected: known, desired: made, ordering: .acquiringAndReleasing).exchanged { continue }
            made.release()
        }
    }
}

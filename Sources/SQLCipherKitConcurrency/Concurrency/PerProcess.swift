import CSQLCipher
import Synchronization

/// An object for each process. A child has its own after a fork, because it does not have the parent's threads, and the parent's
/// locks may have been held.
package struct PerProcess<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    private final class Box: Sendable {
        let object: Object
        let forks = sqlcipherkit_forks()

        init(_ object: Object) { self.object = object }
    }

    // No lock, because another thread could hold it when the process forks. An object that was made once is never freed.
    private let box = Atomic<Unmanaged<Box>?>(nil)
    private let make: @Sendable () -> Object

    package init(_ make: @escaping @Sendable () -> Object) { self.make = make }

    package var current: Object {
        while true {
            let known = box.load(ordering: .acquiring)
            if let known = known?.takeUnretainedValue(), known.forks == sqlcipherkit_forks() { return known.object }
            let made = Unmanaged.passRetained(Box(make()))
            if box.compareExchange(expected: known, desired: made, ordering: .acquiringAndReleasing).exchanged { continue }
            made.release()
        }
    }
}

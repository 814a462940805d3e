#if SQLCIPHERKIT_THREAD_SANITIZER
import Foundation

package typealias Lock = ThreadSanitizerMutex

/// Replaces the standard library's `Mutex` in the builds of `scripts/workshop/check-threads`: on Linux, that one uses system calls
/// that the thread sanitizer does not see, so it would report every access that such a lock protects.
package struct ThreadSanitizerMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is accessed only with the lock held.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    package init(_ initial: consuming sending Value) {
        pthread_mutex_init(lock, nil)
        value.initialize(to: initial)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}
#else
import Synchronization

/// The lock of all that threads share in this package: the standard library's, except in the builds of
/// `scripts/workshop/check-threads`.
package typealias Lock = Mutex
#endif

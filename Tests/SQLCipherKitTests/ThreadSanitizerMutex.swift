#if SQLCIPHERKIT_THREAD_SANITIZER
import SQLCipherKit

/// The tests' own locks are of the same kind as the library's in the builds of `scripts/workshop/check-threads`.
typealias Mutex = ThreadSanitizerMutex
#endif

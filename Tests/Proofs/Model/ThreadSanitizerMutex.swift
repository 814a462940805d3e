#if SQLCIPHERKIT_THREAD_SANITIZER
import SQLCipherKit

/// The threads of a pool's programs use locks that the thread sanitizer sees.
typealias Mutex = ThreadSanitizerMutex
#endif

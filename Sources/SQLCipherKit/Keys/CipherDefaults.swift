import CSQLCipher
import Foundation

/// SQLCipher's process-wide default settings, which a newly keyed database starts from.
///
/// `ATTACH` has no other source for its settings, so for an attach that wants others they are changed for the length of
/// that call, and put back, while every other opening in the process waits.
enum CipherDefaults {
    private static let lock = ReadWriteLock()

    /// Runs `body`, which keys a database, while the defaults do not change.
    static func reading<R>(_ body: () -> R) -> R {
        lock.read(body)
    }

    /// Runs `body`, which attaches a database, with `settings` as the defaults.
    static func setting<R>(_ settings: CipherConfiguration, on handle: OpaquePointer, _ body: () -> R) -> R {
        let normal = CipherConfiguration()
        if settings == normal { return lock.read(body) }
        return lock.write {
            for pragma in settings.pragmas(default: true) { sqlite3_exec(handle, pragma, nil, nil, nil) }
            defer {
                for pragma in normal.pragmas(default: true, changedFrom: settings) { sqlite3_exec(handle, pragma, nil, nil, nil) }
            }
            return body()
        }
    }
}

/// Many readers or one writer.
private final class ReadWriteLock: @unchecked Sendable {
    // Sendable: the one member is a POSIX lock, made for use by many threads, at an address that does not change.
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() { pthread_rwlock_init(lock, nil) }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    func read<R>(_ body: () -> R) -> R {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    func write<R>(_ body: () -> R) -> R {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }
}

import Foundation

/// The lock of whoever writes a new file for a path: an empty file beside it, locked with `flock`.
///
/// A lock on the new file itself would have to be given up before the file gets its name: closing the descriptor later would drop
/// the locks of connections to the new database. This one is given up afterwards. It is the first file made and the last one
/// removed, so that the next writer or opening sees by it that something was left.
struct FileLock {
    private let path: String
    private let descriptor: Int32

    /// - Returns: nil while another thread or process has the lock.
    /// - Throws: if the lock file cannot be made.
    init?(for database: String) throws(DatabaseError) {
        path = Self.path(for: database)
        while true {
            let file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw AtomicFile.failure(.cannotOpen, "the new file cannot be made", path) }
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                close(file)
                return nil
            }
            var ours = stat(), there = stat()
            let isKnown = fstat(file, &ours) == 0 && (lstat(path, &there) == 0 || errno == ENOENT)
            if isKnown, ours.st_ino == there.st_ino, ours.st_dev == there.st_dev {
                descriptor = file
                return
            }
            // The one before had the file still locked when it was opened, and has removed it.
            let error = isKnown ? nil : AtomicFile.failure(.cannotOpen, "the new file cannot be made", path)
            close(file)
            if let error { throw error }
        }
    }

    /// - Parameter isDone: whether nothing is left that the next writer or opening would have to find.
    func unlock(isDone: Bool = true) {
        if isDone { unlink(path) }
        close(descriptor)
    }

    static func path(for database: String) -> String { database + "-sqlcipherkit-lock" }
}

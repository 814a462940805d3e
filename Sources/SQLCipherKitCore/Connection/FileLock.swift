import Foundation

/// The lock for writing a new file for a path: an empty file beside it, locked with `flock`.
///
/// A lock on the new file itself would have to be released before the file gets its name: closing the descriptor later would drop
/// the locks of connections to the new database. This one is released afterwards. The lock file is created first and removed last,
/// so that the next writer or opening sees from it that something was left, also after a power failure.
struct FileLock {
    private let path: String
    private let descriptor: Int32

    /// Takes the lock.
    /// - Returns: nil while another thread or process has the lock.
    /// - Throws: if the lock file cannot be created.
    init?(for database: String) throws(DatabaseError) {
        path = Self.path(for: database)
        while true {
            let file = SystemFile.open(path, O_RDWR | O_CREAT)
            guard file >= 0 else { throw Self.failure(database) }
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                close(file)
                return nil
            }
            var ours = stat(), there = stat()
            let isKnown = fstat(file, &ours) == 0 && (lstat(path, &there) == 0 || errno == ENOENT)
            if isKnown, ours.st_ino == there.st_ino, ours.st_dev == there.st_dev {
                descriptor = file
                // A power failure must not leave other files without this one, which tells the next opening of them.
                AtomicFile.flushFolder(of: path)
                return
            }
            // The previous holder still had the file locked when it was opened here, and has removed it since.
            let error = isKnown ? nil : AtomicFile.failure(.cannotOpen, "the new file cannot be made", path)
            close(file)
            if let error { throw error }
        }
    }

    /// - Parameter isDone: whether nothing is left for the next writer or opening to remove.
    func unlock(isDone: Bool = true) {
        // What the lock was taken for, before the removal.
        AtomicFile.flushFolder(of: path)
        if isDone { unlink(path) }
        close(descriptor)
    }

    private static func failure(_ database: String) -> DatabaseError {
        let folder = (database as NSString).deletingLastPathComponent
        guard errno == ENOENT, !folder.isEmpty, !DatabaseFile.exists(folder) else {
            return AtomicFile.failure(.cannotOpen, "the new file cannot be made", database)
        }
        return DatabaseFile.cannotOpen(database, "the folder \(folder) does not exist")
    }

    static func path(for database: String) -> String { database + "-sqlcipherkit-lock" }
}

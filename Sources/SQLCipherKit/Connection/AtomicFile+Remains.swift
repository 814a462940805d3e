import CSQLCipher
import Foundation

/// What a process that died has left, and a name that is given without taking it from another file.
extension AtomicFile {
    /// Removes what was left of a new file for `path`, unless one is being written. Costs one look where nothing was left.
    /// - Parameter isOpen: whether a connection to the database is open already.
    static func removeRemains(of path: String, isOpen: Bool = false) {
        var info = stat()
        guard lstat(FileLock.path(for: path), &info) == 0, let lock = try? FileLock(for: path) else { return }
        lock.unlock(isDone: removeLocked(path, isOpen: isOpen))
    }

    /// The same, with the lock held.
    /// - Returns: whether nothing is left.
    @discardableResult
    static func removeLocked(_ path: String, isOpen: Bool = false) -> Bool {
        var info = stat()
        let new = temporaryPath(for: path)
        // An empty file is what has held the name for the new one.
        if lstat(new, &info) == 0, !isOpen, lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size == 0 {
            unlink(path)
        }
        let isWorkDone = removeFiles(workingPath(for: path))
        return removeFiles(new) && isWorkDone
    }

    /// Where a copy of another database is worked on while the new file is written.
    static func workingPath(for path: String) -> String { temporaryPath(for: path) + "-work" }

    /// Removes a new file: what may be plaintext first.
    /// - Returns: whether nothing is left.
    static func removeFiles(_ path: String, _ suffixes: [String] = ["", "-wal", "-journal", "-shm"]) -> Bool {
        var isDone = true
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT { isDone = false }
        return isDone
    }

    /// Renames a file unless its new name is taken, with what the file system has for that.
    /// - Returns: 0, or -1 with `errno`, which is `EEXIST` for a name that is taken.
    static func renameExclusively(_ old: String, _ new: String) -> Int32 {
        if sqlcipherkit_rename_exclusively(old, new) == 0 { return 0 }
        guard [ENOSYS, EINVAL, ENOTSUP, EOPNOTSUPP].contains(errno) else { return -1 }
        // A link replaces nothing. The old name goes then; until it does, both lead to the complete file.
        if link(old, new) == 0 {
            unlink(old)
            return 0
        }
        if errno == EEXIST || errno == ENOENT { return -1 }
        // FAT and some network shares have neither: an empty file keeps the name free of others.
        let place = open(new, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard place >= 0 else { return -1 }
        close(place)
        if rename(old, new) == 0 { return 0 }
        let error = errno
        unlink(new)
        errno = error
        return -1
    }
}

extension DatabaseLocation {
    /// Removes what a process that died has left beside the database. Which file a URI means is known once it is open.
    func removeRemains() {
        if let path { AtomicFile.removeRemains(of: DatabaseFile.realPath(path)) }
    }
}

import CSQLCipher
import Foundation

/// Removing what a dead process has left, and giving a file its name without replacing another file.
extension AtomicFile {
    /// Removes what was left of a new file for `path`, unless a process is writing one now. Costs one system call if nothing was
    /// left.
    /// - Parameter isOpen: whether a connection to the database is already open.
    package static func removeRemains(of path: String, isOpen: Bool = false) {
        var info = stat()
        guard lstat(FileLock.path(for: path), &info) == 0, let lock = try? FileLock(for: path) else { return }
        lock.unlock(isDone: removeLocked(path, isOpen: isOpen))
    }

    /// Does the same with the lock held.
    /// - Returns: whether everything was removed.
    @discardableResult
    static func removeLocked(_ path: String, isOpen: Bool = false) -> Bool {
        var info = stat()
        let new = temporaryPath(for: path)
        // An empty file was reserving the name for the new one.
        if lstat(new, &info) == 0, !isOpen, lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size == 0 {
            unlink(path)
        }
        let isWorkDone = removeFiles(workingPath(for: path))
        return removeFiles(new) && isWorkDone
    }

    /// The path of a copy of another database, which is used while the new file is written.
    package static func workingPath(for path: String) -> String { temporaryPath(for: path) + "-work" }

    /// Removes a new file; first what may be plaintext.
    /// - Returns: whether everything was removed.
    static func removeFiles(_ path: String, _ suffixes: [String] = ["", "-wal", "-journal", "-shm"]) -> Bool {
        var isDone = true
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT { isDone = false }
        return isDone
    }

    /// Renames a file unless the new name is taken, by the means of the file system.
    /// - Returns: 0, or -1 with `errno`, which is `EEXIST` if the name is taken.
    static func renameExclusively(_ old: String, _ new: String) -> Int32 {
        if sqlcipherkit_rename_exclusively(old, new) == 0 { return 0 }
        guard [ENOSYS, EINVAL, ENOTSUP, EOPNOTSUPP].contains(errno) else { return -1 }
        // A link replaces nothing. Then the old name is removed; until then both names lead to the complete file.
        if link(old, new) == 0 {
            unlink(old)
            return 0
        }
        if errno == EEXIST || errno == ENOENT { return -1 }
        // FAT and some network shares have neither: an empty file reserves the name.
        let place = SystemFile.open(new, O_RDWR | O_CREAT | O_EXCL)
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
    /// Removes what a dead process has left beside the database. The file that a URI means is known only once it is open.
    func removeRemains() { if let path { AtomicFile.removeRemains(of: DatabaseFile.realPath(path)) } }
}

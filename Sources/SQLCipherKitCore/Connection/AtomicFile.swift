import CSQLCipher
import Foundation

/// A database file that appears all at once: it is written under a temporary name in the same folder, flushed to disk, and then
/// renamed, so its name always leads to a complete database or to none.
///
/// A process that dies leaves the temporary file. The next process that writes or opens the same database removes it.
package final class AtomicFile {
    /// The path of the file while it is being written.
    package let temporaryPath: String
    /// The final path.
    package let path: String
    private var lock: FileLock?

    /// Creates the file, readable and writable only by its owner, and only if the name is free: there must not even be a link,
    /// which another user could have planted.
    /// - Throws: ``DatabaseError/Reason/busy`` while another thread or process writes the same file.
    package init(for path: String) throws {
        self.path = path
        temporaryPath = Self.temporaryPath(for: path)
        var attempts = 0
        while lock == nil {
            lock = try FileLock(for: path)
            attempts += 1
            // A process that opens the database holds the lock for less than that while it looks for remains.
            if lock == nil, attempts == 20 {
                throw DatabaseError(code: .busy, reason: .busy, message: "another process is writing the file \(path)", path: path)
            }
            if lock == nil { usleep(1000) }
        }
        Self.removeLocked(path)
        let file = SystemFile.open(temporaryPath, O_RDWR | O_CREAT | O_EXCL)
        guard file >= 0 else {
            let error = Self.failure(.cannotOpen, "the new file cannot be created", path)
            lock?.unlock()
            lock = nil
            throw error
        }
        close(file)
    }

    deinit { discard() }

    /// Removes the file, unless it already has its final name.
    package func discard() {
        guard let lock else { return }
        lock.unlock(isDone: Self.removeFiles(temporaryPath))
        self.lock = nil
    }

    /// Flushes the file to disk, with the permissions and the owner of `original`. No connection may have it open.
    package func flush(like original: stat? = nil) throws {
        let file = SystemFile.open(temporaryPath, O_RDWR)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, original.map({ SystemFile.takePermissions(of: $0, file) }) ?? true, Self.sync(file) else {
            throw Self.failure(.ioError, "the new file cannot be flushed to disk", path)
        }
    }

    /// Gives the file its final name, in one step.
    /// - Parameter replacing: whether it may replace a file with that name.
    package func publish(replacing: Bool) throws {
        // SQLite does not report it if its last connection could not empty or remove these files.
        var log = stat()
        if lstat(temporaryPath + "-wal", &log) == 0, log.st_size > 0 {
            throw DatabaseError(code: .ioError, message: "the new file could not be completed; nothing has changed", path: path)
        }
        let isDone = Self.removeFiles(temporaryPath, ["-wal", "-journal", "-shm"])
        guard (replacing ? rename(temporaryPath, path) : Self.renameExclusively(temporaryPath, path)) == 0 else {
            let code: ResultCode = errno == EEXIST ? .cannotOpen : .ioError
            throw Self.failure(code, "the new file cannot be renamed", path)
        }
        if let lock { lock.unlock(isDone: isDone) } else { Self.flushFolder(of: path) }
        lock = nil
    }

    /// Makes a name durable. It is not an error if the folder cannot be flushed, as on some network file systems: either name leads
    /// to a complete database.
    package static func flushFolder(of path: String) {
        let folder = open(path.parentFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = sync(folder)
        close(folder)
    }

    /// Flushes an open file, or a folder.
    package static func sync(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            // On Darwin, fsync leaves the data in the drive's cache.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(descriptor) == 0
    }

    package static func temporaryPath(for path: String) -> String { path + "-sqlcipherkit-new" }

    package static func failure(_ code: ResultCode, _ what: String, _ path: String) -> DatabaseError {
        let error = errno
        return DatabaseError(
            code: error == ENOSPC || error == EFBIG ? .full : code, reason: code == .cannotOpen ? .cannotOpen : .engine,
            message: "\(what): \(path): \(String(cString: strerror(error))); nothing has changed", path: path)
    }
}

/// Removing what a dead process has left, and giving a file its name without replacing another file.
extension AtomicFile {
    /// Removes the remains of a new file for `path`, unless a process is writing one. Costs one system call if there are none.
    /// - Parameter isOpen: whether a connection to the database is already open.
    package static func removeRemains(of path: String, isOpen: Bool = false) {
        var info = stat()
        guard lstat(FileLock.path(for: path), &info) == 0, let lock = try? FileLock(for: path) else { return }
        lock.unlock(isDone: removeLocked(path, isOpen: isOpen))
    }

    /// Does the same with the lock held.
    /// - Returns: whether everything was removed.
    @discardableResult
    private static func removeLocked(_ path: String, isOpen: Bool = false) -> Bool {
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
    private static func removeFiles(_ path: String, _ suffixes: [String] = ["", "-wal", "-journal", "-shm"]) -> Bool {
        var isDone = true
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT { isDone = false }
        return isDone
    }

    /// Renames a file unless the new name is taken, by the means of the file system.
    /// - Returns: 0, or -1 with `errno`, which is `EEXIST` if the name is taken.
    private static func renameExclusively(_ old: String, _ new: String) -> Int32 {
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

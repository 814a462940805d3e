import Foundation

/// A database file that appears at once: written under a temporary name in the same folder, flushed to disk, and then renamed, so
/// that its name leads to a complete database or to none.
///
/// A process that dies leaves the temporary file, which the next one to write the same file removes.
final class AtomicFile {
    /// Where the file is while it is being written.
    let temporaryPath: String
    /// The name that it will have.
    let path: String
    /// Held open for its lock, which tells a file that is being written from one that a killed process has left.
    private var descriptor: Int32 = -1

    /// Makes the file, for its owner alone, and only if the name is free: not even a link may be there, which another user could
    /// have planted.
    /// - Throws: ``DatabaseError/Reason/busy`` while another thread or process writes the same file.
    init(for path: String) throws(DatabaseError) {
        self.path = path
        temporaryPath = path + "-sqlcipherkit-new"
        try removeLeftover()
        descriptor = open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(.cannotOpen, "the new file cannot be made", temporaryPath) }
        // Before the lock was taken, another process may have removed this file as a leftover.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStillThere else {
            close(descriptor)
            descriptor = -1
            throw isBeingWritten
        }
    }

    deinit { discard() }

    /// Removes the file, unless it has its name already.
    func discard() {
        guard descriptor >= 0 else { return }
        DatabaseFile.remove(temporaryPath)
        close(descriptor)
        descriptor = -1
    }

    /// Flushes the file to disk, with the permissions and, for root, the owner of `original`. No connection may have it open.
    func flush(like original: stat? = nil) throws(DatabaseError) {
        // Root keeps the owner; other users own what they write.
        if let original, geteuid() == 0 { _ = fchown(descriptor, original.st_uid, original.st_gid) }
        guard original.map({ fchmod(descriptor, $0.st_mode & 0o7777) }) ?? 0 == 0, Self.sync(descriptor) else {
            throw failure(.ioError, "the new file cannot be flushed to disk", temporaryPath)
        }
    }

    /// Gives the file its name.
    /// - Parameter replacing: whether it may replace a file of that name.
    func publish(replacing: Bool) throws(DatabaseError) {
        // The lock has to be released before a connection opens the file: closing the descriptor later would drop that connection's
        // locks. Under a random name the file is safe without it.
        let ready = temporaryPath + "-" + UUID().uuidString
        guard rename(temporaryPath, ready) == 0 else { throw failure(.ioError, "the new file cannot be renamed", path) }
        close(descriptor)
        descriptor = -1
        // Unlike a rename, a link replaces nothing.
        let rc = replacing ? rename(ready, path) : link(ready, path)
        let error = errno
        unlink(ready)
        errno = error
        guard rc == 0 else {
            throw failure(error == EEXIST ? .cannotOpen : .ioError, "the new file cannot have its name", path)
        }
        flushFolder()
    }

    /// Makes the name durable. A folder that cannot be flushed, as on some network file systems, is no error: either name
    /// leads to a complete database.
    private func flushFolder() {
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY)
        guard folder >= 0 else { return }
        _ = Self.sync(folder)
        close(folder)
    }

    private func removeLeftover() throws(DatabaseError) {
        let leftover = open(temporaryPath, O_RDWR | O_NOFOLLOW)
        defer { if leftover >= 0 { close(leftover) } }
        guard leftover < 0 || flock(leftover, LOCK_EX | LOCK_NB) == 0 else { throw isBeingWritten }
        DatabaseFile.remove(temporaryPath)
    }

    private var isStillThere: Bool {
        var ours = stat(), there = stat()
        guard fstat(descriptor, &ours) == 0, lstat(temporaryPath, &there) == 0 else { return false }
        return ours.st_ino == there.st_ino && ours.st_dev == there.st_dev
    }

    private var isBeingWritten: DatabaseError {
        DatabaseError(code: .busy, reason: .busy, message: "another thread or process is writing the file \(path)", path: path)
    }

    private static func sync(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            // There, fsync leaves the data in the drive's cache.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(descriptor) == 0
    }

    private func failure(_ code: ResultCode, _ what: String, _ path: String) -> DatabaseError {
        let error = errno
        return DatabaseError(
            code: error == ENOSPC || error == EFBIG ? .full : code, reason: code == .cannotOpen ? .cannotOpen : .engine,
            message: "\(what): \(String(cString: strerror(error))); nothing has changed", path: path)
    }
}

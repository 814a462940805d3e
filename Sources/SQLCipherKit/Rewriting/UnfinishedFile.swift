import Foundation

/// A database file in the making: written under a name beside the one it shall have, flushed to disk, and then given that name, so
/// that whoever opens the name finds a whole database or none.
///
/// A process that dies leaves the unfinished file, which the next one to make the same file removes.
final class UnfinishedFile {
    /// Where the file is while it is being written.
    let newPath: String
    /// The name that it shall have.
    let path: String
    /// Held open for its lock, which tells a file that is being written from one that a killed process has left.
    private var descriptor: Int32 = -1

    /// Makes the file, for its owner alone, and only if nothing stands there: not even a link that someone else has put there.
    /// - Throws: ``DatabaseError/Reason/busy`` while another thread or process makes the same file.
    init(for path: String) throws(DatabaseError) {
        self.path = path
        newPath = path + "-sqlcipherkit-new"
        try removeLeftover()
        descriptor = open(newPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(.cannotOpen, "the new file cannot be made", newPath) }
        // Before the lock was taken, another one may have held this file for a leftover.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStillThere else {
            close(descriptor)
            descriptor = -1
            throw isBeingMade
        }
    }

    deinit { discard() }

    /// Removes the file, unless it has its name already.
    func discard() {
        guard descriptor >= 0 else { return }
        DatabaseFile.remove(newPath)
        close(descriptor)
        descriptor = -1
    }

    /// Flushes the file to disk, with the permissions and, for root, the owner of `original`. No connection may have it open.
    func flush(like original: stat? = nil) throws(DatabaseError) {
        // As root, the owner stays who it was; for others it is themselves.
        if let original, geteuid() == 0 { _ = fchown(descriptor, original.st_uid, original.st_gid) }
        guard original.map({ fchmod(descriptor, $0.st_mode & 0o7777) }) ?? 0 == 0, Self.sync(descriptor) else {
            throw failure(.ioError, "the new file cannot be flushed to disk", newPath)
        }
    }

    /// Gives the file its name.
    /// - Parameter replacing: whether it may take the place of a file of that name.
    func publish(replacing: Bool) throws(DatabaseError) {
        // The lock has to go before anybody opens the file: closing it later would drop their locks. Under a name that nobody else
        // knows, the file is safe without it.
        let ready = newPath + "-" + UUID().uuidString
        guard rename(newPath, ready) == 0 else { throw failure(.ioError, "the new file cannot be renamed", path) }
        close(descriptor)
        descriptor = -1
        // Unlike a rename, a link takes nobody's place.
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
    /// leads to a whole database.
    private func flushFolder() {
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY)
        guard folder >= 0 else { return }
        _ = Self.sync(folder)
        close(folder)
    }

    private func removeLeftover() throws(DatabaseError) {
        let leftover = open(newPath, O_RDWR | O_NOFOLLOW)
        defer { if leftover >= 0 { close(leftover) } }
        guard leftover < 0 || flock(leftover, LOCK_EX | LOCK_NB) == 0 else { throw isBeingMade }
        DatabaseFile.remove(newPath)
    }

    private var isStillThere: Bool {
        var ours = stat(), there = stat()
        return fstat(descriptor, &ours) == 0 && lstat(newPath, &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev
    }

    private var isBeingMade: DatabaseError {
        DatabaseError(code: .busy, reason: .busy, message: "another thread or process is making the file \(path)", path: path)
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

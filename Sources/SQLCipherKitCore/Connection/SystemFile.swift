import Foundation

/// Files that this package opens itself, all but databases: of those, SQLite has the locks.
package enum SystemFile {
    /// Opens a regular file. Never follows a link, and never waits for a pipe.
    /// - Parameters:
    ///   - folder: the descriptor of an open folder that the path begins at. Default: as for `open(2)`.
    ///   - flags: as for `open(2)`.
    ///   - isAlone: whether to refuse a file with a second hard link. Another user with write access to the folder could have
    ///     linked the file there, so that this process changes its content, permissions or owner.
    ///   - isOwn: whether to refuse a file of another user, and a file that other users may read or write.
    /// - Returns: the descriptor; less than 0 if there is none, with the reason in `errno`: `EMLINK` for another name, `EPERM` for
    ///   another user's, `ENXIO` for what is not a regular file.
    package static func open(
        _ path: String, in folder: Int32 = AT_FDCWD, _ flags: Int32, isAlone: Bool = true, isOwn: Bool = false
    ) -> Int32 {
        let flags = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = folder == AT_FDCWD ? Foundation.open(path, flags, 0o600) : openat(folder, path, flags, 0o600)
        guard file >= 0 else { return file }
        var info = stat(), refusal: Int32 = 0
        if fstat(file, &info) != 0 {
            refusal = errno
        } else if info.st_mode & S_IFMT != S_IFREG {
            refusal = ENXIO
        } else if isAlone, info.st_nlink > 1 {
            refusal = EMLINK
        } else if isOwn, info.st_mode & 0o077 != 0 || info.st_uid != geteuid() {
            refusal = EPERM
        }
        if refusal == 0 { return file }
        close(file)
        errno = refusal
        return -1
    }

    /// Gives an open file the permissions of another and, as far as the system lets this user, its owner and its group, without
    /// which group permissions are dropped. Returns false with `errno` if it cannot have the permissions.
    @discardableResult
    package static func takePermissions(of original: stat, _ file: Int32) -> Bool {
        var own = stat()
        guard fstat(file, &own) == 0 else { return false }
        // Only the system's administrator may set another owner.
        if own.st_uid != original.st_uid { _ = fchown(file, original.st_uid, gid_t.max) }
        let isGroupKept = own.st_gid == original.st_gid || fchown(file, uid_t.max, original.st_gid) == 0
        let mode = original.st_mode & (isGroupKept ? 0o777 : 0o707)
        return own.st_mode & 0o777 == mode || fchmod(file, mode) == 0
    }
}

/// A descriptor of a file that replication keeps beside a database or in a store. All of them are opened here: no link is followed,
/// no pipe is waited for, a new file is never one that was there, and closing is never forgotten.
package final class OwnFile {
    package enum Purpose {
        /// A regular file, to read. It may be another user's.
        case reading
        /// An own regular file of one name, to read and write.
        case updating
        /// A new file, which only this user can read.
        case creating
        /// A file for ``flock``, created if it is missing.
        case locking
    }

    package let descriptor: Int32

    /// - Parameters:
    ///   - path: the path, below `folder` if there is one.
    ///   - folder: the descriptor of an open folder.
    /// - Returns: nil with `errno` if it cannot be opened, or is no such file.
    package static func open(_ path: String, for purpose: Purpose, in folder: Int32 = AT_FDCWD) -> OwnFile? {
        let flags: Int32 =
            switch purpose {
            case .reading: O_RDONLY
            case .updating: O_RDWR
            case .creating: O_RDWR | O_CREAT | O_EXCL
            case .locking: O_RDWR | O_CREAT
            }
        let isUpdated = purpose == .updating
        let descriptor = SystemFile.open(path, in: folder, flags, isAlone: isUpdated, isOwn: isUpdated)
        return descriptor < 0 ? nil : OwnFile(descriptor)
    }

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The size in bytes; nil with `errno` if it cannot be told.
    package var size: Int? {
        var info = stat()
        return fstat(descriptor, &info) == 0 ? Int(info.st_size) : nil
    }

    /// Reads until the buffer is full or the file ends.
    /// - Returns: the number of bytes read; nil with `errno` if that fails.
    package func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int = 0) -> Int? {
        var done = 0
        while done < bytes.count {
            let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// - Returns: whether all of it was written; else `errno` says why not.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }

    /// Flushes the file to the platter.
    package func flush() -> Bool { AtomicFile.sync(descriptor) }

    /// Locks the file as long as it is open.
    /// - Returns: false with `errno` if another descriptor has it locked.
    package func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Creates a lock file, unless it is there, and locks it.
    /// - Returns: nil with `errno`, which is `EWOULDBLOCK` if another descriptor has it locked.
    package static func locked(_ path: String) -> OwnFile? {
        while let file = open(path, for: .locking) {
            guard file.lock() else {
                errno = EWOULDBLOCK
                return nil
            }
            var ours = stat(), there = stat()
            if fstat(file.descriptor, &ours) == 0, lstat(path, &there) == 0, ours.st_ino == there.st_ino { return file }
            // Its last holder has removed it.
        }
        return nil
    }

    // MARK: Whole files

    /// The bytes of a small file.
    /// - Returns: nil if there is none.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is one, and it cannot be read or is larger.
    package static func contents(
        of path: String, atMost limit: Int = 1 << 16, isOwn: Bool = false
    ) throws -> [UInt8]? {
        errno = 0
        guard let file = open(path, for: isOwn ? .updating : .reading) else {
            if errno == ENOENT { return nil }
            throw AtomicFile.failure(.cannotOpen, "the file cannot be read", path)
        }
        guard let size = file.size, size < limit else { throw DatabaseFile.cannotOpen(path, "it is too large") }
        var bytes = [UInt8](repeating: 0, count: size)
        guard bytes.withUnsafeMutableBytes({ file.read($0) }) == size else {
            throw AtomicFile.failure(.cannotOpen, "the file cannot be read", path)
        }
        return bytes
    }

    /// Replaces a small file: a crash or a power failure leaves this content or the former one. The caller holds a lock for it.
    package static func replace(_ path: String, with bytes: [UInt8]) throws {
        let new = path + "~"
        // Of a process that was killed.
        unlink(new)
        guard let file = open(new, for: .creating), bytes.withUnsafeBytes({ file.write($0) }),
            file.flush(), rename(new, path) == 0
        else {
            let error = AtomicFile.failure(.ioError, "the file cannot be written", path)
            unlink(new)
            throw error
        }
        AtomicFile.flushFolder(of: path)
    }
}

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
    init?(for database: String) throws {
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
            let error = isKnown ? nil : AtomicFile.failure(.cannotOpen, "the new file cannot be created", path)
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
        let folder = database.parentFolder
        guard errno == ENOENT, !DatabaseFile.exists(folder) else {
            return AtomicFile.failure(.cannotOpen, "the new file cannot be created", database)
        }
        return DatabaseFile.cannotOpen(database, "the folder \(folder) does not exist")
    }

    static func path(for database: String) -> String { database + "-sqlcipherkit-lock" }
}

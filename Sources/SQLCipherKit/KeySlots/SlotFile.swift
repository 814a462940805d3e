import CSQLCipher
import Foundation

/// Slots in a file. A change holds a lock on a file beside it, writes a third file, and renames that over the first.
struct SlotFile: KeySlotStorage {
    let path: String
    let timeout: Duration

    func read() throws -> [UInt8]? {
        guard let file = try open(path, O_RDONLY, ifMissing: true) else { return nil }
        defer { close(file) }
        var info = stat()
        guard fstat(file, &info) == 0 else { throw failure("cannot be read", errno) }
        guard info.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file", 0) }
        // One byte more than is allowed tells a file that is too large from one that just fits.
        var bytes = [UInt8](repeating: 0, count: SlotTable.maximumBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { systemRead(file, $0.baseAddress, count, $0.count) }
            if got < 0, errno == EINTR { continue }
            if got < 0 { throw failure("cannot be read", errno) }
            if got == 0 { break }
            count += got
        }
        return Array(bytes.prefix(count))
    }

    func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
        let lock = try lock()
        // Closing the descriptor gives the lock back. The file stays: removing it would let two processes lock two files.
        defer { close(lock) }
        try change(try read()) { bytes in try replace(with: bytes) }
    }

    /// Removes what a process that died has left of a change, unless one is being made.
    func removeRemains() {
        var info = stat()
        guard lstat(path + ".tmp", &info) == 0 else { return }
        let lock = systemOpen(path + ".lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
        defer { if lock >= 0 { close(lock) } }
        if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 { unlink(path + ".tmp") }
    }

    /// Gives the lock's file the permissions of the slots, so that whoever may change them can lock them: those of a group, if the
    /// owner has opened them to it. Only the owner can; for anyone else nothing happens.
    func shareLock() {
        let lock = systemOpen(path + ".lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard lock >= 0 else { return }
        takePermissions(of: path, lock)
        close(lock)
    }

    /// Gives a file of ours the group and the permissions of another one. Where the group cannot be had, it gets nothing.
    @discardableResult
    private func takePermissions(of path: String, _ file: Int32) -> Bool {
        var info = stat(), own = stat()
        guard lstat(path, &info) == 0, fstat(file, &own) == 0 else { return true }
        // Another owner only the system's may give.
        if own.st_uid != info.st_uid { _ = fchown(file, info.st_uid, gid_t.max) }
        let isGroupKept = own.st_gid == info.st_gid || fchown(file, uid_t.max, info.st_gid) == 0
        let mode = info.st_mode & (isGroupKept ? 0o777 : 0o707)
        return own.st_mode & 0o777 == mode || fchmod(file, mode) == 0
    }

    private func lock() throws(DatabaseError) -> Int32 {
        guard let file = try open(path + ".lock", O_RDWR | O_CREAT, ifMissing: false) else {
            throw failure("cannot be locked", ENOENT)
        }
        takePermissions(of: path, file)
        let clock = ContinuousClock()
        let end = clock.now + timeout.bounded
        // flock belongs to the open file, not to the process: it keeps threads apart as well.
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            let error = errno
            guard error == EWOULDBLOCK || error == EINTR else {
                close(file)
                throw failure("cannot be locked", error)
            }
            guard clock.now < end else {
                close(file)
                throw DatabaseError(
                    code: .busy, reason: .busy, message: "another process is changing the key slots \(path)", path: path)
            }
            usleep(5000)
        }
        return file
    }

    private func replace(with bytes: [UInt8]) throws(DatabaseError) {
        let temporary = path + ".tmp"
        // Left by a process that died here. No other one writes it, as the lock is ours.
        unlink(temporary)
        guard let file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, ifMissing: false) else {
            throw failure("cannot be written", ENOENT)
        }
        var written = 0
        var error: Int32 = 0
        // The permissions stay; giving the file to another owner may be refused, and then it is the caller's.
        if !takePermissions(of: path, file) { error = errno }
        while written < bytes.count, error == 0 {
            let count = bytes.withUnsafeBytes { systemWrite(file, $0.baseAddress, written, $0.count) }
            if count >= 0 { written += count } else if errno != EINTR { error = errno }
        }
        if error == 0, !synchronize(file) { error = errno }
        if close(file) != 0, error == 0 { error = errno }
        if error == 0, rename(temporary, path) != 0 { error = errno }
        if error != 0 {
            unlink(temporary)
            throw failure("cannot be written", error)
        }
        try flushFolder()
    }

    /// The rename itself must outlive a loss of power.
    private func flushFolder() throws(DatabaseError) {
        let folder = (path as NSString).deletingLastPathComponent
        guard let opened = try open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY, ifMissing: false) else { return }
        defer { close(opened) }
        if fsync(opened) != 0 { throw failure("cannot be written", errno) }
    }

    /// Takes the slots away again that `update` has just written, within it.
    func remove() {
        unlink(path)
        try? flushFolder()
    }

    private func synchronize(_ file: Int32) -> Bool {
        #if canImport(Darwin)
            // fsync leaves the bytes in the drive's cache there.
            if fcntl(file, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(file) == 0
    }

    private func open(_ path: String, _ flags: Int32, ifMissing: Bool) throws(DatabaseError) -> Int32? {
        // Neither a link in its place nor a pipe that would block.
        let file = systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        if file >= 0 { return file }
        if errno == ENOENT, ifMissing { return nil }
        throw failure("cannot be opened", errno)
    }

    private func failure(_ what: String, _ error: Int32) -> DatabaseError {
        let reason = error == 0 ? "" : ": \(String(cString: strerror(error)))"
        let isFull = error == ENOSPC || error == EDQUOT || error == EFBIG
        return DatabaseError(
            code: isFull ? .full : .ioError, reason: .cannotOpen, message: "the key slots \(path) \(what)\(reason)", path: path)
    }
}

// By other names, as `SlotFile` has methods called like the functions of the system.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }

private func systemRead(_ file: Int32, _ base: UnsafeMutableRawPointer?, _ offset: Int, _ count: Int) -> Int {
    guard let base else { return 0 }
    return read(file, base + offset, count - offset)
}

private func systemWrite(_ file: Int32, _ base: UnsafeRawPointer?, _ offset: Int, _ count: Int) -> Int {
    guard let base else { return 0 }
    return write(file, base + offset, count - offset)
}

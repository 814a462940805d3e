import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Slots in a file. A change locks a second file beside it, writes a third one, and renames that over the first.
struct SlotFile: KeySlots.Storage {
    let path: String
    let timeout: Duration

    func read() throws -> [UInt8]? {
        guard let file = try open(path, O_RDONLY, ifMissing: true, isAlone: false) else { return nil }
        defer { close(file) }
        // With one byte more than is allowed, a file that is too large differs from one that just fits.
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
        // Closing the descriptor releases the lock. The file stays where there are slots: another version of this package does not
        // see that it is another file now.
        defer {
            if !DatabaseFile.exists(path) { unlink(path + ".lock") }
            close(lock)
        }
        try change(try read()) { bytes in try replace(with: bytes) }
    }

    /// Removes what a dead process has left of a change, unless a change is being made.
    func removeRemains() {
        var info = stat()
        guard lstat(path + ".tmp", &info) == 0 else { return }
        let lock = SystemFile.open(path + ".lock", O_RDWR)
        defer { if lock >= 0 { close(lock) } }
        if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0, isInPlace(lock) { unlink(path + ".tmp") }
    }

    /// Gives the lock file the permissions of the slots, so that all users who may change the slots can lock them, such as a group
    /// that the owner has given access to. Only the owner can do this; for other users it does nothing.
    func shareLock() {
        let lock = SystemFile.open(path + ".lock", O_RDWR)
        guard lock >= 0 else { return }
        takePermissions(of: path, lock)
        close(lock)
    }

    /// Gives a new file the owner and the permissions of the slots, if there are any.
    @discardableResult
    private func takePermissions(of path: String, _ file: Int32) -> Bool {
        var info = stat()
        return lstat(path, &info) != 0 || SystemFile.takePermissions(of: info, file)
    }

    private func lock() throws -> Int32 {
        let clock = ContinuousClock()
        let end = clock.now + timeout.bounded
        while true {
            guard let file = try open(path + ".lock", O_RDWR | O_CREAT, ifMissing: false) else {
                throw failure("cannot be locked", ENOENT)
            }
            takePermissions(of: path, file)
            // flock belongs to the open file, not to the process, so it also excludes other threads.
            let error = flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
            if error == 0, isInPlace(file) { return file }
            close(file)
            guard [0, EWOULDBLOCK, EINTR].contains(error) else { throw failure("cannot be locked", error) }
            guard clock.now < end else {
                throw DatabaseError(
                    code: .busy, reason: .busy, message: "another process is changing the key slots \(path)", path: path)
            }
            if error != 0 { usleep(5000) }
        }
    }

    /// Returns whether an open file is the lock's: a call that made it, and then no slots, has removed it.
    private func isInPlace(_ lock: Int32) -> Bool {
        var (own, now) = (stat(), stat())
        return fstat(lock, &own) == 0 && lstat(path + ".lock", &now) == 0 && (own.st_dev, own.st_ino) == (now.st_dev, now.st_ino)
    }

    private func replace(with bytes: [UInt8]) throws {
        let temporary = path + ".tmp"
        // A process that died here may have left it. No other process is writing it, because this one holds the lock.
        unlink(temporary)
        guard let file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, ifMissing: false) else {
            throw failure("cannot be written", ENOENT)
        }
        var written = 0
        var error: Int32 = 0
        // Permissions are kept. Setting another owner may be refused; the file then belongs to the caller.
        if !takePermissions(of: path, file) { error = errno }
        while written < bytes.count, error == 0 {
            let count = bytes.withUnsafeBytes { systemWrite(file, $0.baseAddress, written, $0.count) }
            if count >= 0 { written += count } else if errno != EINTR { error = errno }
        }
        if error == 0, !AtomicFile.sync(file) { error = errno }
        if close(file) != 0, error == 0 { error = errno }
        if error == 0, rename(temporary, path) != 0 { error = errno }
        if error != 0 {
            unlink(temporary)
            throw failure("cannot be written", error)
        }
        try flushFolder()
    }

    /// The rename itself must survive a power failure.
    private func flushFolder() throws {
        let opened = openFolder(path.parentFolder)
        guard opened >= 0 else { throw failure("cannot be opened", errno) }
        defer { close(opened) }
        if !AtomicFile.sync(opened) { throw failure("cannot be written", errno) }
    }

    /// Removes the slots that `update` has just written, while still inside it.
    func remove() {
        unlink(path)
        try? flushFolder()
    }

    private func open(
        _ path: String, _ flags: Int32, ifMissing: Bool, isAlone: Bool = true
    ) throws -> Int32? {
        let file = SystemFile.open(path, flags, isAlone: isAlone)
        if file >= 0 { return file }
        if errno == ENOENT, ifMissing { return nil }
        if errno == ENXIO { throw failure("is not a regular file", 0) }
        throw failure("cannot be opened", errno)
    }

    private func failure(_ what: String, _ error: Int32) -> DatabaseError {
        let reason = error == 0 ? "" : ": \(String(cString: strerror(error)))"
        let isFull = error == ENOSPC || error == EDQUOT || error == EFBIG
        return DatabaseError(
            code: isFull ? .full : .ioError, reason: .cannotOpen, message: "the key slots \(path) \(what)\(reason)", path: path)
    }
}

// Under other names, because `SlotFile` has methods with the names of the system's functions.
private func openFolder(_ path: String) -> Int32 { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }

private func systemRead(_ file: Int32, _ base: UnsafeMutableRawPointer?, _ offset: Int, _ count: Int) -> Int {
    guard let base else { return 0 }
    return read(file, base + offset, count - offset)
}

private func systemWrite(_ file: Int32, _ base: UnsafeRawPointer?, _ offset: Int, _ count: Int) -> Int {
    guard let base else { return 0 }
    return write(file, base + offset, count - offset)
}

extension KeySlots {
    /// Storage for the bytes of ``KeySlots`` other than a file: a preference, a field in a server's reply, a smart card.
    ///
    /// The bytes are encrypted and authenticated: you may keep them where anyone can read them. An attacker who replaces them can
    /// at worst lock the owner out.
    public protocol Storage: Sendable {
        /// Returns the bytes, or nil if there are none yet.
        /// - Throws: any error if the bytes cannot be read. The call of ``KeySlots`` fails with it.
        func read() throws -> [UInt8]?

        /// Runs `change` with the current bytes, while no other caller can change them. `change` calls `write` with new bytes one
        /// or more times. When `write` returns, the new bytes must survive a power failure; if power fails before that, the old
        /// bytes must be intact.
        /// - Throws: any error of `change`, or of the storage itself. If `write` throws, the storage has either the old bytes or
        ///   the new bytes.
        func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws
    }
}

extension KeySlots {
    /// Key slots in memory, for an application that stores the bytes itself.
    /// ```swift
    /// let bytes = KeySlots.MemoryStorage(stored)
    /// let slots = try KeySlots.unlock(.passphrase("…"), of: location, at: .storage(bytes))
    /// try slots.revoke("old laptop")
    /// store(bytes.value)
    /// ```
    /// The application has to handle changes by several processes, and crashes between a change and storing it.
    public final class MemoryStorage: Storage {
        private let bytes: Lock<[UInt8]?>
        // Held during a whole change; `bytes` only for a single access.
        private let changing = Lock<Void>(())

        /// Creates storage with bytes that were stored earlier, or with none yet.
        public init(_ bytes: [UInt8]? = nil) { self.bytes = Lock(bytes) }

        /// The current bytes.
        public var value: [UInt8]? { bytes.withLock { $0 } }

        public func read() -> [UInt8]? { value }

        /// Runs `change` with the current bytes, while no other caller can change them.
        /// - Throws: any error that `change` throws.
        public func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
            try changing.withLock { _ in
                try change(value) { new in bytes.withLock { $0 = new } }
            }
        }
    }
}

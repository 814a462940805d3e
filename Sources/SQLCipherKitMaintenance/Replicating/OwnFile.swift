import Foundation
import SQLCipherKitCore

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
    ) throws(DatabaseError) -> [UInt8]? {
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

    /// Replaces a small file: a crash leaves this content or the former one. The caller holds a lock for it.
    /// - Parameter isDurable: whether it is flushed. Default: true.
    package static func replace(_ path: String, with bytes: [UInt8], isDurable: Bool = true) throws(DatabaseError) {
        let new = path + "~"
        // Of a process that was killed.
        unlink(new)
        guard let file = open(new, for: .creating), bytes.withUnsafeBytes({ file.write($0) }),
            !isDurable || file.flush(), rename(new, path) == 0
        else {
            let error = AtomicFile.failure(.ioError, "the file cannot be written", path)
            unlink(new)
            throw error
        }
        if isDurable { AtomicFile.flushFolder(of: path) }
    }
}

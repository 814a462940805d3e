import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A store in a folder, such as a folder on another disk or on a share.
///
/// Each object is a file, which is written as `~new`, flushed, and renamed. A lock file admits one writer at a time, so conditions
/// are atomic between processes. A killed process leaves at most one unfinished file, which the next writer replaces. On a network
/// file system, atomicity depends on its locks. Links below the folder are not followed.
public struct FolderStore: ObjectStore {
    /// The absolute path of the folder.
    public let path: String
    /// The longest time to wait for another process that has the folder locked. Tests set it.
    package var patience: Duration = .seconds(10)

    private static let lockName = "~lock", newName = "~new"

    /// Opens the store in a folder, which is created if it is missing.
    /// - Parameter path: the folder. A missing folder and missing folders above it get permissions 0700.
    /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if the folder cannot be created; no folder is left then.
    ///   ``DatabaseError/Reason/invalidArgument`` for a path that is empty or has a NUL character.
    public init(_ path: String) throws {
        self.path = try Paths.folder(path, of: "the store")
        let error = Self.makeFolder(self.path)
        if error != 0 {
            throw DatabaseError.unavailableStore("the folder \(path) cannot be created: \(String(cString: strerror(error)))")
        }
    }

    /// Makes a folder and its missing parents, or no folder.
    /// - Returns: the system's error, or 0.
    private static func makeFolder(_ path: String) -> Int32 {
        var missing = [path], made: [String] = [], info = stat()
        while let next = missing.last {
            let error = mkdir(next, 0o700) == 0 ? 0 : errno, above = next.parentFolder
            if error == 0 {
                made.append(missing.removeLast())
            } else if error == EEXIST, stat(next, &info) == 0, info.st_mode & S_IFMT == S_IFDIR {
                missing.removeLast()
            } else if error == ENOENT, made.isEmpty, !above.isSameText(as: next) {
                missing.append(above)
            } else {
                for folder in made.reversed() { rmdir(folder) }
                return error
            }
        }
        return 0
    }

    /// Lists the files below the folder. Links, and files with `~` in their names, are left out.
    /// - Throws: ``DatabaseError/Reason/storeUnavailable`` with the system's error if a folder cannot be read, or for more than
    ///   1,048,576 files; `CancellationError` when the task is cancelled.
    public func list(prefix: String) async throws -> [StoredObject.Info] {
        try await BlockingExecutor.run { try objects(prefix: prefix) }
    }

    /// The same, on the caller's thread.
    package func objects(prefix: String) throws -> [StoredObject.Info] {
        var objects: [StoredObject.Info] = []
        try list(Folder(path), "", prefix, &objects)
        return objects
    }

    /// - Parameter start: the beginning of the names of the objects in the folder.
    private func list(_ folder: Folder, _ start: String, _ prefix: String, _ objects: inout [StoredObject.Info]) throws {
        let copy = dup(folder.descriptor)
        guard copy >= 0, let entries = fdopendir(copy) else {
            let error = failure("listed", start.isEmpty ? path : start)
            if copy >= 0 { close(copy) }
            throw error
        }
        defer { closedir(entries) }
        while true {
            try Task.checkCancellation()
            errno = 0
            guard let entry = readdir(entries) else {
                if errno == 0 { return }
                throw failure("listed", start.isEmpty ? path : start)
            }
            let last = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) { String(cString: $0) }
            }
            let name = start + last, isWanted = name.utf8.starts(with: prefix.utf8)
            guard isWanted || prefix.utf8.starts(with: (name + "/").utf8), last != ".", last != "..",
                !last.utf8.contains(UInt8(ascii: "~"))
            else { continue }
            guard objects.count < StoredObject.largestCount else {
                throw DatabaseError.unavailableStore("\(path) has more files than a replica stores")
            }
            var info = stat()
            guard fstatat(folder.descriptor, last, &info, AT_SYMLINK_NOFOLLOW) == 0 else {
                // Another process has removed it meanwhile.
                if errno == ENOENT { continue }
                throw failure("listed", name)
            }
            switch info.st_mode & S_IFMT {
            case S_IFREG where isWanted: objects.append(StoredObject.Info(name: name, size: Int(info.st_size)))
            case S_IFDIR:
                if let next = Folder(last[...], in: folder) {
                    try list(next, name + "/", prefix, &objects)
                } else if errno != ENOENT {
                    throw failure("listed", name)
                }
            default: break
            }
        }
    }

    /// Reads a file; nil if there is none.
    /// - Throws: ``DatabaseError/Reason/storeUnavailable`` with the system's error if the file cannot be read, for a file of more
    ///   than 320 MiB, or for a name with `~`, a NUL character or a part that is empty, `.` or `..`.
    public func get(_ name: String) async throws -> StoredObject? {
        try await BlockingExecutor.run {
            guard let (bytes, size) = try read(name) else { return nil }
            return StoredObject(bytes: bytes, version: version(bytes, of: size))
        }
    }

    /// Stores a file and the folders above it, flushed to the disk.
    /// - Throws: ``DatabaseError/Reason/storeUnavailable`` with the system's error if the file cannot be written, or if another
    ///   process holds the lock of the folder for more than 10 seconds; nothing is changed then. The same reason for a name that
    ///   ``get(_:)`` refuses.
    @discardableResult
    public func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await BlockingExecutor.run {
            let root = try Folder(path), lock = try lock(root)
            defer { _ = lock }
            let isMet =
                switch condition {
                case .always: true
                case .isVersion(let wanted): try version(of: name) == wanted
                case .isAbsent: try version(of: name) == nil
                }
            if !isMet { return nil }
            try write(name, bytes, root)
            return version(bytes, of: bytes.count)
        }
    }

    /// Removes a file. Its folder stays.
    /// - Throws: ``DatabaseError/Reason/storeUnavailable`` with the system's error if the file cannot be removed, or for a name
    ///   that ``get(_:)`` refuses.
    public func delete(_ name: String) async throws {
        guard let (folder, last) = try place(of: name, Folder(path), isNew: false) else { return }
        if unlinkat(folder.descriptor, last, 0) != 0, errno != ENOENT { throw failure("removed", name) }
    }

    // MARK: Files

    /// A folder that is open.
    private final class Folder {
        let descriptor: Int32

        init(_ path: String) throws {
            descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw DatabaseError.unavailableStore("the folder \(path) cannot be opened: \(String(cString: strerror(errno)))")
            }
        }

        /// A subfolder, which must not be a link; nil with `errno`.
        init?(_ name: Substring, in folder: Folder) {
            descriptor = openat(folder.descriptor, String(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if descriptor < 0 { return nil }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }
    }

    /// The folder of an object, and its name there; nil if the folder is missing.
    private func place(of name: String, _ root: Folder, isNew: Bool) throws -> (Folder, String)? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard let last = parts.last, !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "~") }),
            parts.allSatisfy({ !["", ".", ".."].contains($0) })
        else { throw DatabaseError.unavailableStore("\(name) is not a valid name for an object") }
        var folder = root
        for part in parts.dropLast() {
            if isNew, mkdirat(folder.descriptor, String(part), 0o700) == 0 { _ = AtomicFile.sync(folder.descriptor) }
            guard let next = Folder(part, in: folder) else {
                if errno == ENOENT { return nil }
                throw failure("opened", name)
            }
            folder = next
        }
        return (folder, String(last))
    }

    private func lock(_ root: Folder) throws -> OwnFile {
        guard let lock = OwnFile.open(Self.lockName, for: .locking, in: root.descriptor) else { throw failure("locked", path) }
        let start = ContinuousClock.now
        while !lock.lock() {
            guard errno == EINTR || errno == EWOULDBLOCK, .now - start < patience, !Task.isCancelled else {
                throw failure("locked", path)
            }
            usleep(2000)
        }
        return lock
    }

    /// The size and the last bytes: every object ends with the tag of its seal.
    private func version(_ bytes: [UInt8], of size: Int) -> String {
        "\(size)-" + bytes.suffix(Self.versionCount).map { String($0, radix: 16) }.joined(separator: ".")
    }

    private static let versionCount = 32

    /// The version of an object; nil if there is none.
    private func version(of name: String) throws -> String? {
        try read(name, onlyLast: Self.versionCount).map { version($0.bytes, of: $0.size) }
    }

    /// Reads an object, or its last bytes.
    private func read(_ name: String, onlyLast count: Int = .max) throws -> (bytes: [UInt8], size: Int)? {
        guard let (folder, last) = try place(of: name, Folder(path), isNew: false) else { return nil }
        guard let file = OwnFile.open(last, for: .reading, in: folder.descriptor) else {
            if errno == ENOENT { return nil }
            throw failure("read", name)
        }
        guard let size = file.size else { throw failure("read", name) }
        guard size <= StoredObject.largestSize else {
            throw DatabaseError.unavailableStore("the file \(name) is too large for an object")
        }
        var bytes = [UInt8](repeating: 0, count: min(size, count))
        let present = bytes.withUnsafeMutableBytes { file.read($0, at: size - $0.count) }
        guard present == bytes.count else { throw failure("read", name) }
        return (bytes, size)
    }

    /// Writes an object. The lock is held.
    private func write(_ name: String, _ bytes: [UInt8], _ root: Folder) throws {
        guard let (folder, last) = try place(of: name, root, isNew: true) else { throw failure("written", name) }
        // Of a process that was killed.
        unlinkat(root.descriptor, Self.newName, 0)
        guard let file = OwnFile.open(Self.newName, for: .creating, in: root.descriptor) else { throw failure("written", name) }
        guard bytes.withUnsafeBytes({ file.write($0) }), file.flush(),
            renameat(root.descriptor, Self.newName, folder.descriptor, last) == 0
        else {
            let error = failure("written", name)
            unlinkat(root.descriptor, Self.newName, 0)
            throw error
        }
        // It is not an error if the folder cannot be flushed, as on some network file systems.
        _ = AtomicFile.sync(folder.descriptor)
    }

    private func failure(_ what: String, _ name: String) -> DatabaseError {
        .unavailableStore("\(name) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}

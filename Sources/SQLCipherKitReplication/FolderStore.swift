import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A store in a folder, such as one on another disk or on a share.
///
/// Each object is a file, which is written under a temporary name, flushed, and renamed. A lock file makes conditions atomic
/// between processes; on a network file system they depend on its locks.
public struct FolderStore: ReplicaStore {
    /// The path of the folder.
    public let path: String
    /// How long to wait for another process that has the folder locked. Tests set it.
    package var patience: Duration = .seconds(10)

    /// - Parameter path: the folder; created with permissions 0700 if it is missing.
    /// - Throws: ``ReplicaStoreError/unavailable(_:)`` if there is no such folder and it cannot be created.
    public init(_ path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            let reason = (error as? CocoaError)?.underlying as? POSIXError
            let text = reason.map { ": " + String(cString: strerror($0.code.rawValue)) } ?? ""
            throw ReplicaStoreError.unavailable("the folder \(path) cannot be made\(text)")
        }
    }

    public func list(prefix: String) async throws -> [ReplicaObjectInfo] {
        var objects: [ReplicaObjectInfo] = []
        guard let files = FileManager.default.enumerator(atPath: path) else { throw failure("listed", path) }
        while let name = files.nextObject() as? String {
            try Task.checkCancellation()
            guard objects.count < ReplicaObject.largestCount else {
                throw ReplicaStoreError.unavailable("\(path) has more files than a replica stores")
            }
            guard name.utf8.starts(with: prefix.utf8), !name.utf8.contains(UInt8(ascii: "~")) else { continue }
            var info = stat()
            guard stat(file(name), &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
            objects.append(ReplicaObjectInfo(name: name, size: Int(info.st_size)))
        }
        return objects
    }

    public func get(_ name: String) async throws -> ReplicaObject? {
        try await BlockingExecutor.run {
            guard let bytes = try read(name) else { return nil }
            return ReplicaObject(bytes: bytes, version: version(bytes))
        }
    }

    @discardableResult
    public func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
        try await BlockingExecutor.run {
            if condition == .always {
                try write(name, bytes)
            } else {
                let lock = open(file("~lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                guard lock >= 0 else { throw failure("locked", path) }
                defer { close(lock) }
                let start = ContinuousClock.now
                while flock(lock, LOCK_EX | LOCK_NB) != 0 {
                    guard errno == EINTR || errno == EWOULDBLOCK, .now - start < patience, !Task.isCancelled else {
                        throw failure("locked", path)
                    }
                    usleep(5000)
                }
                let present = try read(name)
                switch condition {
                case .isVersion(let version):
                    if present.map({ self.version($0) }) != version { throw ReplicaStoreError.conditionFailed }
                case .isAbsent, .always: if present != nil { throw ReplicaStoreError.conditionFailed }
                }
                try write(name, bytes)
            }
            return version(bytes)
        }
    }

    public func delete(_ name: String) async throws {
        if unlink(file(name)) != 0, errno != ENOENT { throw failure("removed", name) }
    }

    private func file(_ name: String) -> String { path + "/" + name }

    /// The size and the last bytes: every object ends with the tag of what seals it.
    private func version(_ bytes: [UInt8]) -> String {
        "\(bytes.count)-" + bytes.suffix(32).map { String($0, radix: 16) }.joined(separator: ".")
    }

    private func read(_ name: String) throws -> [UInt8]? {
        // A pipe of that name must not be waited for.
        let descriptor = open(file(name), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read", name)
        }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw failure("read", name) }
        guard info.st_mode & S_IFMT == S_IFREG, info.st_size <= ReplicaObject.largestSize else {
            throw ReplicaStoreError.unavailable("\(name) is no object: it is no regular file, or larger than an object can be")
        }
        var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
        let count = try bytes.withUnsafeMutableBytes { try Self.readAll(descriptor, $0, at: 0) }
        guard count == bytes.count else { throw failure("read", name) }
        return bytes
    }

    /// Reads until the buffer is full or the file ends.
    /// - Returns: the number of bytes read.
    static func readAll(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        var done = 0
        while done < bytes.count {
            let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw ReplicaStoreError.unavailable("a file cannot be read: \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            done += count
        }
        return done
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        let final = file(name)
        let folder = (final as NSString).deletingLastPathComponent
        let temporary = final + "~\(UInt64.random(in: 0...UInt64.max))"
        var descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == ENOENT {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            flush((folder as NSString).deletingLastPathComponent)
            descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw failure("written", name) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            done += count
        }
        let isWritten = done == bytes.count && fsync(descriptor) == 0
        guard close(descriptor) == 0, isWritten, rename(temporary, final) == 0 else {
            let error = failure("written", name)
            unlink(temporary)
            throw error
        }
        flush(folder)
    }

    private func flush(_ folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    private func failure(_ what: String, _ name: String) -> ReplicaStoreError {
        .unavailable("\(name) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}

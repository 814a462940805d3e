import Foundation
import SQLCipherKit

/// The files that the tour creates, side by side in a folder.
struct TourFiles {
    let folder: String

    var database: String { folder + "/tour.db" }
    var keyFile: String { folder + "/tour.key" }
    var archive: String { folder + "/tour-archive.db" }
    var archiveKeyFile: String { folder + "/tour-archive.key" }

    private var all: [String] {
        let databases = [database, archive].flatMap { base in ["", "-journal", "-wal", "-shm"].map { base + $0 } }
        return databases + [keyFile, keyFile + ".new", archiveKeyFile]
    }

    /// Creates the folder, and removes what an earlier tour left in it.
    /// - Throws: ``Failure`` if a database of that name exists without the key file that a tour leaves beside it.
    func prepare() throws {
        if !FileOptions.exists(keyFile), let other = [database, archive].first(where: FileOptions.exists) {
            throw Failure("\(other) is not from an earlier tour, and is kept: choose another folder with --into")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure("the folder \(folder) cannot be created")
        }
        for path in all where unlink(path) != 0 && errno != ENOENT {
            throw Failure("\(path) cannot be removed: \(systemMessage(errno))")
        }
    }

    /// Writes a key to a new file that only its owner can read.
    func write(_ key: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the key file \(path) cannot be created: \(systemMessage(errno))") }
        defer { close(descriptor) }
        let bytes = Array((key + "\n").utf8)
        guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw Failure("the key file \(path) cannot be written: \(systemMessage(errno))")
        }
    }

    /// Random letters and digits of 32 kinds, from the system's generator: 130 bits.
    static func randomPassphrase() -> String {
        let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
        let groups = [5, 5, 5, 5, 6].map { count in String((0..<count).map { _ in letters[Int.random(in: 0..<letters.count)] }) }
        return groups.joined(separator: "-")
    }

    /// 32 random bytes as 64 hexadecimal digits.
    static func randomRawKey() -> String {
        (0..<32).map { _ in String(format: "%02x", UInt8.random(in: .min ... .max)) }.joined()
    }
}

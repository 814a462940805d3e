import CSQLCipher
import Foundation
import SQLCipherKitCore

/// A working copy of a database's files: recovery after a crash takes place in the copy, and the source is only read.
///
/// Parts of the file that cannot be read become zeros, which match no authentication code.
final class DamagedFileCopy {
    let path: String

    /// - Parameters:
    ///   - source: the damaged database.
    ///   - path: the copy's path. Anything that a killed process left there is removed.
    ///   - goOn: called for each block.
    init(of source: String, at path: String, _ goOn: () throws -> Void) throws {
        self.path = path
        DatabaseFile.remove(path)
        try copyDatabase(source, goOn)
        for suffix in ["-wal", "-journal"] {
            // SQLite takes no locks on these files.
            guard DatabaseFile.exists(source + suffix) else { continue }
            do { try FileManager.default.copyItem(atPath: source + suffix, toPath: path + suffix) } catch {
                throw DatabaseFile.cannotOpen(source + suffix, "it cannot be copied: \(error.localizedDescription)")
            }
        }
    }

    deinit { DatabaseFile.remove(path) }

    /// Replaces the first bytes of the copy.
    func begin(with bytes: [UInt8]) throws(DatabaseError) {
        let descriptor = SystemFile.open(path, O_WRONLY)
        guard descriptor >= 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard bytes.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
            throw DatabaseError(code: .ioError, message: "\(path) cannot be written", path: path)
        }
    }

    private func copyDatabase(_ source: String, _ goOn: () throws -> Void) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        let rc = sqlcipherkit_open(
            DatabaseLocation.file(source).name, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI)
        guard rc == SQLITE_OK, let handle else {
            throw DatabaseFile.cannotOpen(source, DatabaseError(rc: rc, database: handle).message)
        }
        let descriptor = SystemFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
        guard descriptor >= 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        // No page is larger than this, and each begins at a multiple of its size.
        var block = [UInt8](repeating: 0, count: 65_536)
        var offset: Int64 = 0
        var info = stat()
        guard stat(source, &info) == 0 else { throw DatabaseFile.cannotOpen(source, String(cString: strerror(errno))) }
        while offset < Int64(info.st_size) {
            let count = min(block.count, Int(Int64(info.st_size) - offset))
            try goOn()
            try read(handle, &block, count, offset)
            guard block.withUnsafeBytes({ write(descriptor, $0.baseAddress, count) }) == count else {
                throw DatabaseError(code: errno == ENOSPC ? .full : .ioError, message: "\(path) cannot be written", path: path)
            }
            offset += Int64(count)
        }
    }

    /// Reads a block. If that fails, reads it in pieces of the smallest possible page size.
    private func read(_ handle: OpaquePointer, _ block: inout [UInt8], _ count: Int, _ offset: Int64) throws(DatabaseError) {
        let rc = sqlcipherkit_read_file(handle, "main", &block, Int32(count), offset)
        if rc == SQLITE_OK || rc == ResultCode.ioErrorShortRead.rawValue { return }
        guard rc & 0xff == SQLITE_IOERR else { throw DatabaseError(rc: rc, database: nil) }
        for start in stride(from: 0, to: count, by: 512) {
            var part = [UInt8](repeating: 0, count: 512)
            let rc = sqlcipherkit_read_file(handle, "main", &part, 512, offset + Int64(start))
            let isRead = rc == SQLITE_OK || rc == ResultCode.ioErrorShortRead.rawValue
            block.replaceSubrange(start..<start + 512, with: isRead ? part : [UInt8](repeating: 0, count: 512))
        }
    }
}

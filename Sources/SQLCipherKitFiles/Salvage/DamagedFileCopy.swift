import CSQLCipher
import Foundation
import SQLCipherKitCore

/// A copy of a database's files, which are only read: recovery after a crash takes place in the copy.
///
/// Parts of the file that cannot be read become zeros, which match no authentication code.
final class DamagedFileCopy {
    static let logs = ["-wal", "-journal"]

    let path: String
    private var originals: [String: stat] = [:]

    /// - Parameters:
    ///   - source: the damaged database.
    ///   - path: the copy's path. Anything that a killed process left there is removed.
    ///   - goOn: called for each block.
    init(of source: String, at path: String, _ goOn: () throws -> Void) throws {
        self.path = path
        DatabaseFile.remove(path)
        // Logs are beside the file itself.
        let source = DatabaseFile.realPath(source)
        for suffix in [""] + Self.logs where suffix.isEmpty || DatabaseFile.exists(source + suffix) {
            try copy(source + suffix, suffix, goOn)
        }
    }

    deinit { DatabaseFile.remove(path) }

    /// Replaces the first bytes of the copy.
    func begin(with bytes: [UInt8]) throws {
        let descriptor = SystemFile.open(path, O_WRONLY)
        guard descriptor >= 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard bytes.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
            throw DatabaseError(code: .ioError, message: "\(path) cannot be written", path: path)
        }
    }

    /// Gives the copy a name that is free, so that it stays, with the permissions and the owner of the source. The database itself
    /// gets its name last: without it, the rest is no copy.
    func keep(as name: String) throws {
        for suffix in Self.logs + [""] {
            unlink(name + suffix)
            guard let original = originals[suffix] else { continue }
            let file = SystemFile.open(path + suffix, O_RDWR)
            defer { if file >= 0 { close(file) } }
            guard file >= 0, SystemFile.takePermissions(of: original, file), AtomicFile.sync(file),
                rename(path + suffix, name + suffix) == 0
            else { throw AtomicFile.failure(.ioError, "the damaged file cannot be copied", path) }
        }
        AtomicFile.flushFolder(of: name)
    }

    /// Returns whether another name leads to a copy of the database, with all logs that it has.
    static func isKept(_ name: String, of source: String) throws -> Bool {
        for suffix in logs + [""] where DatabaseFile.exists(source + suffix) {
            guard DatabaseFile.exists(name + suffix) else { return false }
            let file = try DamagedFile(source + suffix, isLog: !suffix.isEmpty)
            let copy = try DamagedFile(name + suffix, isLog: !suffix.isEmpty)
            guard file.info.st_size == copy.info.st_size else { return false }
            for offset in file.offsets where try file.block(at: offset) != copy.block(at: offset) { return false }
        }
        return true
    }

    private func copy(_ source: String, _ suffix: String, _ goOn: () throws -> Void) throws {
        let path = path + suffix, file = try DamagedFile(source, isLog: !suffix.isEmpty)
        originals[suffix] = file.info
        let descriptor = SystemFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
        guard descriptor >= 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        for offset in file.offsets {
            try goOn()
            let block = try file.block(at: offset)
            guard block.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == block.count else {
                throw DatabaseError(code: errno == ENOSPC ? .full : .ioError, message: "\(path) cannot be written", path: path)
            }
        }
    }
}

/// A file that is only read. A database is read through SQLite: closing another descriptor would drop the locks of its connections.
private final class DamagedFile {
    private let handle: OpaquePointer?
    private let descriptor: Int32
    let info: stat

    init(_ path: String, isLog: Bool) throws {
        var handle: OpaquePointer?, info = stat()
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW
        let rc = isLog ? SQLITE_OK : sqlcipherkit_open(DatabaseLocation.file(path).name, &handle, flags)
        descriptor = isLog ? SystemFile.open(path, O_RDONLY, isAlone: false) : -1
        guard rc == SQLITE_OK, isLog ? descriptor >= 0 && fstat(descriptor, &info) == 0 : stat(path, &info) == 0 else {
            let reason = rc == SQLITE_OK ? String(cString: strerror(errno)) : DatabaseError(rc: rc, database: handle).message
            sqlite3_close(handle)
            if descriptor >= 0 { close(descriptor) }
            throw DatabaseFile.cannotOpen(path, reason)
        }
        (self.handle, self.info) = (handle, info)
    }

    deinit {
        sqlite3_close(handle)
        if descriptor >= 0 { close(descriptor) }
    }

    /// No page is larger than the distance, and each begins at a multiple of its size.
    var offsets: StrideTo<Int> { stride(from: 0, to: Int(info.st_size), by: 65_536) }

    /// Reads a block. If that fails, reads it in pieces of the smallest possible page size.
    func block(at offset: Int) throws -> [UInt8] {
        var block = [UInt8](repeating: 0, count: min(65_536, Int(info.st_size) - offset))
        if try read(&block, offset) { return block }
        for start in stride(from: 0, to: block.count, by: 512) {
            var part = [UInt8](repeating: 0, count: min(512, block.count - start))
            let isRead = try read(&part, offset + start)
            block.replaceSubrange(start..<start + part.count, with: isRead ? part : [UInt8](repeating: 0, count: part.count))
        }
        return block
    }

    /// Returns false for what the disk cannot read.
    private func read(_ bytes: inout [UInt8], _ offset: Int) throws -> Bool {
        guard let handle else { return pread(descriptor, &bytes, bytes.count, off_t(offset)) >= 0 }
        let rc = sqlcipherkit_read_file(handle, "main", &bytes, Int32(bytes.count), Int64(offset))
        if rc == SQLITE_OK || rc == ResultCode.ioErrorShortRead.rawValue { return true }
        guard rc & 0xff == SQLITE_IOERR else { throw DatabaseError(rc: rc, database: nil) }
        return false
    }
}

import CSQLCipher
import Foundation

/// The database file as the operating system sees it.
/// The file is never opened here: closing such a descriptor would drop the locks that this process's connections hold on the file
/// (<https://sqlite.org/howtocorrupt.html>, section 2.2). Its bytes are read through SQLite.
package enum DatabaseFile {
    /// Checks what can be known before SQLite opens the file, and creates its parent folders if requested.
    /// - Returns: whether the file is missing, so that SQLite will create it.
    package static func prepare(
        _ location: DatabaseLocation, _ configuration: DatabaseConfiguration
    ) throws -> Bool {
        _ = try location.name.cName("the path of the database")
        guard let path = try location.path.map({ try Paths.file($0, of: "the database") }) else { return false }
        var info = stat()
        if stat(path, &info) == 0 {
            guard info.st_mode & S_IFMT == S_IFREG else { throw cannotOpen(path, "it is not a regular file") }
            return false
        }
        let error = errno
        guard error == ENOENT, configuration.access == .readWriteCreate else { throw cannotOpen(path, reason(error)) }
        let folder = path.parentFolder
        guard stat(folder, &info) != 0 else { return true }
        guard configuration.createsFolders || location.isStandard else {
            throw cannotOpen(path, "the folder \(folder) does not exist; DatabaseConfiguration.createsFolders makes it")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw cannotOpen(path, "the folder \(folder) cannot be created")
        }
        return true
    }

    /// Removes a file that an opening has created and left empty. It holds SQLite's lock, so that no process writes to the file in
    /// the meantime; a connection that has it open gets an error.
    static func removeEmpty(_ location: DatabaseLocation) {
        guard let path = location.path, isEmpty(path) else { return }
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
        guard sqlite3_open_v2(location.name, &handle, flags, nil) == SQLITE_OK,
            sqlite3_exec(handle, "BEGIN EXCLUSIVE", nil, nil, nil) == SQLITE_OK, isEmpty(path)
        else { return }
        remove(path)
    }

    /// Removes a database together with the files that SQLite keeps beside it.
    package static func remove(_ path: String) {
        for suffix in ["-journal", "-wal", "-shm", ""] { unlink(path + suffix) }
    }

    /// The first 16 bytes of an open database's file: SQLite's header text, or the salt of an encrypted database
    /// (<https://sqlite.org/fileformat2.html>). Nil if the file does not have them yet.
    /// - Throws: the error that prevents reading them. A salt wrongly taken for missing would lead to another key.
    package static func header(_ handle: OpaquePointer, schema: String = "main") throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        switch sqlcipherkit_read_file(handle, schema, &bytes, 16, 0) {
        case SQLITE_OK: return bytes
        case ResultCode.ioErrorShortRead.rawValue, SQLITE_CANTOPEN: return nil
        case let rc: throw DatabaseError(rc: rc, database: nil)
        }
    }

    /// Does the same for a file that is not open, through a separate connection.
    package static func header(at location: DatabaseLocation) throws -> [UInt8]? {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        let rc = sqlcipherkit_open(location.name, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI)
        guard rc == SQLITE_OK, let handle else {
            if rc & 0xff == SQLITE_CANTOPEN { return nil }
            throw DatabaseError(rc: rc, database: handle)
        }
        return try header(handle)
    }

    /// The first bytes of a plaintext SQLite database.
    package static let plaintextHeader = Array("SQLite format 3\0".utf8)

    package static func cannotOpen(_ path: String, _ reason: String) -> DatabaseError {
        DatabaseError(
            code: .cannotOpen, reason: .cannotOpen, message: "cannot open the database \(path): \(reason)", path: path)
    }

    static func empty(_ path: String) -> DatabaseError {
        DatabaseError(
            code: .notADatabase, reason: .wrongKeyOrNotADatabase, message: "\(path) is empty: there is no database in it",
            path: path)
    }

    private static func reason(_ error: Int32) -> String { String(cString: strerror(error)) }
}

extension DatabaseFile {
    /// The numbers of a file's disk and of the file on it, which identify the file; nil if there is none under the path.
    package static func identity(of path: String) -> [UInt64]? {
        var info = stat()
        return stat(path, &info) == 0 ? [UInt64(truncatingIfNeeded: info.st_dev), UInt64(truncatingIfNeeded: info.st_ino)] : nil
    }
}

/// Where a database's file really is, to find the files beside it.
extension DatabaseFile {
    /// Returns the path that SQLite gives to a database opened by `path`: absolute, without symbolic links, whether their target
    /// exists or not. A path that cannot be resolved, such as a cycle of links, is returned unchanged.
    package static func realPath(_ path: String) -> String {
        var current = path
        // The number of links that Linux follows (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
        for _ in 0..<40 {
            if let resolved = resolve(current) { return resolved }
            let folder = current.parentFolder
            // The file does not exist, but a link to it may.
            if let target = linkTarget(current) {
                current = target.hasTextPrefix("/") ? target : "\(folder)/\(target)"
                continue
            }
            guard let resolved = resolve(folder) else { return path }
            return (resolved.isSameText(as: "/") ? "" : resolved) + "/" + current.lastName
        }
        return path
    }

    /// Returns whether two paths lead to the same database.
    package static func isSame(_ a: String, _ b: String) -> Bool { realPath(a).isSameText(as: realPath(b)) }

    /// Returns whether there is a file of 0 bytes, which SQLite takes for a new database.
    package static func isEmpty(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_size == 0
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package static func isLink(_ path: String) -> Bool { linkTarget(path) != nil }

    /// Returns the path without symbolic links; nil if there is no file.
    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Returns the target of a symbolic link; nil for anything else.
    private static func linkTarget(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

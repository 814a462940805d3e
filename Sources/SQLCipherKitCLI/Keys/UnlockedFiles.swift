import Foundation
import SQLCipherKit

/// Keys of databases that `unlock` has put into the user's keyring of the Linux kernel, for a stated time.
enum UnlockedFiles {
    private static let start = "sqlcipherkit:"

    /// The name of the database's key: the file's salt and path, so that another file at that path does not match.
    private static func name(of path: String) -> String? {
        guard let salt = try? DatabaseFile.header(at: .file(path)) else { return nil }
        return start + salt.map { String(format: "%02x", $0) }.joined() + ":" + fullPath(path)
    }

    private static func fullPath(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    #if os(Linux)
        /// The key of a database; nil if it is not unlocked, or if the kernel forbids the keyring.
        static func key(of path: String) -> DatabaseKey? {
            guard let name = name(of: path) else { return nil }
            return try? KeySource.keyring(name, in: .user, as: .hexadecimal).key()
        }

        static func add(_ db: Connection, _ path: String, for time: Duration) throws {
            try remove(path)
            guard let name = name(of: path) else { throw Failure("the database \(path) cannot be read") }
            try KernelKeyring.user.addKey(of: db.main, as: name, expiresAfter: time)
            guard key(of: path) == nil else { return }
            try KernelKeyring.user.remove(name)
            throw Failure("the kernel holds the key of \(path), but this user may not read it", status: .key)
        }

        /// Forgets the key of a database, or all keys.
        /// - Returns: the number of keys removed.
        @discardableResult
        static func remove(_ path: String?) throws -> Int {
            let end = path.map { ":" + fullPath($0) }
            let names = try KernelKeyring.user.names(startingWith: start).filter { name in
                end.map { name.dropFirst(start.count + 32) == $0 } ?? true
            }
            for name in names { try KernelKeyring.user.remove(name) }
            return names.count
        }
    #else
        static func key(of path: String) -> DatabaseKey? { nil }

        static func add(_ db: Connection, _ path: String, for time: Duration) throws {
            throw Failure("unlock needs the keyring of the Linux kernel, which this system does not have")
        }

        @discardableResult
        static func remove(_ path: String?) throws -> Int { 0 }
    #endif
}

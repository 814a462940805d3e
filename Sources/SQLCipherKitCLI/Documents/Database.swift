import Foundation
import SQLCipherKit

/// Opening a database that a command was given.
enum Database {
    /// Opens an existing database. That it is there is checked first, so that nobody types a key for nothing.
    static func open(_ path: String, _ keyOptions: KeyOptions, access: Configuration.Access) throws -> Connection {
        var info = stat()
        guard stat(path, &info) == 0 else {
            throw Failure("the database \(path) cannot be opened: \(systemMessage(errno))")
        }
        guard info.st_mode & S_IFMT != S_IFDIR else { throw Failure("the database \(path) cannot be opened: it is a folder") }
        var configuration = Configuration()
        configuration.access = access
        return try Connection(.file(path), key: keyOptions.key(for: path), configuration: configuration)
    }
}

import Foundation

/// Where a database's file really is, to find the files beside it.
extension DatabaseFile {
    /// Returns the path that SQLite gives to a database opened by `path`: absolute, without symbolic links, whether their target
    /// exists or not. A path that cannot be resolved, such as a cycle of links, is returned unchanged.
    package static func realPath(_ path: String) -> String {
        var current = path
        // The number of links that Linux follows (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
        for _ in 0..<40 {
            if let resolved = resolve(current) { return resolved }
            let folder = (current as NSString).deletingLastPathComponent
            // The file does not exist, but a link to it may.
            if let target = linkTarget(current) {
                current = target.hasTextPrefix("/") ? target : (folder as NSString).appendingPathComponent(target)
                continue
            }
            guard let resolved = resolve(folder.isEmpty ? "." : folder) else { return path }
            return (resolved as NSString).appendingPathComponent((current as NSString).lastPathComponent)
        }
        return path
    }

    /// Whether two paths lead to the same database.
    package static func isSame(_ a: String, _ b: String) -> Bool { realPath(a).isSameText(as: realPath(b)) }

    /// Whether there is a file of 0 bytes, which SQLite takes for a new database.
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

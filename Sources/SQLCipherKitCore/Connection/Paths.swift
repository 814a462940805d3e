import Foundation

/// The paths that callers give. Each public call that takes one passes it through here once, so that it leads to the same file
/// after a change of the working folder or of `$HOME`.
package enum Paths {
    /// The absolute form of a path: a leading `~` or `~/` is the home folder (``HomeFolder``), and a relative path is one of the
    /// working folder. Links stay. An empty path, or one with a NUL character, is returned as it is, to be refused by what uses it.
    package static func absolute(_ path: String) -> String {
        if path.isEmpty || path.utf8.contains(0) || path.hasTextPrefix("/") { return path }
        if path.isSameText(as: "~") || path.hasTextPrefix("~/") {
            return HomeFolder.path() + String(decoding: path.utf8.dropFirst(), as: UTF8.self)
        }
        // Without a working folder, or with one whose name is not UTF-8, a relative path has no absolute form.
        guard let folder = workingFolder else { return path }
        return (folder.isSameText(as: "/") ? "" : folder) + "/" + path
    }

    /// The same for the path of a file.
    /// - Parameter what: what the file is, for the error.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an empty path or one with a NUL character;
    ///   ``DatabaseError/Reason/cannotOpen`` for a folder.
    package static func file(_ path: String, of what: String) throws -> String {
        let path = try folder(path, of: what)
        // SQLite and Foundation would drop such an ending, to make another file.
        if ["", ".", ".."].contains(path.lastName) {
            throw DatabaseFile.cannotOpen(path, "it is a folder's path")
        }
        var info = stat()
        if stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR { throw DatabaseFile.cannotOpen(path, "it is a folder") }
        return path
    }

    /// The same for the path of a folder.
    package static func folder(_ path: String, of what: String) throws -> String {
        if path.isEmpty { throw DatabaseError.invalidArgument("the path of \(what) is empty") }
        _ = try path.cName("the path of \(what)")
        return absolute(path)
    }

    /// The path in a URL of a file. A folder's keeps its slash, and another URL is refused as the path of no file.
    static func path(in url: URL) -> String {
        guard url.isFileURL || url.scheme == nil else { return url.absoluteString }
        let path = url.path
        return url.hasDirectoryPath && path.utf8.last != UInt8(ascii: "/") ? path + "/" : path
    }

    /// An SQLite URI with an absolute path (<https://sqlite.org/uri.html>). One that means no file, or another file layer's, stays.
    static func absoluteURI(_ uri: String) -> String {
        guard uri.hasTextPrefix("file:") else { return uri.isSameText(as: ":memory:") ? uri : absolute(uri) }
        let rest = uri.utf8.dropFirst(5), name = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let query = String(decoding: rest.dropFirst(name.count), as: UTF8.self)
        let decoded = String(decoding: name, as: UTF8.self).removingPercentEncoding ?? ""
        // SQLite decodes the path before it looks at how it begins.
        guard !name.isEmpty, !decoded.hasTextPrefix("/"), !decoded.isSameText(as: ":memory:"), !query.contains("vfs="),
            !query.contains("mode=memory"), let folder = workingFolder
        else { return uri }
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#;"))
        guard let encoded = folder.addingPercentEncoding(withAllowedCharacters: allowed) else { return uri }
        return "file:\(encoded.isSameText(as: "/") ? "" : encoded)/\(String(decoding: rest, as: UTF8.self))"
    }

    private static var workingFolder: String? {
        guard let folder = getcwd(nil, 0) else { return nil }
        defer { free(folder) }
        return String(validatingCString: folder)
    }
}

extension String {
    /// The path of the folder that has the file: `.` for a name alone.
    package var parentFolder: String {
        let name = lastName.utf8.count
        if name == utf8.count { return "." }
        var folder = utf8.dropLast(name + 1)
        while folder.last == UInt8(ascii: "/") { folder = folder.dropLast() }
        return folder.isEmpty ? "/" : String(decoding: folder, as: UTF8.self)
    }

    /// The part after the path's last slash.
    package var lastName: String {
        let start = utf8.lastIndex(of: UInt8(ascii: "/")).map { utf8.index(after: $0) } ?? utf8.startIndex
        return String(self[start...])
    }
}

/// The home folder, wherever this package looks for it.
package enum HomeFolder {
    /// `$HOME`, or the one of the user database if that is not set. On Apple's platforms, the one of the application's sandbox.
    package static func path(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        #if !canImport(Darwin)
            if let home = environment["HOME"], home.hasTextPrefix("/") { return home }
        #endif
        return NSHomeDirectory()
    }

    /// A folder that a variable names or, if it names none or has a relative path, which the specification says to ignore, one of
    /// the home folder (<https://specifications.freedesktop.org/basedir-spec/latest/>).
    package static func folder(_ variable: String, or name: String, _ environment: [String: String]) -> String {
        if let folder = environment[variable], folder.hasTextPrefix("/") { return folder }
        return "\(path(environment))/\(name)"
    }
}

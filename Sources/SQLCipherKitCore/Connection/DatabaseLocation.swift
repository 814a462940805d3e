import CSQLCipher
import Foundation

/// The location of a database: a file, memory, or a temporary file.
public struct DatabaseLocation: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        case file(ExactText)
        case uri(ExactText)
        case memory
        case temporary
    }

    let place: Place
    /// True if the folder is the platform's standard one, which is created if it is missing.
    var isStandard = false

    /// A file, by its path. A leading `~` or `~/` means the home folder: `$HOME` on Linux. A relative path is made absolute here,
    /// so that the location stays the same when the working folder changes.
    public static func file(_ path: String) -> DatabaseLocation { DatabaseLocation(place: .file(ExactText(Paths.absolute(path)))) }

    /// A file, by its URL.
    public static func file(_ url: URL) -> DatabaseLocation { .file(Paths.path(in: url)) }

    /// A file, by its SQLite URI, such as `file:data.db?mode=ro` (<https://sqlite.org/uri.html>). A relative path in the URI is
    /// made absolute here, too.
    public static func uri(_ uri: String) -> DatabaseLocation { DatabaseLocation(place: .uri(ExactText(Paths.absoluteURI(uri)))) }

    /// A database in memory, which is gone when its connection closes.
    public static let memory = DatabaseLocation(place: .memory)

    /// A database in an unnamed temporary file, which is gone when its connection closes. This engine keeps it in memory until it
    /// grows beyond the page cache.
    public static let temporary = DatabaseLocation(place: .temporary)

    /// A file in the platform's folder for application data, which is created if it is missing: `$XDG_DATA_HOME` or
    /// `~/.local/share` on Linux, `Application Support` on Apple platforms.
    /// - Parameters:
    ///   - name: the file's name.
    ///   - application: the name of the application's own folder; nil, the default, for the process's name.
    public static func standard(_ name: String = "default.db", application: String? = nil) -> DatabaseLocation {
        let application = application ?? ProcessInfo.processInfo.processName
        #if canImport(Darwin)
            let base = NSHomeDirectory() + "/Library/Application Support"
        #else
            let base = HomeFolder.folder("XDG_DATA_HOME", or: ".local/share", ProcessInfo.processInfo.environment)
        #endif
        return DatabaseLocation(place: .file(ExactText("\(base)/\(application)/\(name)")), isStandard: true)
    }

    /// The absolute path of the file, if the location is a path.
    public var path: String? {
        if case .file(let path) = place { path.text } else { nil }
    }

    /// The name passed to `sqlite3_open_v2` and `ATTACH`.
    package var name: String {
        switch place {
        case .file(let path): path.text.hasTextPrefix("/") || path.text.hasTextPrefix("./") ? path.text : "./" + path.text
        case .uri(let uri): uri.text
        case .memory: ":memory:"
        case .temporary: ""
        }
    }
}

extension DatabaseLocation {
    /// Throws for a URI that contains a key, which would stay in memory and in every text that names the file.
    func refuseKey() throws {
        guard sqlcipherkit_check_location(name) == SQLITE_AUTH else { return }
        throw DatabaseError(
            code: .misuse, reason: .invalidKey,
            message: "a URI cannot hold a key: give it to Connection(_:key:) or attach(_:as:key:)")
    }
}

extension DatabaseLocation: CustomStringConvertible, CustomReflectable {
    /// The name passed to SQLite, without the parameters of a URI that could hold a key.
    public var description: String { KeyRedaction.cleanURI(name) }

    /// Shows only the description, without a key.
    public var customMirror: Mirror { Mirror(self, children: ["name": description]) }
}

import ArgumentParser
import Foundation
import SQLCipherKit

/// The argument that names a database.
struct DatabaseArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The database file.", valueName: "database"), completion: .file())
    var path: String

    @Flag(
        name: .customLong(String(ResourceLimits.option.dropFirst(2))),
        help: """
            Read, check and recover files without the limits of time and memory that follow from their size. Your own statements \
            have no limits.
            """)
    var hasNoLimits = false
}

/// A command that works on a database file. Its options stand in the command, and not in a group of groups: in a debug build, the
/// parser checks the groups of a group four times for each check of the group.
protocol FileCommand: ParsableCommand {
    var database: DatabaseArgument { get }
    var keyOptions: KeyOptions { get }
}

extension FileCommand {
    var file: FileOptions { FileOptions(path: database.path, key: keyOptions) }
}

/// A command that only reads, and writes no other file: it may search for the settings of a file. What such a file holds could
/// have been changed without the key.
protocol ReadingCommand: FileCommand {
    var settings: SettingsSearch { get }
}

extension ReadingCommand {
    var file: FileOptions { FileOptions(path: database.path, key: keyOptions, searchesSettings: settings.isWanted) }
}

/// The option to search for settings.
struct SettingsSearch: ParsableArguments {
    @Flag(
        name: .customLong("search-settings"),
        help: """
            Try all settings that SQLCipher can write with the key, also weaker settings, and say which fit and what they lack. \
            The file is only read.
            """)
    var isWanted = false
}

/// A database file and its key.
struct FileOptions {
    let path: String
    let key: KeyOptions
    var searchesSettings = false

    /// Throws if there is no database file: commands check that first, so that no key is typed for nothing.
    static func requireDatabase(_ path: String) throws {
        var info = stat()
        guard stat(path, &info) == 0 else {
            let advice = errno == ENOENT ? "; sqlcipherkit create creates one" : ""
            throw Failure("the database \(path) cannot be opened: \(systemMessage(errno))\(advice)")
        }
        guard info.st_mode & S_IFMT != S_IFDIR else { throw Failure("the database \(path) cannot be opened: it is a folder") }
        // SQLite would treat an empty file as a new database, but the command expects an existing one.
        guard info.st_mode & S_IFMT != S_IFREG || info.st_size > 0 else {
            throw Failure("\(path) is empty: there is no database in it")
        }
    }

    static func requireNothing(at path: String, advice: String = "give another name") throws {
        if exists(path) { throw Failure("\(path) already exists, and is not overwritten: \(advice)") }
    }

    /// Returns whether anything has that name, even a link to nothing.
    static func exists(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0
    }

    /// Returns whether there is a file without content.
    static func isEmpty(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && info.st_size == 0
    }

    /// Gets the key of the existing file; nil for a plaintext one.
    func unlock(_ access: DatabaseConfiguration.Access = .readWriteCreate) throws -> DatabaseKey? {
        try Self.requireDatabase(path)
        var configuration = DatabaseConfiguration()
        configuration.access = access
        return try key.access(to: path, configuration)?.key
    }

    /// Opens the existing file.
    func open(_ access: DatabaseConfiguration.Access) throws -> Connection { try openWithKey(access).db }

    /// Opens the existing file, and returns its key as well.
    func openWithKey(_ access: DatabaseConfiguration.Access) throws -> (db: Connection, key: DatabaseKey?) {
        try Self.requireDatabase(path)
        var configuration = DatabaseConfiguration()
        configuration.access = access
        configuration.safeguards = .ofTheTool(for: path)
        return try key.reference.retrying {
            var unlocked = try key.access(to: path, configuration)
            if searchesSettings, let found = try unlocked?.searched(path, access, isRaw: key.isRaw) { unlocked = found }
            let db = try open(unlocked, configuration)
            try Interruption.stop(db)
            return (db, unlocked?.key)
        }
    }
}

extension FileOptions {
    fileprivate func open(_ unlocked: UnlockedKey?, _ configuration: DatabaseConfiguration) throws -> Connection {
        if let slots = unlocked?.slots { return try Connection(.file(path), key: .slots(slots), configuration: configuration) }
        let key = unlocked?.key ?? .plaintext
        return try key.opening(path) { try Connection(.file(path), key: key, configuration: configuration) }
    }
}

/// Databases to attach to that of a command.
struct AttachOptions: ParsableArguments {
    @Option(
        name: .customLong("attach"),
        help: ArgumentHelp("Attach another database under a name for SQL; may be given several times.", valueName: "name=path"))
    var databases: [String] = []

    @Option(
        name: .customLong("attach-key"),
        help: ArgumentHelp(
            """
            Where the key of an attached database comes from: \(KeyReference.grammar); same for the key of the main database, \
            none for plaintext, which nothing else takes. By default you are asked for it.
            """, valueName: "name=source"))
    var keys: [String] = []

    func validate() throws { _ = try list() }

    /// Opens the existing file, attaches the others, and returns the main database's key as well.
    func openWithKey(
        _ file: FileOptions, _ access: DatabaseConfiguration.Access
    ) throws -> (db: Connection, key: DatabaseKey?) {
        let (db, key) = try file.openWithKey(access)
        for attachment in try list() { try attachment.attach(to: db, key) }
        return (db, key)
    }

    private func list() throws -> [Attachment] {
        var sources: [String: String] = [:]
        for text in keys {
            guard let (name, source) = text.splitAtEquals else {
                throw ValidationError("--attach-key needs NAME=SOURCE, not the key itself")
            }
            guard sources.updateValue(source, forKey: name) == nil else {
                throw ValidationError("--attach-key is given twice for \(name)")
            }
        }
        let attachments = try databases.map { text in
            guard let (name, path) = text.splitAtEquals else { throw ValidationError("--attach needs NAME=PATH") }
            return try Attachment(name: name, path: path, source: sources.removeValue(forKey: name) ?? "prompt")
        }
        if let name = sources.keys.first { throw ValidationError("--attach-key names \(name), which --attach does not") }
        return attachments
    }
}

/// A database to attach, and where its key is.
struct Attachment {
    private enum Key { case same, none, reference(KeyReference) }

    let name: String
    let path: String
    private let key: Key

    init(name: String, path: String, source: String) throws {
        self.name = name
        self.path = path
        key =
            switch source {
            case "same": .same
            case "none": .none
            default: .reference(try KeyReference.parse(source, option: "the key of \(name)"))
            }
    }

    func attach(to db: Connection, _ mainKey: DatabaseKey?) throws {
        // For a mistyped name, SQLite would create a new file.
        try FileOptions.requireDatabase(path)
        let safeguards = DatabaseConfiguration.Safeguards.ofTheTool(for: path)
        guard let key = try encryption(mainKey) else {
            try db.attach(.file(path), as: name, key: nil, safeguards: safeguards)
            return
        }
        _ = try key.opening(path) { try db.attach(.file(path), as: name, key: key, safeguards: safeguards) }
    }

    private func encryption(_ mainKey: DatabaseKey?) throws -> DatabaseKey? {
        switch key {
        case .same: mainKey
        case .none: .plaintext
        case .reference(let reference) where reference.isUsual && UnlockedKey.isPlaintext(path):
            throw Failure(
                "\(path) is not encrypted, and could be another file in the place of an encrypted one: "
                    + "the source none, as in --attach-key \(name)=none, takes it", status: .key)
        case .reference(let reference): try UnlockedKey(reference, to: path).key
        }
    }

    /// Lets a shell work on the database in place of its own.
    func open(_ shell: Shell) throws {
        try FileOptions.requireDatabase(path)
        var configuration = DatabaseConfiguration()
        configuration.access = try shell.db.main.isReadOnly ? .readOnly : .readWrite
        configuration.safeguards = .ofTheTool(for: path)
        let key = try encryption(shell.key) ?? .plaintext
        try key.opening(path) {
            let db = try Connection(.file(path), key: key, configuration: configuration)
            try Interruption.stop(db)
            try shell.open(db, path, key.isPlaintext ? nil : key)
        }
    }
}

extension DatabaseConfiguration.Safeguards {
    /// The tool registers no functions that a schema could call, and cannot know where a file comes from. The script of a diff
    /// writes to tables that a defensive connection protects.
    static func ofTheTool(for path: String) -> Self {
        var safeguards = Self()
        (safeguards.checksStructure, safeguards.isDefensive) = (false, false)
        (safeguards.allowsViews, safeguards.allowsTriggers) = (true, true)
        (safeguards.limits, safeguards.resourceLimits) = ([:], .ofTheTool(for: path))
        return safeguards
    }
}

extension ResourceLimits {
    /// The option that lifts the tool's limits, also for files that are attached or opened later.
    static let option = "--no-limits"

    /// Limits that no file of its size exceeds, unless it was made to exceed them: a minute and a second for each megabyte, 256 MB
    /// more than its size, and 10 million rows more than it has bytes.
    static func ofTheTool(for path: String) -> Self {
        if Invocation.current.arguments.contains(option) { return .none }
        var info = stat(), limits = ResourceLimits()
        let size = ["", "-wal"].reduce(0) { stat(path + $1, &info) == 0 ? $0 + Int(info.st_size) : $0 }
        (limits.time, limits.memory, limits.rows) = (.seconds(60 + size >> 20), 256 << 20 + size, 10_000_000 + size)
        return limits
    }
}

extension String {
    /// The texts before and after the first equals sign; nil if either is empty.
    var splitAtEquals: (String, String)? {
        let parts = split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty ? (parts[0], parts[1]) : nil
    }
}

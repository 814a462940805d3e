import Foundation
import KitSupport
import SQLCipherKit

/// All that a call which throws must leave as it was, in lines that can be compared.
struct State {
    /// The names of the files, and of the open objects.
    let files: [String], descriptors: [String], temporary: [String], process: [String]
    let connection: [String]
    let isInTransaction: Bool
    /// The rows as the connection sees them, where they are in no file yet.
    let contents: [String]
    let bytes: [String: Data]
    private let subject: Subject

    init(_ subject: Subject) throws {
        self.subject = subject
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: subject.folder)) ?? []).sorted()
        files = names.filter { !$0.hasSuffix("-journal") && !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") && $0 != "temporary" }
        temporary = (try? FileManager.default.contentsOfDirectory(atPath: subject.folder + "/temporary")) ?? []
        bytes = Dictionary(uniqueKeysWithValues: names.filter { $0 != "temporary" && !$0.hasSuffix("-shm") }.map { name in
            (name, FileManager.default.contents(atPath: subject.folder + "/" + name) ?? Data())
        })
        descriptors = Self.openFiles()
        process = [FileManager.default.currentDirectoryPath] + ProcessInfo.processInfo.environment.keys.sorted()
        isInTransaction = subject.openConnection?.isInTransaction ?? false
        guard let db = subject.openConnection, db.isOpen else { (connection, contents) = ([], []); return }
        connection = try Self.settings(db)
        contents = !subject.kind.hasFile || db.isInTransaction ? try Self.contents(db) : []
    }

    /// The differences from an earlier state.
    func differences(from before: State) -> [String] {
        var found: [String] = []
        func compare(_ what: String, _ old: [String], _ new: [String]) {
            guard old != new else { return }
            let change = new.difference(from: old)
            let lines = change.map { step in
                switch step {
                case .remove(_, let line, _): "-\(line)"
                case .insert(_, let line, _): "+\(line)"
                }
            }
            found.append("\(what): \(lines.prefix(6))")
        }
        compare("files", before.files, files)
        // A transaction that goes on has its journal open as soon as it has written. A pool opens readers and closes them as it
        // needs them.
        let opened = descriptors.filter { !isInTransaction || !$0.hasSuffix("-journal") || before.descriptors.contains($0) }
        if subject.openShared == nil { compare("descriptors", before.descriptors, opened) }
        compare("temporary files", before.temporary, temporary)
        compare("process", before.process, process)
        // A call in a transaction that was rolled back with it says so.
        if !before.connection.isEmpty, !connection.isEmpty { compare("connection", before.connection, connection) }
        if !before.contents.isEmpty, !contents.isEmpty { compare("contents", before.contents, contents) }
        // The writes of an open transaction are in the contents.
        if !contents.isEmpty, subject.kind.hasFile { return found }
        for name in files where before.files.contains(name) {
            guard name.hasSuffix(".db") else {
                if bytes[name] != before.bytes[name] { found.append("\(name): other bytes") }
                continue
            }
            // The bytes that a rolled back transaction wrote beside the rows, such as free pages, is no change.
            if ["", "-wal", "-journal"].allSatisfy({ bytes[name + $0] == before.bytes[name + $0] }) { continue }
            compare(name, before.stored(name), stored(name))
        }
        return found
    }

    /// The contents of a file as the next process would read them.
    func stored(_ name: String) -> [String] {
        let folder = subject.folder + "/temporary/stored"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (file, bytes) in bytes where file.hasPrefix(name) { try bytes.write(to: URL(fileURLWithPath: folder + "/" + file)) }
            let db = try Connection(.file(folder + "/" + name), key: name == "a.db" ? subject.kind.key : nil)
            defer { db.close() }
            return try Contents.of(db)
        } catch { return ["unreadable: \(error)"] }
    }

    static func contents(_ db: Connection) throws -> [String] {
        try db.schemas().filter { $0.name != "temp" }.flatMap { schema in
            try Contents.of(db, schema: schema.name).map { "\(schema.name) \($0)" }
        }
    }

    static func openFiles() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { !$0.hasPrefix("/proc/") && !$0.hasPrefix("/dev/urandom") }.sorted()
    }

    private static let pragmas = [
        "application_id", "auto_vacuum", "automatic_index", "busy_timeout", "cache_size", "cache_spill", "cell_size_check",
        "checkpoint_fullfsync", "defer_foreign_keys", "foreign_keys", "fullfsync", "ignore_check_constraints", "journal_mode",
        "journal_size_limit", "legacy_alter_table", "locking_mode", "max_page_count", "query_only", "read_uncommitted",
        "recursive_triggers", "reverse_unordered_selects", "secure_delete", "synchronous", "temp_store", "trusted_schema",
        "user_version", "wal_autocheckpoint", "writable_schema", "analysis_limit", "soft_heap_limit", "hard_heap_limit",
    ]

    /// The settings of a connection, all that SQLite and this package tell of them.
    static func settings(_ db: Connection) throws -> [String] {
        var lines = ["in a transaction: \(db.isInTransaction)", "statements: \(db.settings.statementCache.capacity)"]
        for limit in Connection.Settings.Limit.allCases { lines.append("limit \(limit) \(try db.settings.limit(limit))") }
        for option in ConnectionOption.allCases { lines.append("option \(option) \(try db.settings.isEnabled(option))") }
        for schema in try db.schemas() {
            // The temporary database is opened by the first call that needs it.
            guard schema.name != "temp" else { continue }
            lines.append("schema \(schema.name) \(try schema.path ?? "")")
            for pragma in pragmas {
                lines.append("\(schema.name) \(pragma) \(try db.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(schema.name.quotedSQLIdentifier).\(pragma)")) ?? .null)")
            }
        }
        return lines
    }
}

import Foundation
import KillPoints
import SQLCipherKit

/// An action that is killed or cut off from its power, the state that it starts from, and the conditions that must hold at the next
/// opening.
package struct SweepScenario {
    /// The text that each row begins with.
    package static let marker = "MARKER"

    package let prepare: (_ folder: String) throws -> Void
    package let act: (_ folder: String) throws -> Void
    /// Opens the remaining files, as the next process would. Throws unless they are one whole database, old or new, and no other
    /// file.
    package let check: (_ folder: String) throws -> Void
    /// True if a plaintext database is there on purpose.
    package var hasPlaintext = false
    /// True if the action or the check compares logs byte by byte, and not only by their commits.
    package var comparesLogs = false
    /// The promise about calls that have returned before a power cut.
    package var promise = Promise.kept
    /// Checks, after an error, for files that only a kill may leave.
    package var checkError: (_ folder: String) throws -> Void = { _ in }
    /// Checks that what had returned is there, as the number of calls of `returned` before the end tells. Runs before `check`.
    package var checkReturned: (_ folder: String, _ calls: Int) throws -> Void = { _, _ in }
    /// Runs once in a folder, before the processes for the other steps are forked, and prepares what takes each of them longest.
    package var getReady: (_ folder: String) throws -> Void = { _ in }

    /// The part of the calls that have returned which a power cut leaves. A kill leaves all of them, at each durability.
    package enum Promise: String {
        /// All of them.
        case kept
        /// A whole former state.
        case whole
        /// Nothing certain.
        case nothing
    }

    /// The configuration of the connections that act.
    package struct Setting: Sendable {
        package let mode: String, durability: DatabaseConfiguration.Durability

        package init(mode: String, durability: DatabaseConfiguration.Durability) {
            (self.mode, self.durability) = (mode, durability)
        }

        var configuration: DatabaseConfiguration {
            var configuration = DatabaseConfiguration()
            configuration.durability = durability
            configuration.journalMode = DatabaseConfiguration.JournalMode(rawValue: mode)
            return configuration
        }

        /// The same with the default durability.
        var flushed: Setting { Setting(mode: mode, durability: .everyCommit) }
    }

    package static func named(_ action: String, _ setting: Setting) throws -> SweepScenario {
        let scenarios = [
            rewriting, encryptingOnce, copying, salvaging, replicated, exchanged, onSeveralMachines, slotted, committing, importing,
        ]
        for scenario in scenarios {
            guard var scenario = try scenario(action, setting) else { continue }
            if let promise = promise(of: action, setting) { scenario.promise = promise }
            return scenario
        }
        throw DatabaseError(message: "no action \(action)")
    }

    /// The promise of an action; nil if its calls have no durability to set, or wait with it as by default.
    package static func promise(of action: String, _ setting: Setting) -> Promise? {
        switch setting.durability {
        case .everyCommit: .kept
        case _ where isWithoutDurability(action): nil
        // A commit with a rollback journal waits as by default (`DurabilityTests`).
        case .wholeFile where setting.mode != "wal": nil
        case .wholeFile: isTransaction(action) ? .whole : .kept
        case .off: isAlwaysFlushed(action) ? .kept : .nothing
        }
    }

    private static func isWithoutDurability(_ action: String) -> Bool {
        action.hasPrefix("import") || action.hasPrefix("restore-pages")
    }

    /// True for transactions of one file or several, which make no statement elsewhere.
    private static func isTransaction(_ action: String) -> Bool {
        ["commits", "create", "attached", "copies", "migrations", "restore", "restore-by-rows", "vacuum"].contains(action)
    }

    /// True for calls that flush what they write, at each durability.
    private static func isAlwaysFlushed(_ action: String) -> Bool {
        ["key-in-place", "key-by-file", "convert", "encrypt", "encrypt-once", "decrypt", "erase", "salvage"].contains(action)
            || action.hasPrefix("backup") || action == "export"
    }

    package struct Wrong: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// Few rounds of key derivation.
    package static let quick: CipherConfiguration = {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }()

    static func one() throws -> DatabaseKey { try .passphrase("one", cipher: quick) }
    static func two() throws -> DatabaseKey { try .passphrase("two", cipher: quick) }

    /// Notes that a call has returned, and its effect must last.
    static func returned() { killpoints_mark() }

    static func make(_ path: String, _ key: DatabaseKey, _ mode: String, rows: Int) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode == "wal" ? .wal : .delete
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(x)")
            for number in 0..<rows {
                try db.execute("INSERT INTO t VALUES (\("\(marker) \(number) " + String(repeating: "x", count: 900)))")
            }
        }
    }

    /// The rows of an intact database.
    static func rows(_ path: String, _ key: DatabaseKey) throws -> Int {
        try intact(path, key) { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x LIKE \(marker + "%")") ?? -1 }
    }

    /// Reads an existing database, and throws unless it is intact.
    static func intact<R>(_ path: String, _ key: DatabaseKey, _ read: (Connection) throws -> R) throws -> R {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        let db = try Connection(.file(path), key: key, configuration: configuration)
        defer { db.close() }
        var problems = try db.main.verify().problems
        if !problems.isEmpty {
            // No journal restores a free page, and only a check of the whole file reads one.
            let first = problems
            do { try db.main.vacuum() } catch {
                throw Wrong(description: "\(path) is damaged: \(first), and VACUUM fails: \(error)")
            }
            problems = try db.main.verify().problems
        }
        guard problems.isEmpty else { throw Wrong(description: "\(path) is damaged: \(problems)") }
        // SQLite keeps a journal to which nothing was written until the next commit.
        try db.execute("PRAGMA user_version = 1")
        return try read(db)
    }

    /// Throws unless exactly one of the keys opens the database, which has so many rows.
    static func expect(_ path: String, _ keys: [DatabaseKey], rows expected: Int) throws {
        var opened = 0
        for key in keys {
            do {
                let count = try rows(path, key)
                guard count == expected else { throw Wrong(description: "\(path) has \(count) rows") }
                opened += 1
            } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase || error.reason == .notEncrypted {}
        }
        guard opened == 1 else { throw Wrong(description: "\(opened) of the keys open \(path)") }
    }

    static func expect(_ path: String, _ keys: [DatabaseKey], mode: String) throws {
        for key in keys {
            guard let db = try? Connection(.file(path), key: key) else { continue }
            let found = try db.fetchOne(String.self, "PRAGMA journal_mode")
            if found != mode { throw Wrong(description: "the journal mode is \(found ?? "")") }
        }
    }

    static func expect(_ folder: String, files: [String]) throws {
        // With a write-ahead log, SQLite leaves the empty journal of an interrupted change of journal mode.
        let names = names(in: folder).filter { name in
            !name.hasSuffix("-journal") || (FileManager.default.contents(atPath: folder + "/" + name)?.first ?? 0) != 0
        }
        guard names == files else { throw Wrong(description: "there are \(names)") }
    }

    /// Keeps what is beside the folder under names that begin so, as each check begins with it.
    static func keep(besides folder: String, _ prefixes: [String]) throws {
        let files = FileManager.default, kept = folder + "/../kept"
        try? files.removeItem(atPath: kept)
        try files.createDirectory(atPath: kept, withIntermediateDirectories: true)
        for name in names(in: folder + "/..") where prefixes.contains(where: { name.hasPrefix($0) }) {
            try files.copyItem(atPath: folder + "/../" + name, toPath: kept + "/" + name)
        }
    }

    /// Puts back what was kept, if anything was. A file stays the same file.
    static func putBack(besides folder: String) throws {
        let files = FileManager.default, kept = folder + "/../kept"
        for name in names(in: kept) {
            let path = folder + "/../" + name
            guard let content = files.contents(atPath: kept + "/" + name) else {
                try? files.removeItem(atPath: path)
                try files.copyItem(atPath: kept + "/" + name, toPath: path)
                continue
            }
            try content.write(to: URL(fileURLWithPath: path))
        }
    }

    package static func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// A file that is plaintext or readable by others; nil if there is none.
    package func exposure(in folder: String) -> String? {
        for name in Self.names(in: folder) {
            let path = folder + "/" + name
            if let mode = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int, mode != 0o600 {
                return "\(name) has permissions \(String(mode, radix: 8))"
            }
            guard !hasPlaintext, let bytes = FileManager.default.contents(atPath: path) else { continue }
            if bytes.range(of: Data(Self.marker.utf8)) != nil { return "\(name) is plaintext" }
        }
        return nil
    }
}

extension KeySlots.Derivation {
    /// The fewest rounds of key derivation that a slot may have.
    package static var quick: KeySlots.Derivation { .pbkdf2(iterations: 1000) }
}

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
    /// False with a durability that promises something for kills alone.
    package var isSafeFromPowerCuts = true
    /// Checks, after an error, for files that only a kill may leave.
    package var checkError: (_ folder: String) throws -> Void = { _ in }
    /// Checks that what had returned is there, as the number of calls of `returned` before the end tells. Runs before `check`.
    package var checkReturned: (_ folder: String, _ calls: Int) throws -> Void = { _, _ in }
    /// Runs once in a folder, before the processes for the other steps are forked, and prepares what takes each of them longest.
    package var getReady: (_ folder: String) throws -> Void = { _ in }

    package static func named(_ action: String, mode: String) throws -> SweepScenario {
        let scenarios = [
            rewriting, encryptingOnce, copying, salvaging, replicated, exchanged, onSeveralMachines, slotted, committing, importing,
        ]
        for scenario in scenarios { if let scenario = try scenario(action, mode) { return scenario } }
        throw DatabaseError(message: "no action \(action)")
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

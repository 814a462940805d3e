import Foundation
import KillPoints
import SQLCipherKit

/// An action that is killed, the state that it starts from, and what must hold at the next opening.
struct SweepScenario {
    /// The text that each row begins with.
    static let marker = "MARKER"

    let prepare: (_ folder: String) throws -> Void
    let act: (_ folder: String) throws -> Void
    /// Opens what is left, as the next process would. Throws unless that is one whole database, old or new, and no other file.
    let check: (_ folder: String) throws -> Void
    /// Whether a plaintext database is there on purpose.
    var hasPlaintext = false
    /// Checks, after an error, for files that only a kill may leave.
    var checkError: (_ folder: String) throws -> Void = { _ in }

    static func named(_ action: String, mode: String) throws -> SweepScenario {
        let scenarios = [rewriting, copying, slotted]
        for scenario in scenarios { if let scenario = try scenario(action, mode) { return scenario } }
        throw DatabaseError(message: "no action \(action)")
    }

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static func one() throws -> Encryption { try .passphrase("one", cipher: FaultDriver.quick) }
    static func two() throws -> Encryption { try .passphrase("two", cipher: FaultDriver.quick) }

    static func make(_ path: String, _ key: Encryption, _ mode: String, rows: Int) throws {
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
    static func rows(_ path: String, _ key: Encryption) throws -> Int {
        let db = try Connection(.file(path), key: key)
        defer { db.close() }
        let problems = try db.main.verify().problems
        guard problems.isEmpty else { throw Wrong(description: "\(path) is damaged: \(problems)") }
        // SQLite keeps a journal to which nothing was written until the next commit.
        try db.execute("PRAGMA user_version = 1")
        return try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x LIKE \(marker + "%")") ?? -1
    }

    /// Throws unless exactly one of the keys opens the database, which has so many rows.
    static func expect(_ path: String, _ keys: [Encryption], rows expected: Int) throws {
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

    static func expect(_ path: String, _ keys: [Encryption], mode: String) throws {
        for key in keys {
            guard let db = try? Connection(.file(path), key: key) else { continue }
            let found = try db.fetchOne(String.self, "PRAGMA journal_mode")
            if found != mode { throw Wrong(description: "the journal mode is \(found ?? "")") }
        }
    }

    static func expect(_ folder: String, files: [String]) throws {
        // With a write-ahead log, SQLite leaves the empty journal of an interrupted change of journal mode.
        let names = FaultDriver.names(in: folder).filter { name in
            !name.hasSuffix("-journal") || (FileManager.default.contents(atPath: folder + "/" + name)?.first ?? 0) != 0
        }
        guard names == files else { throw Wrong(description: "there are \(names)") }
    }
}

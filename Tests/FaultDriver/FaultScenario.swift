import Faults
import Foundation
import SQLCipherKit

/// An operation into which faults are injected, and the states that its files may have afterwards.
struct FaultScenario: Sendable {
    /// A database, how it opens, the rows of its table, and whether it has a write-ahead log.
    struct File: Equatable, Sendable {
        var name: String, key: String, rows: Int, hasLog: Bool

        init(_ name: String, _ key: String, _ rows: Int, hasLog: Bool = false) {
            (self.name, self.key, self.rows, self.hasLog) = (name, key, rows, hasLog)
        }
    }

    var name: String
    /// The files before the operation and after a failure; and the files after a success.
    var before: [File], after: [File]
    /// Further files that may exist.
    var beside: Set<String> = []
    /// True if a failure may come after the change, because the operation consists of several.
    var isStepwise = false
    /// Creates anything that the folder needs besides the files.
    var prepare: @Sendable (String) throws -> Void = { _ in }
    var run: @Sendable (String) throws -> Void
    /// Checks further conditions afterwards; it may change the files.
    var check: @Sendable (String) throws -> Void = { _ in }

    /// A false statement or a wrong act of a call. No fault excuses that.
    struct Untrue: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    static func key(_ name: String) throws -> DatabaseKey {
        var cipher = FaultDriver.quick
        if name == "old version" {
            cipher = .sqlCipher3
        } else if name == "wide" {
            cipher.pageSize = 8192
        }
        switch name {
        case "-": return .plaintext
        case "slots": return .slots(secret: try .passphrase("one"), cipher: cipher)
        case "raw": return try .raw([UInt8](repeating: 1, count: 32), salt: [UInt8](repeating: 2, count: 16), cipher: cipher)
        case "old version", "migrated": return try .raw([UInt8](repeating: 3, count: 32), cipher: name == "migrated" ? nil : cipher)
        default: return try .passphrase(name, cipher: cipher)
        }
    }

    static func open(_ path: String, _ key: String = "one") throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.busyTimeout = .seconds(5)
        return try Connection(.file(path), key: Self.key(key), configuration: configuration)
    }

    /// Runs an operation with an open connection, which must still work after the fault if it is not closed.
    static func using(_ path: String, _ body: (Connection) throws -> Void) throws {
        let db = try open(path)
        do { try body(db) } catch {
            Fault.none()
            if db.isOpen {
                do {
                    // If memory stays exhausted, not even a ROLLBACK can be compiled.
                    if Fault.endsAllMemory, db.isInTransaction { try db.execute("ROLLBACK") }
                    // SQLite opens a file only for reading if it cannot be opened for writing.
                    if try !db.main.isReadOnly { try db.execute("UPDATE t SET x = x WHERE id = 1") }
                    guard try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x <> ''") ?? 0 > 0, !db.isInTransaction else {
                        throw DatabaseError(message: "other rows")
                    }
                } catch let second { throw Unusable(first: error, second: second) }
            }
            throw error
        }
    }

    struct Unusable: Error, CustomStringConvertible {
        let first: any Error, second: any Error
        var description: String { "after \(first) the connection is unusable: \(second)" }
    }
}

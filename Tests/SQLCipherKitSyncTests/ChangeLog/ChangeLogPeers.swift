import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Copies of one database, and the calls of tests for them.
enum ChangeLogPeers {
    static let schema = SQLScript("""
        CREATE TABLE note(id TEXT PRIMARY KEY COLLATE NOCASE, title, body);
        CREATE TABLE pair(a INTEGER, b TEXT, c, PRIMARY KEY (a, b));
        """)

    static func peer(_ name: String, _ location: DatabaseLocation = .memory) throws -> ChangeLog {
        let db = try Connection(location, key: .passphrase("x").quick)
        if try !db.main.hasTable("note") { try db.execute(schema) }
        return try ChangeLog(db, tables: ["note", "pair"], localPeer: name)
    }

    static func exchange(_ a: ChangeLog, _ b: ChangeLog) throws {
        for _ in 0..<2 {
            try b.receive(try a.changes(since: try b.position))
            try a.receive(try b.changes(since: try a.position))
        }
    }

    static func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] {
        try log.connection.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table) ORDER BY 1, 2")).map(\.values)
    }

    static func error(_ body: () throws -> Void) -> DatabaseError? { #expect(throws: DatabaseError.self, performing: body) }
}

extension SharedChangeLog {
    /// Synchronizes, and chooses how a copy goes on if it asks.
    @discardableResult
    func synchronize(with store: ChangeStore, restored choice: ChangeLog.RestoreChoice) async throws -> ChangeStore.Outcome {
        for _ in 0..<20 {
            do { return try await synchronize(with: store) } catch let error as DatabaseError where error.reason == .copyRestored {
                try await withLog { log in try log.resolveRestore(choice) }
            }
        }
        return try await synchronize(with: store)
    }
}

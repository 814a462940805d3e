import Foundation
import SQLCipherKit
import SQLCipherKitSync
import SQLCipherKitVectors
import Testing
import TestSupport

/// The package's own tables are part of a file, and their numbers may be any: each call returns, or throws a DatabaseError.
@Suite struct HostileNumberTests {
    static let numbers: [Int64] = [.min, .min + 1, -1 << 40, -1, 0, 1, 1 << 22, 1 << 40, (1 << 48) + 1, 1 << 62, .max - 1, .max]

    private static func log(_ db: Connection, _ peer: String) throws -> ChangeLog {
        try db.execute("CREATE TABLE IF NOT EXISTS note(id TEXT PRIMARY KEY, title)")
        return try ChangeLog(db, tables: ["note"], localPeer: peer)
    }

    /// A file in which every one of the package's own tables has rows, and a message for its log.
    private static func make(_ path: String) throws -> ChangeLog.Message {
        let db = try Connection(.file(path)), log = try log(db, "laptop")
        try log.add(peer: "phone")
        let phone = try self.log(try Connection(.memory), "phone")
        for number in 1...3 {
            try log.write { db in try db.execute("INSERT INTO note VALUES (\("n\(number)"), 'mine')") }
            try phone.write { db in try db.execute("INSERT INTO note VALUES (\("p\(number)"), 'theirs')") }
            if number == 2 { try log.receive(try phone.changes()) }
        }
        try log.write { db in try db.execute("DELETE FROM note WHERE id = 'n1'") }
        let store = try KeyValueStore("settings", in: db)
        try store.set("size", to: 5, expires: Date(timeIntervalSinceNow: 3600))
        var migrator = Migrator()
        migrator.add("first") { _ in }
        try migrator.migrate(db)
        try db.execute("CREATE TABLE text(id INTEGER PRIMARY KEY, body)")
        try db.create(VectorTable("v", dimensions: 4, of: .float32, metric: .cosine, keepsBits: true))
        for id in 1...5 { try db.vectors("v").set([1, 2, Float(id), 4], for: Int64(id)) }
        try db.vectors("v").remove([2])
        return try phone.changes()
    }

    /// Makes every call that reads the tables.
    private static func callAll(_ db: Connection, _ message: ChangeLog.Message, _ comment: String) {
        func call(_ body: () throws -> Void) {
            do { try body() } catch is DatabaseError {} catch { Issue.record("\(comment): \(error)") }
        }
        call {
            let log = try log(db, "laptop")
            call { _ = try log.position }
            call { _ = try log.position(of: "phone") }
            call { _ = try log.peers }
            call { _ = try log.changes() }
            call { _ = try log.changes(since: log.position) }
            call { _ = try log.snapshot() }
            call { _ = try log.write { db in try db.execute("UPDATE note SET title = 'changed'") } }
            call { _ = try log.receive(message) }
            call { _ = try log.prune(gracePeriod: .zero) }
            call { _ = try log.repairClock() }
            call { try log.add(peer: "tablet") }
            call { try log.remove(peer: "phone") }
            call { _ = try log.rename(to: "desk") }
        }
        call {
            let store = try KeyValueStore("settings", in: db)
            call { _ = try store.get("size", as: Int.self) }
            call { _ = try store.all(as: Int.self) }
            call { _ = try store.count() }
            call { try store.forEach { entry in _ = entry.key } }
            call { try store.set("size", to: 6) }
            call { _ = try store.purgeExpired() }
        }
        call {
            var migrator = Migrator()
            migrator.add("first") { _ in }
            migrator.add("second") { _ in }
            try migrator.migrate(db)
        }
        call {
            let index = try db.vectors("v")
            for coarse in [nil, .bits()] as [VectorSearch.Coarse?] {
                var search = VectorSearch([1, 2, 3, 4], limit: 3)
                search.coarse = coarse
                call { _ = try index.search(search) }
            }
            call { _ = try index.count }
            call { _ = try index.vector(for: 3) }
            call { _ = try index.passesIntegrityCheck() }
            call { try index.set([4, 3, 2, 1], for: 9) }
            call { try index.remove([3]) }
            call { _ = try index.missing() }
            call { try index.removeAll() }
        }
    }

    @Test func callsOnHostileNumbersReturnOrThrow() throws {
        let folder = try TemporaryFolder(), whole = folder.path("whole.db"), path = folder.path("hostile.db")
        let message = try Self.make(whole)
        let places: [(String, String)] = try Connection(.file(whole)).fetchAll("""
            SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
            WHERE s.type = 'table' AND s.name NOT IN ('note', 'text') AND s.name NOT LIKE 'sqlite%'
            """)
        var tried = 0
        for (table, column) in places {
            let (name, value): (SQL, SQL) = ("\(identifier: table)", "\(identifier: column)")
            for number in LongTests.sample(5, of: Self.numbers, for: "\(table).\(column)") {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                try FileManager.default.copyItem(atPath: whole, toPath: path)
                let db = try Connection(.file(path))
                try db.execute("UPDATE OR REPLACE \(name) SET \(value) = \(number) WHERE typeof(\(value)) IN ('integer', 'real')")
                if db.changes == 0 { break }
                tried += 1
                Self.callAll(db, message, "\(table).\(column) = \(number)")
            }
        }
        #expect(tried >= 50)
    }
}

import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// A log's knowledge of its rows is kept in records of many rows, which are divided and joined as rows come and go.
@Suite struct ChangeLogRowsTests {
    private static let tables = ["number", "word", "pair"]

    private static func open(_ name: String) throws -> ChangeLog {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE number(id INTEGER PRIMARY KEY, x, y);
            CREATE TABLE word(id TEXT PRIMARY KEY COLLATE NOCASE, x, y);
            CREATE TABLE pair(a, b BLOB, x, y, PRIMARY KEY (a, b)) WITHOUT ROWID;
            """))
        return try ChangeLog(db, tables: tables, localPeer: name, mergePolicies: ["pair": .row])
    }

    private static func rows(_ log: ChangeLog) throws -> Set<[SQLValue]> {
        try Set(tables.flatMap { table in
            try log.connection.fetchAll(OwnedRow.self, SQL(raw: "SELECT '\(table)', * FROM \(table)")).map(\.values)
        })
    }

    private static func key(_ random: inout SeededGenerator) -> Int64 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return [.min, .min + 1, .max, -1, 0, 1].randomElement(using: &random) ?? 0
        case 1: return (Bool.random(using: &random) ? 1 : -1) * (1 << Int64.random(in: 0...62, using: &random))
        default: return Int64.random(in: -400...400, using: &random)
        }
    }

    private static func change(_ db: Connection, _ random: inout SeededGenerator) throws {
        let key = key(&random), x = Int.random(in: 0..<9, using: &random)
        let word = Bool.random(using: &random) ? "k\(key)" : "K\(key)", bytes = Data([UInt8(truncatingIfNeeded: key), 0])
        let a: SQLValue = key % 3 == 0 ? .text(word) : key % 3 == 1 ? .real(Double(key / 2)) : .integer(key / 2)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: try db.execute("INSERT OR REPLACE INTO number VALUES (\(key), \(x), NULL)")
        case 2: try db.execute("INSERT OR REPLACE INTO word VALUES (\(word), \(x), NULL)")
        case 3: try db.execute("INSERT OR REPLACE INTO pair VALUES (\(a), \(bytes), \(x), NULL)")
        case 4: try db.execute("UPDATE number SET \(raw: x < 5 ? "x" : "y") = \(x) WHERE id = \(key)")
        case 5: try db.execute("UPDATE word SET y = \(x) WHERE id = \(word)")
        case 6: try db.execute("UPDATE pair SET y = \(x) WHERE a = \(a) AND b = \(bytes)")
        default: try db.execute("DELETE FROM \(raw: tables[x % 3]) WHERE x = \(x) AND y = \(Int.random(in: 0..<9, using: &random))")
        }
    }

    @Test func changeLogRowRecordsFindEveryRow() throws {
        for seed in LongTests.seeds(1, of: 60) {
            var random = SeededGenerator(state: seed)
            let logs = try ["a", "b"].map { try Self.open($0) }
            try logs[0].write { db in
                for (table, key) in [("number", "i"), ("word", "'K' || i")] {
                    try db.execute("""
                        WITH RECURSIVE n(i) AS (SELECT -150 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
                        INSERT INTO \(raw: table) SELECT \(raw: key), 0, NULL FROM n
                        """)
                }
            }
            for _ in 0..<(LongTests.areOn ? 20 : 8) {
                let log = logs[Int.random(in: 0...1, using: &random)], other = log === logs[0] ? logs[1] : logs[0]
                let count = [1, 2, 30, LongTests.areOn ? 400 : 60].randomElement(using: &random) ?? 1
                switch Int.random(in: 0..<8, using: &random) {
                case 0: try log.write { try $0.execute("UPDATE number SET y = \(count) WHERE id % 3 = 0") }
                case 1: try log.write { try $0.execute("DELETE FROM number WHERE id % 5 = 0") }
                case 2: try other.receive(log.changes(since: other.position))
                case 3:
                    try other.receive(log.changes(since: other.position))
                    try log.receive(other.changes(since: log.position))
                    try log.prune()
                default: try log.write { db in for _ in 0..<count { try Self.change(db, &random) } }
                }
            }
            for (from, to) in [(0, 1), (1, 0)] { try logs[to].receive(logs[from].changes(since: logs[to].position)) }
            let third = try Self.open("c")
            try third.receive(logs[0].snapshot())
            // The knowledge of each row decides whether these changes are taken.
            for table in Self.tables { try logs[1].write { try $0.execute(SQL(raw: "UPDATE \(table) SET y = 'last'")) } }
            try logs[1].write { try $0.execute("DELETE FROM word WHERE x < 5") }
            let expected = try Self.rows(logs[1])
            for log in [logs[0], third] {
                try log.receive(logs[1].changes(since: log.position))
                #expect(try Self.rows(log) == expected, "seed \(seed) \(log.localPeer)")
            }
            #expect(expected.count > 40)
            let sizes = try logs[0].connection.fetchAll(Int.self, "SELECT length(rows) FROM changelog_row")
            #expect(sizes.count > 3 && sizes.allSatisfy { $0 < 1200 }, "seed \(seed): \(sizes)")
        }
    }
}

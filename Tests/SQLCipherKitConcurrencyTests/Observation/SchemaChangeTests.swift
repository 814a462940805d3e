import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// A change of the schema is reported, whatever was rolled back before it.
@Suite struct SchemaChangeTests {
    private struct Stop: Error {}

    @Test func schemaChangeAfterRollbackIsReported() throws {
        let db = try Connection(.memory, key: .passphrase("one").quick)
        try db.execute("CREATE TABLE t(a)")
        var isReported = false
        let token = try db.addChangeHook { if $0.isSchemaChanged { isReported = true } }
        defer { token.remove() }
        #expect(throws: Stop.self) {
            try db.savepoint("s") { db -> Void in
                try db.execute("CREATE TABLE u(b)")
                throw Stop()
            }
        }
        isReported = false
        try db.execute("ALTER TABLE t ADD COLUMN c")
        #expect(isReported)
    }

    /// Random transactions of nested savepoints, each of which may change the schema and may throw. What another look at the schema
    /// finds changed must have been reported.
    @Test(arguments: 0..<40) func randomSchemaChangesAreReported(seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        let db = try Connection(.memory)
        try db.attach(.memory, as: "other", key: .plaintext)
        var isReported = false
        let token = try db.addChangeHook { if $0.isSchemaChanged { isReported = true } }
        defer { token.remove() }
        var count = 0, quiet = 0

        func step(_ db: Connection, depth: Int) throws {
            count += 1
            let schema = ["main", "other", "temp"].randomElement(using: &random) ?? "main"
            switch Int.random(in: 0..<(depth < 3 ? 7 : 4), using: &random) {
            case 0: try db.execute("CREATE TABLE \(raw: schema).t\(raw: "\(count)")(a)")
            case 1:
                try db.execute("CREATE TABLE IF NOT EXISTS \(raw: schema).t(a)")
                try db.execute("INSERT INTO \(raw: schema).t(a) VALUES (1)")
            case 2: _ = try? db.execute("ALTER TABLE \(raw: schema).t ADD COLUMN c\(raw: "\(count)")")
            case 3: _ = try db.fetchAll(Int.self, "SELECT 1 FROM sqlite_schema")
            case 4 where depth > 0: throw Stop()
            default:
                try? db.savepoint("s") { db -> Void in
                    for _ in 0..<Int.random(in: 0..<4, using: &random) { try step(db, depth: depth + 1) }
                }
            }
        }
        func schemas() throws -> [[String]] {
            try ["main", "other", "temp"].map { schema in
                try db.fetchAll(String.self, "SELECT name || ifnull(sql, '') FROM \(identifier: schema).sqlite_schema")
            }
        }
        for _ in 0..<60 {
            let before = try schemas()
            isReported = false
            try step(db, depth: 0)
            let wasReported = isReported
            if try schemas() != before { #expect(wasReported) } else if !wasReported { quiet += 1 }
        }
        // Not everything is reported as a change of the schema.
        #expect(quiet > 5)
    }
}

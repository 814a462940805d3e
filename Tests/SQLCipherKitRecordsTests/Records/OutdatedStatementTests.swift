import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private protocol Part: SQLRecord {
    var id: Int64 { get set }
    var code: Int64 { get set }
    var name: String? { get set }

    init(id: Int64, code: Int64, name: String?)
}

private struct CodedPart: Part {
    var id: Int64
    var code: Int64
    var name: String?

    static let tableName = "part"
}

private struct PositionalPart: Part, SQLPositionalRecord {
    var id: Int64
    var code: Int64
    var name: String?

    static let tableName = "part"
    static let recordColumns = SQLRecordColumns(of: Self.self, ["id": \.id, "code": \.code, "name": \.name])

    init(id: Int64, code: Int64, name: String?) { (self.id, self.code, self.name) = (id, code, name) }

    init(columns: inout SQLColumnReader) throws {
        id = try columns.next()
        code = try columns.next()
        name = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(id)
        try columns.put(code)
        try columns.put(name)
    }
}

/// Records of tables that are not described: a connection's knowledge of their schema must not outlive the schema. After a change
/// of the schema, each call has the same effect as on a new connection.
@Suite struct OutdatedStatementTests {
    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (Connection, Schema?) throws -> String
    }

    private static func calls<P: Part>(_ type: P.Type) -> [Call] {
        func call(_ name: String, _ run: @escaping @Sendable (Connection, Schema?, inout P) throws -> Any) -> Call {
            Call(testDescription: "\(type), \(name)") { db, schema in
                var part = P(id: 1, code: 2, name: "new")
                do { return "\(try run(db, schema, &part)), \(part)" } catch let error as DatabaseError { return "\(error.reason)" }
            }
        }
        return [
            call("insert") { db, schema, part in try db.insert(P(id: 9, code: 9, name: nil), in: schema) },
            call("insert or ignore") { db, schema, part in try db.insert(&part, onConflict: .ignore, in: schema) },
            call("insert or replace") { db, schema, part in try db.insert(part, onConflict: .replace, in: schema) },
            call("upsert") { db, schema, part in try db.upsert(part, in: schema) },
            call("upsert and read") { db, schema, part in try db.upsert(&part, in: schema) },
            call("save") { db, schema, part in try db.save(&part, in: schema) },
            call("update") { db, schema, part in try db.update(part, in: schema) },
            call("update and read") { db, schema, part in try db.update(&part, in: schema) },
            call("update from") { db, schema, part in try db.updateChanges(part, from: P(id: 1, code: 2, name: "old"), in: schema) },
            call("delete") { db, schema, part in try db.delete(part, in: schema) },
            call("delete by id") { db, schema, part in try db.delete(P.self, id: 1, in: schema) },
            call("refresh") { db, schema, part in try db.refresh(&part, in: schema) },
            call("fetch by id") { db, schema, part in try db.fetchOne(P.self, id: 1, in: schema).map { "\($0)" } ?? "nil" },
            call("exists") { db, schema, part in try db.exists(P.self, id: 1, in: schema) },
        ]
    }

    static let calls = calls(CodedPart.self) + calls(PositionalPart.self)

    private static let before: SQLScript = """
        CREATE TABLE part(id INTEGER PRIMARY KEY, code INTEGER, name TEXT);
        INSERT INTO part VALUES (1, 2, 'a'), (2, 1, 'b'), (3, 3, 'c');
        """
    /// The other column is the key: by the former key, the wrong row would be found.
    private static let after: SQLScript = """
        CREATE TABLE part(id INTEGER, code INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO part VALUES (1, 2, 'x'), (2, 1, 'y'), (3, 3, 'z');
        """

    private static func rows(_ db: Connection) throws -> [String] {
        let schemas = try db.fetchAll(String.self, "SELECT name FROM pragma_database_list").filter { name in
            try db.schema(name).tables().contains { $0.name == "part" }
        }
        return try schemas.flatMap { schema in
            try db.fetchAll(
                String.self, "SELECT id || ' ' || code || ifnull(name, '') FROM \(identifier: schema).part ORDER BY 1")
        }
    }

    /// Runs a call before and after a change of the schema, or after it alone.
    private func result(
        _ call: Call, isKnown: Bool, in name: String? = nil, _ db: Connection, _ change: (Connection) throws -> Void
    ) throws -> [String] {
        if isKnown {
            // Twice, so that a statement is kept. Its changes are undone.
            try db.execute("BEGIN")
            for _ in 0..<2 { _ = try call.run(db, name.map { try db.schema($0) }) }
            try db.execute("ROLLBACK")
        }
        try change(db)
        return [try call.run(db, try name.map { try db.schema($0) })] + (try Self.rows(db))
    }

    @Test(arguments: calls) func schemaChangeInvalidatesRecordStatements(_ call: Call) throws {
        func check(_ what: String, _ result: (_ isKnown: Bool) throws -> [String]) throws {
            #expect(try result(true) == result(false), "\(what)")
        }
        try check("this connection") { isKnown in
            let db = try Connection(.memory)
            try db.execute(Self.before)
            return try result(call, isKnown: isKnown, db) { db in
                try db.execute("DROP TABLE part")
                try db.execute(Self.after)
            }
        }
        try check("another connection") { isKnown in
            let folder = try TemporaryFolder()
            let db = try Connection(.file(folder.path("a.db")))
            try db.execute(Self.before)
            return try result(call, isKnown: isKnown, db) { _ in
                let other = try Connection(.file(folder.path("a.db")))
                try other.execute("DROP TABLE part")
                try other.execute(Self.after)
            }
        }
        // The version of main stays.
        try check("a temporary table") { isKnown in
            let db = try Connection(.memory)
            try db.execute(Self.before)
            return try result(call, isKnown: isKnown, db) { db in
                try db.execute("CREATE TEMP TABLE part(id INTEGER, code INTEGER PRIMARY KEY, name TEXT)")
                try db.execute("INSERT INTO temp.part VALUES (1, 2, 'x'), (2, 1, 'y'), (3, 3, 'z')")
            }
        }
        // Another file under the name of one before, with the same version.
        try check("an attached file") { isKnown in
            let folder = try TemporaryFolder()
            for (name, script) in [("a", Self.before), ("b", Self.after)] {
                try Connection(.file(folder.path(name))).execute(script)
            }
            let db = try Connection(.memory)
            try db.attach(.file(folder.path("a")), as: "more", key: .plaintext)
            return try result(call, isKnown: isKnown, in: "more", db) { db in
                try db.schema("more").detach()
                try db.attach(.file(folder.path("b")), as: "more", key: .plaintext)
            }
        }
    }

    /// The statements of all calls are in the connection's one cache.
    @Test func recordStatementsShareTheStatementCache() throws {
        let db = try Connection(.memory)
        try db.execute(Self.before)
        let calls = Self.calls
        for _ in 0..<2 { for call in calls { _ = try call.run(db, nil) } }
        #expect(db.settings.statementCache.count > 20)
        db.settings.statementCache.capacity = 3
        #expect(db.settings.statementCache.count == 3)
        for call in calls { _ = try call.run(db, nil) }
        #expect(db.settings.statementCache.count == 3)
        db.settings.statementCache.capacity = 0
        #expect(db.settings.statementCache.count == 0)
        // Without one, everything works as before, and nothing is left of it.
        for call in calls {
            let plain = try Connection(.memory), without = try Connection(.memory)
            without.settings.statementCache.capacity = 0
            for db in [plain, without] { try db.execute(Self.before) }
            #expect(try call.run(plain, nil) == call.run(without, nil) && Self.rows(plain) == Self.rows(without))
            #expect(without.settings.statementCache.count == 0)
        }
    }

    /// Records that leave out different columns in turn need a statement each, and each is compiled once.
    @Test func eachColumnSetIsCompiledOnce() throws {
        let db = try Connection(.memory)
        try db.execute(
            """
            CREATE TABLE loose(
                id INTEGER PRIMARY KEY, a INT DEFAULT 10, b INT DEFAULT 20, c INT DEFAULT 30, d INT DEFAULT 40, e INT)
            """)
        var random = SeededGenerator()
        var expected: [[Int]] = []
        func insert() throws {
            var record = Loose()
            var row = [10, 20, 30, 40]
            let properties: [WritableKeyPath<Loose, Int?>] = [\.a, \.b, \.c, \.d]
            for (place, property) in properties.enumerated() where Bool.random(using: &random) {
                record[keyPath: property] = expected.count
                row[place] = expected.count
            }
            try db.insert(record)
            expected.append(row)
        }
        for _ in 0..<200 { try insert() }
        let found: [(Int, Int, Int, Int)] = try db.fetchAll("SELECT a, b, c, d FROM loose ORDER BY id")
        #expect(found.map { [$0, $1, $2, $3] } == expected)
        // Two sets in turn compile nothing more.
        func two() throws {
            try db.insert(Loose())
            var other = Loose()
            other.a = 1
            try db.insert(other)
        }
        try two()
        let misses = db.settings.statementCache.misses
        for _ in 0..<20 { try two() }
        #expect(db.settings.statementCache.misses == misses)
    }
}

private struct Loose: SQLRecord {
    @ColumnDefault var a: Int?
    @ColumnDefault var b: Int?
    @ColumnDefault var c: Int?
    @ColumnDefault var d: Int?
    var e = 50
}

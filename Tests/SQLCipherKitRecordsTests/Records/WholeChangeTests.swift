import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// A call that threw has changed nothing, even where a trigger fails with `RAISE(FAIL)`, after which SQLite keeps what was changed
/// before.
@Suite struct WholeChangeTests {
    struct Plain: SQLRecord, Equatable {
        var id: Int64
        var a: Int
        var doc = "{}"
        static let tableName = "t"
        static let table = SQLTable(of: Plain.self) {
            $0.id.primaryKey()
            $0.a
            $0.doc
        }
    }

    struct Positional: SQLPositionalRecord {
        var id: Int64
        var a: Int
        var doc = "{}"
        static let tableName = "t"
        static let recordColumns = SQLRecordColumns(of: Positional.self, ["id": \.id, "a": \.a, "doc": \.doc])
        init(id: Int64, a: Int) { (self.id, self.a) = (id, a) }
        init(columns: inout SQLColumnReader) throws {
            id = try columns.next()
            a = try columns.next()
            doc = try columns.next()
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(a)
            try columns.put(doc)
        }
    }

    /// A public call that changes rows, by the name of its method.
    struct Call: Sendable, CustomTestStringConvertible {
        let name: String
        let run: @Sendable (Connection) throws -> Void
        var testDescription: String { name }
    }

    /// Each overload of each call, in the order of the sources. The last row that a call changes is one that a trigger refuses.
    static let calls: [Call] = [
        Call(name: "insert") { db in var record = Plain(id: 9, a: 9); try db.insert(&record) },
        Call(name: "insert") { db in var record = Plain(id: 9, a: 9); try db.insert(&record, onConflict: .replace) },
        Call(name: "insert") { db in try db.insert(Plain(id: 9, a: 9)) },
        Call(name: "insert") { db in try db.insert(Plain(id: 9, a: 9), onConflict: .abort) },
        Call(name: "insert") { db in try db.insert(Plain(id: 9, a: 9), into: "t") },
        Call(name: "insertAll") { db in var all = [Plain(id: 8, a: 8), Plain(id: 9, a: 9)]; try db.insertAll(&all) },
        Call(name: "insertAll") { db in try db.insertAll([Plain(id: 8, a: 8), Plain(id: 9, a: 9)]) },
        Call(name: "insertAll") { db in try db.insertAll(from: others(db), in: db.main) },
        Call(name: "insertAll") { db in _ = try db.insertAll(from: others(db), in: db.main, returning: Plain.self) },
        Call(name: "inserted") { db in _ = try db.inserted(Plain(id: 9, a: 9)) },
        Call(name: "upsert") { db in var record = Plain(id: 3, a: 9); try db.upsert(&record) },
        Call(name: "upsert") { db in try db.upsert(Plain(id: 3, a: 9)) },
        Call(name: "upsert") { db in var record = Plain(id: 3, a: 9); try db.upsert(&record, SQLUpsert(on: \.id)) },
        Call(name: "upsert") { db in try db.upsert(Plain(id: 3, a: 9), SQLUpsert(on: \.id)) },
        Call(name: "update") { db in try db.update(Plain(id: 3, a: 9)) },
        Call(name: "update") { db in var record = Plain(id: 3, a: 9); try db.update(&record) },
        Call(name: "updateChanges") { db in try db.updateChanges(Plain(id: 3, a: 9), from: Plain(id: 3, a: 3)) },
        Call(name: "update") { db in try db.update(Plain(id: 3, a: 9), columns: \.a) },
        Call(name: "updateAll") { db in try db.updateAll(Plain.order { $0.id }) { _, set in set(\.a, to: 9) } },
        Call(name: "updateAll") { db in _ = try db.updateAll(Plain.all, returning: Plain.self) { _, set in set(\.a, to: 9) } },
        Call(name: "updateAll") { db in _ = try db.updateAll(Plain.all, returning: { $0.a }) { _, set in set(\.a, to: 9) } },
        Call(name: "updateAll") { db in _ = try db.updateAll(Coded.all, returning: { $0.doc }) { _, set in set(\.a, to: 9) } },
        Call(name: "updateAll") { db in _ = try db.updateAll(Plain.all, returning: { ($0.a, $0.id) }) { _, set in set(\.a, to: 9) } },
        Call(name: "deleteAll") { db in try db.deleteAll(Plain.order { $0.id }) },
        Call(name: "deleteAll") { db in _ = try db.deleteAll(Plain.all, returning: Plain.self) },
        Call(name: "deleteAll") { db in _ = try db.deleteAll(Plain.all, returning: { $0.a }) },
        Call(name: "deleteAll") { db in _ = try db.deleteAll(Coded.all, returning: { $0.doc }) },
        Call(name: "deleteAll") { db in _ = try db.deleteAll(Plain.all, returning: { ($0.a, $0.id) }) },
        Call(name: "delete") { db in try db.delete(Plain(id: 3, a: 3)) },
        Call(name: "delete") { db in try db.delete(Plain.self, id: 3) },
        Call(name: "delete") { db in try db.delete(Plain.self, ids: [1, 2, 3]) },
        Call(name: "save") { db in var record = Plain(id: 3, a: 9); try db.save(&record) },
        Call(name: "insert") { db in try db.insert([Plain(id: 8, a: 8), Plain(id: 9, a: 9)]) },
        Call(name: "insert") { db in var all = [Plain(id: 8, a: 8), Plain(id: 9, a: 9)]; try db.insert(&all) },
        Call(name: "update") { db in try db.update([Plain(id: 2, a: 9), Plain(id: 3, a: 9)]) },
        Call(name: "delete") { db in try db.delete([Plain(id: 2, a: 2), Plain(id: 3, a: 3)]) },
        Call(name: "save") { db in var all = [Plain(id: 2, a: 9), Plain(id: 3, a: 9)]; try db.save(&all) },
        Call(name: "deleteAll") { db in try db.deleteAll(Plain.self) },
        Call(name: "updateChanges") { db in var record = Plain(id: 3, a: 3); try db.updateChanges(&record) { $0.a = 9 } },
        Call(name: "findOrInsert") { db in _ = try db.findOrInsert(Plain(id: 9, a: 9)) },
        Call(name: "updateJSON") { db in try db.main.updateJSON("doc", in: "t", where: "TRUE", .set("x", to: 1)) },
        Call(name: "updateJSON") { db in
            try db.main.updateJSON("doc", in: "t", of: Custom.self, where: "TRUE", .set("x", to: 1))
        },
    ]

    /// By position, where that is another way.
    static let positional: [Call] = [
        Call(name: "insert") { db in try db.insert(Positional(id: 9, a: 9)) },
        Call(name: "update") { db in try db.update(Positional(id: 3, a: 9)) },
        Call(name: "upsert") { db in try db.upsert(Positional(id: 3, a: 9)) },
        Call(name: "delete") { db in try db.delete(Positional(id: 3, a: 3)) },
        Call(name: "update from") { db in try db.updateChanges(Positional(id: 3, a: 9), from: Positional(id: 3, a: 3)) },
    ]

    struct Coded: SQLRecord {
        struct Doc: Codable, Sendable { var x: Int? }
        var id: Int64
        var a: Int
        var doc: Doc
        static let tableName = "t"
    }

    struct Custom: Codable, JSONCodingCustomizable {
        static let jsonCodingOptions = JSONCodingOptions()
    }

    private func made() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER NOT NULL, doc TEXT NOT NULL)")
        try db.execute("CREATE TABLE other(id INTEGER PRIMARY KEY, a INTEGER NOT NULL, doc TEXT NOT NULL)")
        try db.insertAll((1...3).map { Plain(id: $0, a: Int($0)) })
        try db.attach(.memory, as: "aux", key: nil)
        try db.execute("CREATE TABLE aux.t(id INTEGER PRIMARY KEY, a INTEGER NOT NULL, doc TEXT NOT NULL)")
        try db.insertAll((7...9).map { Plain(id: $0, a: Int($0)) }, in: db.schema("aux"))
        return db
    }

    /// Rows of another database, of which the last row is refused.
    private static func others(_ db: Connection) throws -> SQLQuery<Plain> { Plain.in(try db.schema("aux")).order { $0.id } }

    private func addTriggers(_ db: Connection) throws {
        for (event, row) in [("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")] {
            try db.execute(
                SQL(raw: """
                    CREATE TRIGGER t_\(event) AFTER \(event) ON t WHEN \(row).id IN (3, 9) BEGIN
                        INSERT INTO other VALUES (NULL, 0, '{}');
                        SELECT RAISE(FAIL, 'no');
                    END
                    """))
        }
    }

    private func content(_ db: Connection) throws -> [String] {
        try db.fetchAll(String.self, "SELECT id || ' ' || a || doc FROM t UNION ALL SELECT id || '-' || a || doc FROM other ORDER BY 1")
    }

    @Test(arguments: calls + positional) func throwingChangeCallRollsBack(_ call: Call) throws {
        for isInTransaction in [false, true] {
            let db = try made()
            try addTriggers(db)
            let before = try content(db)
            if isInTransaction { try db.begin() }
            let error = #expect(throws: DatabaseError.self) { try call.run(db) }
            #expect(error?.message.contains("no") == true)
            #expect(try content(db) == before, "in a transaction: \(isInTransaction)")
            #expect(db.isInTransaction == isInTransaction)
        }
    }

    /// A statement that was compiled before the trigger existed.
    @Test func cachedStatementRollsBackWhenNewTriggerFails() throws {
        let db = try made()
        try db.insert(Plain(id: 5, a: 5))
        try db.delete(Plain(id: 5, a: 5))
        try addTriggers(db)
        let before = try content(db)
        #expect(throws: DatabaseError.self) { try db.insert(Plain(id: 9, a: 9)) }
        #expect(throws: DatabaseError.self) { try db.delete(Plain(id: 3, a: 3)) }
        #expect(try content(db) == before)
    }

    @Test func conflictFailKeepsEarlierRows() throws {
        let db = try made()
        try db.insert(Plain(id: 8, a: 0))
        #expect(throws: DatabaseError.self) { try db.insertAll(from: Self.others(db), onConflict: .fail, in: db.main) }
        #expect(try db.exists(Plain.self, id: 7))
    }

    /// Each overload in the sources has a call here.
    @Test func everyChangeCallIsListed() throws {
        let verbs = "insert|insertAll|inserted|update|updateAll|updateChanges|updateJSON|upsert|save|delete|deleteAll|findOrInsert"
        var found: [String: Int] = [:]
        for folder in ["SQLCipherKitRecords/Records", "SQLCipherKitCore/Values", "SQLCipherKitCore/JSON"] {
            let folder = Repository.file("Sources/\(folder)")
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
                let isOfConnection = ["Connection+", "SQLUpsert", "Schema+JSONUpdates"].contains { file.lastPathComponent.hasPrefix($0) }
                guard isOfConnection else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: try Regex("\n    public func (\(verbs))[<(]", as: (Substring, Substring).self)) {
                    found[String(match.1), default: 0] += 1
                }
            }
        }
        #expect(found == Dictionary(Self.calls.map { ($0.name, 1) }, uniquingKeysWith: +))
    }
}

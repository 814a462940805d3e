import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct CopyTablesTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("main.db")), key: .passphrase("main").quick)
        try RichDatabase.fill(db, rows: 600)
        try db.execute("DELETE FROM child")
        try db.attach(.file(folder.path("o.db")), as: "o \"1\"", key: .passphrase("o", cipher: .quick))
    }

    private var target: Schema { get throws { try db.schema("o \"1\"") } }

    private func rows(_ schema: String, _ select: String, _ table: String) throws -> [OwnedRow] {
        try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(select) FROM \(schema.quotedSQLIdentifier).\(table.quotedSQLIdentifier)"))
    }

    @Test func copyTablesCopiesEveryKindOfTable() throws {
        let target = try target
        var seen: [DatabaseProgress] = []
        let copied = try db.main.copyTables(to: target) { seen.append($0) }
        let names = ["note", "no_key", "hidden", "pair", "strict_one", "odd \"name'", "child", "log"]
        var total = 0
        for name in names {
            let select = name == "hidden" ? "oid, *" : name == "pair" ? "*" : "rowid, *"
            let original = try rows("main", select, name)
            #expect(try rows("o \"1\"", select, name) == original, "\(name)")
            total += original.count
        }
        #expect(copied == total && total > 2000)
        #expect(seen.first?.completed == 0 && seen.last?.fractionCompleted == 1 && seen.last?.total == total)
        #expect(seen.count > 16 && seen.map(\.completed) == seen.map(\.completed).sorted())
        let schema = "SELECT type, name, tbl_name FROM \(identifier: "o \"1\"").sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY 2" as SQL
        #expect(try db.fetchAll(OwnedRow.self, schema).map(\.values[1]) == ["note_added", "note_expression", "note_title"])
        // The trigger belongs to the copy, and the sequence goes on.
        try db.execute("INSERT INTO \(identifier: "o \"1\"").note(title) VALUES ('next')")
        #expect(db.lastInsertedRowID == 601)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: "o \"1\"").log") == 601)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM main.log") == 600)
        #expect(try db.schema("o \"1\"").verify().isIntact)
    }

    /// A full-text index, and whatever else refers to rows by their ids, still fits after a copy into a table that is there
    /// already.
    @Test func copyTablesKeepsFreeRowIDs() throws {
        let target = try target
        try db.execute(SQLScript("CREATE TABLE bare(x); INSERT INTO bare(rowid, x) VALUES (5, 'a'), (9, 'b')"))
        try db.execute("CREATE TABLE \(identifier: target.name).bare(x, more DEFAULT 1)")
        func ids() throws -> [Int] { try db.fetchAll(Int.self, "SELECT rowid FROM \(identifier: target.name).bare ORDER BY 1") }
        try db.main.copyTables(["bare"], to: target)
        #expect(try ids() == [5, 9])
        var options = Schema.CopyOptions()
        options.emptiesTarget = true
        try db.main.copyTables(["bare"], to: target, options: options)
        #expect(try ids() == [5, 9])
        try db.main.copyTables(["bare"], to: target)
        #expect(try ids() == [5, 9, 10, 11])
        // There the ids are a column, which the source has as an ordinary one.
        try db.execute(SQLScript("CREATE TABLE keyed(id INT, x); INSERT INTO keyed(rowid, id, x) VALUES (5, 50, 'a')"))
        try db.execute("CREATE TABLE \(identifier: target.name).keyed(id INTEGER PRIMARY KEY, x)")
        try db.main.copyTables(["keyed"], to: target)
        #expect(try db.fetchAll(Int.self, "SELECT id FROM \(identifier: target.name).keyed") == [50])
    }

    @Test func copyTablesFollowsConflictResolution() throws {
        let target = try target
        try db.execute(SQLScript("CREATE TABLE small(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO small VALUES (1, 'a'), (2, 'b')"))
        try db.execute("CREATE TABLE \(identifier: target.name).small(id INTEGER PRIMARY KEY, more DEFAULT 7, X TEXT)")
        try db.execute("INSERT INTO \(identifier: target.name).small(id, x) VALUES (2, 'old'), (3, 'old')")
        func content() throws -> [String] { try db.fetchAll(String.self, "SELECT id || x || more FROM \(identifier: target.name).small ORDER BY id") }
        let error = #expect(throws: DatabaseError.self) { try db.main.copyTables(["small"], to: target) }
        #expect(error?.code == .constraintPrimaryKey)
        #expect(try content() == ["2old7", "3old7"])
        var options = Schema.CopyOptions()
        options.conflict = .keep
        #expect(try db.main.copyTables(["SMALL"], to: target, options: options) == 1)
        #expect(try content() == ["1a7", "2old7", "3old7"])
        options.conflict = .replace
        #expect(try db.main.copyTables(["small"], to: target, options: options) == 2)
        #expect(try content() == ["1a7", "2b7", "3old7"])
        options.emptiesTarget = true
        try db.main.copyTables(["small"], to: target, options: options)
        #expect(try content() == ["1a7", "2b7"])
    }

    @Test func failedCopyTablesChangesNothing() throws {
        struct Cancelled: Error {}
        let target = try target
        #expect(throws: Cancelled.self) { try db.main.copyTables(to: target) { if $0.completed > 500 { throw Cancelled() } } }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: target.name).sqlite_schema") == 0)
        #expect(!db.isInTransaction)
        try db.attach(.memory, as: "gone", key: .plaintext)
        let gone = try db.schema("gone"), other = try Connection(.memory)
        try db.schema("gone").detach()
        let attempts: [(DatabaseError.Reason, () throws -> Void)] = [
            (.schemaName, { try db.main.copyTables(to: gone) }), (.schemaName, { try gone.copyTables(to: target) }),
            (.schemaName, { try db.main.copyTables(to: try db.schema("MAIN")) }), (.misuse, { try db.main.copyTables(to: other.main) }), (.invalidArgument, { try db.main.copyTables(["nothing"], to: target) }),
            (.invalidArgument, { try db.main.copyTables(["search"], to: target) }), (.invalidArgument, { try db.main.copyTables(["titles"], to: target) }),
        ]
        for (reason, attempt) in attempts {
            let error = #expect(throws: DatabaseError.self) { try attempt() }
            #expect(error?.reason == reason, "\(String(describing: error))")
        }
        try db.execute("CREATE TABLE \(identifier: target.name).no_key(y)")
        let error = #expect(throws: DatabaseError.self) { try db.main.copyTables(["log", "no_key"], to: target) }
        #expect(error?.message.contains("column x") == true)
        #expect(try db.fetchAll(String.self, "SELECT name FROM \(identifier: target.name).sqlite_schema") == ["no_key"])
    }

    @Test func copyTablesOmitsIndexesAndTriggersOnRequest() throws {
        let target = try target
        var options = Schema.CopyOptions()
        options.includesIndexes = false
        options.includesTriggers = false
        try db.transaction { db in
            try db.main.copyTables(["note"], to: target, options: options)
            #expect(db.isInTransaction)
        }
        #expect(try db.fetchAll(String.self, "SELECT name FROM \(identifier: target.name).sqlite_schema WHERE name LIKE 'note%'") == ["note"])
        // Children before their parents: foreign keys wait for the end.
        try db.execute("INSERT INTO child VALUES (1, 2)")
        try db.main.copyTables(["child"], to: target)
        try db.attach(.memory, as: "m", key: .plaintext)
        try db.main.copyTables(["child", "note"], to: try db.schema("m"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM m.child JOIN m.note ON note.id = child.note") == 1)
    }
}

import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// A program for each row of the article "From SQLite in C".
@Suite struct SQLiteInCPorts {
    static let programs: [Port] = Port.list(Self.init, [
        "B1": b1, "B2": b2, "B3": b3, "B4": b4, "B5": b5, "B6": b6, "B7": b7, "B8": b8, "B9": b9, "B10": b10,
        "B11": b11, "B12": b12, "B13": b13, "B14": b14, "B15": b15, "B16": b16, "B17": b17, "B18": b18,
        "B19": b19, "B20": b20, "B21": b21, "B22": b22, "B23": b23, "B24": b24, "B25": b25, "B26": b26,
        "B27": b27, "B28": b28, "B29": b29, "B30": b30, "B31": b31, "B32": b32, "B33": b33, "B34": b34,
        "B35": b35, "B36": b36, "B37": b37, "B38": b38, "B39": b39, "B40": b40, "B41": b41, "B42": b42,
        "B43": b43, "B44": b44, "B45": b45, "B46": b46, "B47": b47, "B48": b48, "B49": b49, "B50": b50,
        "B51": b51, "B52": b52, "B53": b53, "B54": b54, "B55": b55, "B56": b56, "B57": b57, "B58": b58,
        "B59": b59, "B60": b60, "B61": b61, "B62": b62, "B63": b63, "B64": b64, "B65": b65, "B66": b66,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws { desk = try ExampleDesk() }

    // MARK: The first steps

    /// B1 opening and closing
    func b1() throws {
        let db = try Connection(.file(desk.file("new.db")))
        db.close()
        #expect(!db.isOpen)
    }

    /// B2 the application's folder
    func b2() throws {
        #expect(DatabaseLocation.standard("app.db", application: "ports").path?.hasSuffix("/ports/app.db") == true)
    }

    /// B3 creating a table
    func b3() throws {
        try db.execute("CREATE TABLE IF NOT EXISTS wine(id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        #expect(try db.main.hasTable("wine"))
    }

    /// B4 inserting
    func b4() throws {
        let title = "O'Hara's"
        try db.execute("INSERT INTO note(title, stars) VALUES (\(title), \(4))")
        #expect(try db.fetchOne(String.self, "SELECT title FROM note WHERE stars = 4") == title)
    }

    /// B5 the last row id
    func b5() throws {
        try db.execute("INSERT INTO note(title) VALUES ('new')")
        #expect(db.lastInsertedRowID == 4)
    }

    /// B6 selecting
    func b6() throws {
        #expect(try db.fetchAll(String.self, "SELECT title FROM note ORDER BY id") == ["Bakery", "Mill", "Well"])
    }

    /// B7 a condition
    func b7() throws {
        let least = 4
        let rows: [(Int, String)] = try db.fetchAll("SELECT id, title FROM note WHERE stars >= \(least)")
        #expect(rows.map(\.0) == [3])
    }

    /// B8 updating
    func b8() throws {
        try db.execute("UPDATE note SET stars = \(1) WHERE id IN \([1, 2])")
        #expect(db.changes == 2)
    }

    /// B9 deleting
    func b9() throws {
        try db.execute("DELETE FROM note WHERE stars IS NULL")
        #expect(db.changes == 1)
    }

    /// B10 what a database contains
    func b10() throws {
        #expect(try db.main.tables().map(\.name) == ["note"])
        #expect(try db.main.columns(of: "note").map(\.type) == ["INTEGER", "TEXT", "INTEGER"])
    }

    /// B11 sorting
    func b11() throws {
        #expect(try db.fetchAll(String.self, "SELECT title FROM note ORDER BY stars DESC NULLS LAST") == ["Well", "Bakery", "Mill"])
    }

    /// B12 a page of rows
    func b12() throws {
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note ORDER BY id LIMIT \(1) OFFSET \(1)") == [2])
    }

    /// B13 groups
    func b13() throws {
        let counts: [(Bool, Int)] = try db.fetchAll("SELECT stars > 3, count(*) FROM note WHERE stars NOTNULL GROUP BY 1 ORDER BY 1")
        #expect(counts.map(\.1) == [1, 1])
    }

    /// B14 joins
    func b14() throws {
        try db.execute(SQLScript("CREATE TABLE tag(note REFERENCES note, name); INSERT INTO tag VALUES (1, 'food');"))
        #expect(try db.fetchAll(String?.self, "SELECT name FROM note LEFT JOIN tag ON note = note.id ORDER BY id") == ["food", nil, nil])
    }

    /// B15 queries in queries
    func b15() throws {
        #expect(try db.fetchOne(Int.self, "SELECT id FROM note WHERE stars = (SELECT max(stars) FROM note)") == 3)
    }

    // MARK: Changing the schema

    /// B16 renaming a table
    func b16() throws {
        try db.main.renameTable("note", to: "memo")
        #expect(try db.main.hasTable("memo"))
    }

    /// B17 adding a column
    func b17() throws {
        try db.main.addColumn(SQLColumn("done", .integer).notNull().default(0), to: "note")
        #expect(try db.fetchAll(Bool.self, "SELECT done FROM note") == [false, false, false])
    }

    /// B18 renaming a column
    func b18() throws {
        try db.main.renameColumn("stars", to: "rating", of: "note")
        #expect(try db.main.columns(of: "note").last?.name == "rating")
    }

    /// B19 dropping a column
    func b19() throws {
        try db.main.dropColumn("stars", from: "note")
        #expect(try db.main.columns(of: "note").count == 2)
    }

    /// B20 building indexes again
    func b20() throws {
        try db.main.create(SQLIndex("by_title", on: ["title"]), on: "note")
        try db.main.reindex("by_title")
        try db.main.reindex()
        #expect(try db.main.verify().isIntact)
    }

    /// B21 dropping
    func b21() throws {
        try db.execute(SQLScript("""
            CREATE INDEX i ON note(title); CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER DELETE ON note BEGIN SELECT 1; END;
            """))
        try db.main.dropTrigger("t")
        try db.main.dropView("v")
        try db.main.dropIndex("i")
        try db.main.dropTable("note")
        try db.main.dropTable("note", ifExists: true)
        #expect(try db.main.tables().isEmpty)
    }

    // MARK: Collations, dates, JSON, functions

    /// B22 a collation
    func b22() throws {
        try db.register(.collation("BY_LENGTH") { a, b in
            a.count == b.count ? .orderedSame : a.count < b.count ? .orderedAscending : .orderedDescending
        })
        #expect(try db.fetchOne(String.self, "SELECT title FROM note ORDER BY title COLLATE BY_LENGTH DESC") == "Bakery")
    }

    /// B23 a collation for all scripts, and its removal
    func b23() throws {
        try db.register(.unicodeCollationIgnoringCase)
        #expect(try db.fetchOne(Bool.self, "SELECT 'Ä' = 'ä' COLLATE UNICODE_NOCASE") == true)
        try db.unregister(.collation("UNICODE_NOCASE"))
        #expect(desk.reason { _ = try db.fetchOne(Bool.self, "SELECT 'a' = 'b' COLLATE UNICODE_NOCASE") } == .engine)
    }

    /// B24 dates
    func b24() throws {
        let store = try desk.open { $0.valueProfile = .sqlite }, date = Date(timeIntervalSince1970: 1_795_249_800)
        #expect(try store.fetchOne(String.self, "SELECT datetime(\(date), '+1 day')") == "2026-11-22 08:30:00")
        #expect(try store.fetchOne(Date.self, "SELECT '2026-11-21 08:30:00'") == date)
    }

    /// B25 JSON
    func b25() throws {
        let json: JSONValue = ["name": "Ada", "tags": ["a", "b"]]
        #expect(try db.fetchOne(String.self, "SELECT \(json) ->> \(JSONPath("name"))") == "Ada")
        #expect(try db.fetchAll(String.self, "SELECT value FROM json_each(\(json), \(JSONPath("tags")))") == ["a", "b"])
    }

    /// B26 pictures
    func b26() throws {
        let picture = Data([0x89, 0x50, 0, 0xff])
        try db.execute("CREATE TABLE picture(data BLOB)")
        try db.execute("INSERT INTO picture VALUES (\(picture)), (\(Data()))")
        #expect(try db.fetchAll(Data.self, "SELECT data FROM picture") == [picture, Data()])
    }

    /// B27 a function
    func b27() throws {
        try db.register(.function("half", [.deterministic, .innocuous]) { (x: Double) in x / 2 })
        #expect(try db.fetchOne(Double.self, "SELECT half(stars) FROM note") == 1.5)
    }

    /// B28 types of columns
    func b28() throws {
        #expect(try db.fetchAll(String.self, "SELECT typeof(stars) FROM note ORDER BY id") == ["integer", "null", "integer"])
        try db.execute("CREATE TABLE strict_one(x INTEGER) STRICT")
        #expect(desk.reason { try db.execute("INSERT INTO strict_one VALUES ('x')") } == .engine)
        #expect(desk.reason { _ = try db.fetchOne(Int.self, "SELECT title FROM note") } == .typeMismatch)
    }

    // MARK: Pragmas and limits

    /// B29 pragmas
    func b29() throws {
        #expect(try db.main.pragma("encoding", as: String.self) == "UTF-8")
        #expect(try db.main.setPragma("cache_size", to: 200) == 200)
    }

    /// B30 checking foreign keys
    func b30() throws {
        let db = try desk.open { $0.enforcesForeignKeys = false }
        try db.execute(SQLScript("CREATE TABLE tag(note REFERENCES note(id)); INSERT INTO tag VALUES (9);"))
        #expect(try db.main.foreignKeyViolations().map(\.parent) == ["note"])
        #expect(try db.main.table("tag")?.foreignKeys.map(\.columns) == [["note"]])
    }

    /// B31 checking the file
    func b31() throws {
        #expect(try db.main.integrityCheck(limit: 10) == [] && db.main.verify(quick: true).isIntact)
    }

    /// B32 the databases of a connection
    func b32() throws {
        #expect(try db.schemas().map(\.name) == ["main"] && db.main.path == desk.path)
    }

    /// B33 the file's own numbers
    func b33() throws {
        try db.main.setApplicationID(0x4e6f7465)
        try db.main.setUserVersion(1)
        var migrator = Migrator()
        migrator.add("notes") { db in try db.execute("CREATE TABLE note(id)") }
        migrator.add("tags") { db in try db.execute("CREATE TABLE tag(name)") }
        migrator.adopt(userVersions: [1: "notes", 2: "tags"])
        #expect(try migrator.migrate(db) == ["tags"])
    }

    /// B34 limits
    func b34() throws {
        #expect(try db.settings.limit(.attached) == 125)
    }

    /// B35 lowering a limit
    func b35() throws {
        #expect(try db.settings.setLimit(.variableNumber, to: 2) == 2)
        #expect(desk.reason { try db.execute("SELECT ?, ?, ?", [1, 2, 3]) } == .engine)
    }

    // MARK: Views, triggers, constraints

    /// B36 views
    func b36() throws {
        try db.execute("CREATE VIEW best AS SELECT title FROM note WHERE stars > 4")
        #expect(try db.fetchAll(String.self, "SELECT * FROM best") == ["Well"])
    }

    /// B37 triggers
    func b37() throws {
        try db.execute(SQLScript("""
            CREATE TABLE log(what);
            CREATE TRIGGER gone AFTER DELETE ON note BEGIN INSERT INTO log VALUES (old.title); END;
            """))
        try db.execute("DELETE FROM note WHERE id = 2")
        #expect(try db.fetchAll(String.self, "SELECT what FROM log") == ["Mill"] && db.main.triggers().map(\.name) == ["gone"])
    }

    /// B38 what an index does
    func b38() throws {
        try db.execute("CREATE INDEX by_stars ON note(stars)")
        #expect(try db.fetchAll(OwnedRow.self, "EXPLAIN QUERY PLAN SELECT * FROM note WHERE stars = 3").contains { $0.values.contains { $0.shown.contains("by_stars") } })
    }

    /// B39 deleting what refers to a row
    func b39() throws {
        try db.execute(SQLScript("CREATE TABLE tag(note REFERENCES note ON DELETE CASCADE); INSERT INTO tag VALUES (1), (2);"))
        try db.execute("DELETE FROM note WHERE id = 1")
        #expect(try db.fetchAll(Int.self, "SELECT note FROM tag") == [2])
    }

    /// B40 a constraint that is violated
    func b40() throws {
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO note(title) VALUES (NULL)") }
        #expect(error?.code == .constraintNotNull && error?.code.primary == .constraint)
    }

    /// B41 inserting or updating
    func b41() throws {
        try db.execute("INSERT INTO note(id, title) VALUES (1, 'Oven') ON CONFLICT(id) DO UPDATE SET title = excluded.title")
        #expect(try db.fetchOne(String.self, "SELECT title FROM note WHERE id = 1") == "Oven")
    }

    /// B42 what was written
    func b42() throws {
        #expect(try db.fetchAll(Int.self, "DELETE FROM note WHERE stars > 2 RETURNING id") == [1, 3])
    }

    // MARK: Blobs, scripts, errors

    /// B43 parts of a blob
    func b43() throws {
        try db.execute("CREATE TABLE film(id INTEGER PRIMARY KEY, data BLOB)")
        try db.execute("INSERT INTO film(data) VALUES (\(ZeroBlob(count: 1000))), (\(Data([7, 8])))")
        let blob = try db.main.openBlob(table: "film", column: "data", rowID: 1, forWriting: true)
        try blob.write(Data([1, 2, 3]), at: 500)
        #expect(try blob.read(2, at: 501) == Data([2, 3]))
        try blob.reopen(rowID: 2)
        #expect(try blob.count == 2 && blob.read(upTo: 10) == Data([7, 8]))
    }

    /// B44 several statements at once
    func b44() throws {
        var rows = 0
        try db.execute(SQLScript("SELECT * FROM note; SELECT 1; DELETE FROM note;")) { _, _ in
            rows += 1
            return rows == 4 ? .stop : .next
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// B45 errors
    func b45() throws {
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELEKT 1") }
        #expect(error?.code == .error && error?.message.contains("SELEKT") == true && error?.sql == "SELEKT 1" && error?.offset == 0)
    }

    /// B46 transactions
    func b46() throws {
        try db.transaction { db in
            try db.execute("DELETE FROM note WHERE id = 1")
            try db.execute("DELETE FROM note WHERE id = 2")
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 1)
    }

    /// B47 savepoints
    func b47() throws {
        try db.transaction { db in
            try db.execute("DELETE FROM note WHERE id = 1")
            try db.savepoint { db in
                try db.execute("DELETE FROM note")
                return .rollback(())
            }
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 2)
    }

    /// B48 preparing once
    func b48() throws {
        let insert = try db.prepare("INSERT INTO note(title, stars) VALUES (?, ?)")
        for (title, stars) in [("a", 1), ("b", 2)] { try insert.execute(binding: title, stars) }
        #expect(db.lastInsertedRowID == 5)
    }

    /// B49 NULL
    func b49() throws {
        let stars: Int? = nil
        try db.execute("UPDATE note SET stars = \(stars) WHERE id = 1")
        #expect(try db.fetchOne(Int?.self, "SELECT stars FROM note WHERE id = 1") == .some(nil))
        #expect(desk.reason { _ = try db.fetchAll(Int.self, "SELECT stars FROM note") } == .unexpectedNull)
    }

    /// B50 values of any type
    func b50() throws {
        try db.forEach("SELECT 1, 2.5, 'x', x'00', NULL") { row in
            let values: [SQLValue] = try (0..<row.count).map { try row[$0] }
            #expect(values.map(\.storageClass) == [.integer, .real, .text, .blob, .null])
        }
    }

    /// B51 recursive queries
    func b51() throws {
        #expect(try db.fetchAll(Int.self, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n")
            == [1, 2, 3])
    }

    /// B52 window functions
    func b52() throws {
        #expect(try db.fetchAll(Int.self, "SELECT row_number() OVER (ORDER BY title DESC) FROM note ORDER BY id") == [3, 2, 1])
    }

    /// B53 generated columns
    func b53() throws {
        try db.execute("CREATE TABLE box(a, b, area AS (a * b) STORED)")
        try db.execute("INSERT INTO box(a, b) VALUES (2, 3)")
        #expect(try db.fetchOne(Int.self, "SELECT area FROM box") == 6)
    }

    /// B54 searching with LIKE
    func b54() throws {
        try db.execute("INSERT INTO note(title) VALUES ('100% sure')")
        let condition = LikePattern.contains("0% s").condition(on: "title")
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(condition)") == [4])
    }

    // MARK: Several files

    /// B55 attaching
    func b55() throws {
        let archive = try db.attach(.file(desk.file("archive.db")), as: "archive", key: desk.key)
        #expect(try archive.tables().isEmpty && db.schemas().map(\.name) == ["main", "archive"])
    }

    /// B56 detaching
    func b56() throws {
        let archive = try db.attach(.memory, as: "it's", key: nil)
        try archive.detach()
        #expect(desk.reason { try archive.detach() } == .schemaName && desk.reason { try db.main.detach() } == .schemaName)
    }

    /// B57 one query over two files
    func b57() throws {
        try db.withAttached(.file(desk.file("archive.db")), as: "archive", key: desk.key) { archive in
            try db.main.copyTables(["note"], to: archive)
            let both: SQL = "SELECT count(*) FROM main.note JOIN archive.note USING (id)"
            #expect(try db.fetchOne(Int.self, both) == 3)
        }
        #expect(try db.schemas().count == 1)
    }

    // MARK: Copies and upkeep

    /// B58 a backup
    func b58() throws {
        try db.main.backup(toFileAt: desk.file("backup.db"))
        #expect(try Connection(.file(desk.file("backup.db")), key: desk.key).main.hasTable("note"))
    }

    /// B59 a backup's progress
    func b59() throws {
        var options = Schema.BackupOptions()
        options.pagesPerStep = 1
        let seen = Seen<Double>()
        try db.main.backup(toFileAt: desk.file("backup.db"), options: options) { progress in seen.add(progress.fractionCompleted) }
        #expect(seen.all.last == 1)
    }

    /// B60 restoring
    func b60() throws {
        try db.main.backup(toFileAt: desk.file("backup.db"))
        try db.execute("DELETE FROM note")
        try db.main.restore(fromFileAt: desk.file("backup.db"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// B61 to memory and back
    func b61() throws {
        let copy = try Connection(.memory, key: desk.key)
        try db.main.backup(to: copy.main)
        #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// B62 waiting for a lock
    func b62() throws {
        let other = try desk.open { $0.busyTimeout = .milliseconds(5) }
        try db.begin()
        #expect(desk.reason { try other.begin() } == .busy)
        try db.commit()
    }

    /// B63 making the file smaller
    func b63() throws {
        try db.execute("INSERT INTO note(title) SELECT hex(zeroblob(4000)) FROM note")
        try db.execute("DELETE FROM note")
        try db.main.vacuum()
        try db.main.backup(toFileAt: desk.file("small.db"), options: .compact)
        #expect(try db.main.freePageCount == 0 && db.main.pageCount < 5)
    }

    /// B64 statistics for the planner
    func b64() throws {
        try db.execute("CREATE INDEX by_stars ON note(stars)")
        try db.main.analyze()
        #expect(try db.main.statistics().contains { $0.index == "by_stars" && $0.rows == 3 })
    }

    /// B65 how two databases differ
    func b65() throws {
        try db.main.backup(toFileAt: desk.file("old.db"))
        try db.execute("DELETE FROM note WHERE id = 1")
        let old = try Connection(.file(desk.file("old.db")), key: desk.key)
        let diff = try DatabaseDiff(from: old.main, to: db.main)
        #expect(try diff.summary().map(\.deleted) == [1])
        try diff.apply(to: old)
        #expect(try diff.isEmpty())
    }

    /// B66 what takes space
    func b66() throws {
        #expect(try db.main.spaceReport().bytes(ofTable: "note") > 0)
    }
}

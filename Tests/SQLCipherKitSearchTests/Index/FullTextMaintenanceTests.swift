import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct FullTextMaintenanceTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("x").quick)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        try db.create(FTS5Table("fts", columns: ["body"], content: .external(table: "doc")))
    }

    func fill(_ count: Int) throws {
        for index in 0..<count { try db.execute("INSERT INTO doc(body) VALUES (\("word\(index % 50) common text number \(index)"))") }
    }

    func segments() throws -> Int {
        // The upper bits of a page's id are the id of its segment.
        try db.fetchOne(Int.self, "SELECT count(DISTINCT id >> 37) FROM fts_data WHERE id > 10") ?? 0
    }

    @Test func mergeAndOptimizeLeaveOneSegment() throws {
        try db.fullText("fts").configure(.other("automerge", 0))
        try fill(200)
        let before = try segments()
        #expect(before > 1)
        #expect(try db.fullText("fts").merge(pages: 10, everything: true))
        while try db.fullText("fts").merge(pages: 10) {}
        #expect(try segments() == 1)
        try fill(50)
        #expect(try segments() > 1)
        try db.fullText("fts").optimize()
        #expect(try segments() == 1)
        #expect(try db.fullText("fts").passesIntegrityCheck())
        #expect(throws: DatabaseError.self) { try db.fullText("fts").merge(pages: 0) }
    }

    /// However large segments are, a write merges a limited number of pages, and segments do not pile up.
    @Test func eachWriteMergesALittle() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["body"]))
        let index = try db.fullText("fts")
        func segments() throws -> Int? { try db.fetchOne(Int.self, "SELECT count(DISTINCT id >> 37) FROM fts_data WHERE id > 10") }
        for setting in [FullTextIndex.Setting.pageSize(128), .other("automerge", 0), .other("crisismerge", 1_000)] { try index.configure(setting) }
        for segment in 0..<16 {
            let texts = (0..<50).map { row in
                (0..<60).map { "w\((row * 60 + $0) * 7_919 * (segment + 3) % 9_973)" }.joined(separator: " ")
            }
            let list = "[\"" + texts.joined(separator: "\",\"") + "\"]"
            try db.execute("INSERT INTO fts(body) SELECT value FROM json_each(\(list))")
        }
        #expect(try segments() == 16)
        for setting in [FullTextIndex.Setting.other("automerge", 4), .other("crisismerge", 16)] { try index.configure(setting) }
        var (most, total) = (0, 0)
        for row in 0..<80 {
            let before = db.totalChanges
            try db.execute("INSERT INTO fts(body) VALUES (\("some words \(row)"))")
            most = max(most, db.totalChanges - before)
            total += db.totalChanges - before
        }
        // FTS5 itself changes some 9,900 rows in the first write. The last rows about a segment's pages are deleted together.
        #expect(most < 6_000 && total > 8_000, "\(most) of \(total)")
        #expect(try segments() ?? 0 < 32 && index.passesIntegrityCheck())
        #expect(try index.count("some") == 80 && index.count("w7") > 0)
    }

    /// FTS5 refuses each write to an index of 2,000 segments. There would be as many where a merge in steps never ends, and where
    /// nothing is merged before.
    @Test(arguments: ["merge", "crisismerge"])
    func segmentsNeverBecomeTooMany(_ way: String) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("fts", columns: ["body"]))
        let index = try db.fullText("fts")
        try index.configure(.pageSize(32))
        if way == "crisismerge" { for (name, value) in [("automerge", 0), (way, 1_999)] { try index.configure(.other(name, value)) } }
        var most = 0
        for row in 0..<2_200 {
            try db.execute("INSERT INTO fts(body) VALUES (\("abc def ghi")), ('jkl mno pqr')")
            if way == "merge" { try db.execute("INSERT INTO fts(fts, rank) VALUES ('merge', -1)") }
            if row % 10 == 0 {
                most = max(most, try db.fetchOne(Int.self, "SELECT count(DISTINCT id >> 37) FROM fts_data WHERE id > 10") ?? 0)
            }
        }
        #expect(way == "merge" ? most < 100 : (900...1_000).contains(most), "\(most)")
        #expect(try index.passesIntegrityCheck() && index.count("mno") == 2_200)
        try index.optimize()
        #expect(try db.fetchOne(Int.self, "SELECT count(DISTINCT id >> 37) FROM fts_data WHERE id > 10") == 1)
    }

    @Test func isIntactSeesStaleIndexAndRebuildRepairsIt() throws {
        try fill(20)
        // A write that fires no triggers.
        try db.execute("DROP TRIGGER fts_before_update")
        try db.execute("DROP TRIGGER fts_after_update")
        try db.execute("UPDATE doc SET body = 'changed' WHERE id = 3")
        #expect(try !db.fullText("fts").passesIntegrityCheck())
        #expect(try db.fullText("fts").passesIntegrityCheck(comparingContent: false))
        try db.fullText("fts").rebuild()
        #expect(try db.fullText("fts").passesIntegrityCheck())
        #expect(try db.fullText("fts").count("changed") == 1)
        #expect(throws: DatabaseError.self) { try db.fullText("nothing").passesIntegrityCheck() }
        try db.fullText("fts").deleteAll()
        #expect(try db.fullText("fts").count("common") == 0)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM doc") == 20)
    }

    @Test func rebuildIndexesRowsWrittenWithoutTriggers() throws {
        try db.execute("CREATE TABLE keyed(k TEXT, p INTEGER, body TEXT, PRIMARY KEY(k, p)) WITHOUT ROWID")
        try db.create(FTS5Table("kfts", columns: ["body"], content: .external(table: "keyed")))
        try db.execute("INSERT INTO keyed VALUES ('a', 1, 'one'), ('b', 1, 'two')")
        let triggers = try db.fetchAll(String.self, "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'kfts%'")
        for name in try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'kfts%'") {
            try db.execute("DROP TRIGGER \(identifier: name)")
        }
        try db.execute("INSERT INTO keyed VALUES ('c', 1, 'three')")
        try db.execute("DELETE FROM keyed WHERE k = 'a'")
        for trigger in triggers { try db.execute(SQL(raw: trigger)) }
        try db.fullText("kfts").rebuild()
        #expect(try db.fullText("kfts").passesIntegrityCheck())
        #expect(try db.fullText("kfts").count("three") == 1 && db.fullText("kfts").count("one") == 0)
    }

    /// A connection that cannot write checks an index too, with what an open transaction has written.
    @Test func readOnlyConnectionChecksIndex() throws {
        let folder = try TemporaryFolder(), path = folder.path("a.db")
        let writer = try Connection(.file(path))
        try writer.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, x)")
        try writer.create(FTS5Table("note_fts", columns: ["x"], content: .external(table: "note")))
        try writer.execute("INSERT INTO note(x) VALUES ('one'), ('two')")
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        let reader = try Connection(.file(path), configuration: reading)
        #expect(try reader.fullText("note_fts").passesIntegrityCheck())
        try writer.transaction { db in
            try db.execute("INSERT INTO note(x) VALUES ('three')")
            #expect(try db.fullText("note_fts").passesIntegrityCheck())
        }
        #expect(try reader.fullText("note_fts").passesIntegrityCheck())
        try writer.execute("DELETE FROM note_fts_idx")
        try writer.execute("DELETE FROM note_fts_data WHERE id > 10")
        #expect(try !reader.fullText("note_fts").passesIntegrityCheck(comparingContent: false))
        #expect(try !writer.fullText("note_fts").passesIntegrityCheck())
    }

    @Test func indexSettingsAreAppliedAndValidated() throws {
        for setting: FullTextIndex.Setting in [
            .other("automerge", 8), .other("crisismerge", 12), .other("usermerge", 3), .pageSize(1000), .other("hashsize", 100_000), .other("deletemerge", 20), .secureDelete(true),
            .rank("bm25(3.0)"),
        ] { try db.fullText("fts").configure(setting) }
        let settings = try db.fullText("fts").settings
        #expect(settings["automerge"] == 8 && settings["crisismerge"] == 12 && settings["usermerge"] == 3 && settings["pgsz"] == 1000)
        #expect(settings["hashsize"] == 100_000 && settings["deletemerge"] == 20 && settings["secure-delete"] == 1)
        #expect(settings["rank"] == "bm25(3.0)")
        for setting: FullTextIndex.Setting in [
            .other("automerge", 1), .other("automerge", 17), .other("crisismerge", 1), .other("usermerge", 0), .pageSize(31), .other("hashsize", 0), .other("deletemerge", 101), .rank(""),
        ] {
            let error = #expect(throws: DatabaseError.self) { try db.fullText("fts").configure(setting) }
            #expect(error?.reason == .invalidArgument)
        }
        try fill(50)
        try db.execute("DELETE FROM doc WHERE id % 2 = 0")
        #expect(try db.fullText("fts").passesIntegrityCheck())
    }

    @Test func indexSizeCountsIndexAndContent() throws {
        let empty = try db.fullText("fts").size()
        try fill(2000)
        let full = try db.fullText("fts").size()
        #expect(full.index > empty.index && full.content == 0 && full.total > full.index)
        #expect(full.index % 4096 == 0)
        try db.create(FTS5Table("own", columns: ["body"]))
        try db.execute("INSERT INTO own SELECT body FROM doc")
        #expect(try db.fullText("own").size().content > 0)
    }

    @Test func cascadesOfForeignKeysReachTheIndex() throws {
        try db.execute("CREATE TABLE owner(id INTEGER PRIMARY KEY)")
        try db.execute(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, body TEXT, owner REFERENCES owner ON DELETE CASCADE ON UPDATE CASCADE)")
        try db.create(FTS5Table("items", columns: ["body", .unindexed("owner")], content: .external(table: "item")))
        try db.execute("INSERT INTO owner VALUES (1), (2)")
        try db.execute("INSERT INTO item(body, owner) VALUES ('one', 1), ('two', 2), ('three', 2)")
        try db.execute("UPDATE owner SET id = 5 WHERE id = 1")
        try db.execute("DELETE FROM owner WHERE id = 2")
        #expect(try db.fullText("items").passesIntegrityCheck())
        #expect(try db.fullText("items").count(.any("one", "two", "three")) == 1)
    }

    @Test func onlyFullTextTablesAreListed() throws {
        try db.execute("CREATE VIRTUAL TABLE words USING fts5vocab(fts, row)")
        try db.execute("CREATE VIRTUAL TABLE old USING fts4(a)")
        try db.execute("create virtual table \"by hand\" using  FTS5 (a)")
        #expect(try db.main.fullTextIndexes().map(\.name) == ["by hand", "fts"])
    }

    @Test func aRolledBackTransactionLeavesTheIndexAsItWas() throws {
        try fill(20)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try db.transaction { db in
                try db.execute("INSERT OR REPLACE INTO doc(id, body) SELECT id, 'other' FROM doc")
                try db.savepoint { db in try db.execute("DELETE FROM doc") }
                throw Stop()
            }
        }
        #expect(try db.fullText("fts").count("common") == 20 && db.fullText("fts").count("other") == 0)
        #expect(try db.fullText("fts").passesIntegrityCheck())
    }
}

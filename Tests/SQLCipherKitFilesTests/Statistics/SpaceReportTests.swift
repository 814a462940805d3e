import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct SpaceReportTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one")
    }

    @Test(arguments: [1024, 4096], [0, 1, 2])
    func spaceReportSumsMatchTheFile(pageSize: Int, autoVacuum: Int) throws {
        var cipher = CipherConfiguration.quick
        cipher.pageSize = pageSize
        let db = try Connection(.file(folder.path("a.db")), key: key.with(cipher: cipher))
        try db.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
        try db.main.vacuum()
        try RichDatabase.fill(db)
        try db.execute("DELETE FROM note WHERE id > 100")
        let report = try db.main.spaceReport()
        #expect(try report.pageCount == db.main.pageCount && report.freePages == db.main.freePageCount)
        #expect(try report.bytes == Data(contentsOf: URL(fileURLWithPath: folder.path("a.db"))).count)
        #expect(report.pageSize == pageSize && report.reservedBytesPerPage == 80)
        #expect(report.objects.reduce(0) { $0 + $1.pages } + report.freePages + report.otherPages == report.pageCount)
        // A map's page has five bytes for each of the pages behind it.
        let mapped = (pageSize - 80) / 5 + 1
        let hasMap = try db.fetchOne(Int.self, "PRAGMA auto_vacuum") != 0
        #expect(hasMap == (autoVacuum > 0) && report.otherPages == (hasMap ? (report.pageCount - 2) / mapped + 1 : 0))
        for object in report.objects {
            #expect(object.pages == object.internalPages + object.leafPages + object.overflowPages)
            #expect(object.bytes == object.pages * pageSize && object.fill >= 0 && object.fill <= 1 && object.depth >= 1)
            #expect((object.internalPages == 0) == (object.depth == 1))
        }
        // Each entry is counted where it is.
        for table in ["note", "no_key", "pair", "own_content", "hidden"] {
            let rows = try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: table)")
            #expect(report[table]?.entries == rows)
        }
        #expect(try report["note_expression"]?.entries == db.fetchOne(Int.self, "SELECT count(*) FROM note"))
        #expect(report["note_expression"]?.kind == .index && report["note_expression"]?.table == "note")
        #expect(try report["sqlite_schema"]?.entries == db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema"))
        #expect(report.bytes(ofTable: "note") == ["note", "note_title", "note_expression"].reduce(0) { $0 + (report[$1]?.bytes ?? 0) })
    }

    @Test func spaceReportCountsEntriesPagesAndPayload() throws {
        let db = try Connection(.memory, key: key.quick)
        try db.execute("CREATE TABLE t(x BLOB)")
        for _ in 0..<10 { try db.execute("INSERT INTO t VALUES (zeroblob(10000))") }
        let object = try #require(try db.main.spaceReport()["t"])
        #expect(object.entries == 10 && object.overflowPages == 20 && object.depth <= 2)
        // The record has a header of three bytes and more.
        #expect(object.largestPayload >= 10_003 && object.largestPayload < 10_010)
        #expect(object.payload == object.largestPayload * 10 && object.meanPayload == Double(object.largestPayload))
        #expect(abs(object.fill - Double(object.payload) / Double(object.pages * 4016)) < 0.05)
    }

    @Test func spaceReportCoversAttachedDatabases() throws {
        let db = try Connection(.file(folder.path("a.db")))
        try db.attach(.file(folder.path("b.db")), as: "O'Brien \"x\"", key: key.with(cipher: .quick))
        try db.execute("CREATE TABLE \"O'Brien \"\"x\"\"\".pair(a, b, PRIMARY KEY (b, a)) WITHOUT ROWID")
        try db.transaction { db in
            for number in 0..<1000 { try db.execute("INSERT INTO pair VALUES (\(number), \(String(repeating: "x", count: 50)))") }
        }
        let report = try db.schema("O'Brien \"x\"").spaceReport()
        #expect(report["pair"]?.entries == 1000 && report.reservedBytesPerPage == 80)
        #expect(report.objects.reduce(0) { $0 + $1.pages } == report.pageCount)
        #expect(try db.main.spaceReport()["pair"] == nil && db.main.spaceReport().reservedBytesPerPage == 0)
    }
}

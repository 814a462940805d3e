import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Where a text stands, in each place of a database that can hold one.
@Suite struct RemnantTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }
    private let word = "zqdeletedword"

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 5, count: 32))
    }

    private func open(_ mode: DatabaseConfiguration.JournalMode = .delete, isEncrypted: Bool = true) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: isEncrypted ? key : nil, configuration: configuration)
        // SQLCipher has it on.
        try db.execute("PRAGMA secure_delete = OFF")
        return db
    }

    private func kinds(_ db: Connection, _ text: String? = nil) throws -> Set<Schema.RemnantReport.Kind> {
        Set(try db.main.findRemnants(of: [text ?? word]).remnants.map(\.kind))
    }

    private func fill(_ db: Connection) throws {
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        for id in 1...30 { try db.execute("INSERT INTO t VALUES (\(id), \("kept \(id) " + String(repeating: "-", count: 600)))") }
    }

    @Test(arguments: [true, false]) func residueFindsTextInPages(isEncrypted: Bool) throws {
        let db = try open(isEncrypted: isEncrypted)
        try fill(db)
        let long = word + String(repeating: "+", count: 20_000) + word + "end"
        try db.execute("INSERT INTO t VALUES (100, \(word + " short")), (101, \(long))")
        let live = try db.main.findRemnants(of: [word, word + "end", "nowhere"])
        #expect(live.isErased && Set(live.places.map(\.target)) == [0, 1] && live.unreadablePages == 0)
        #expect(live.places.allSatisfy { $0.kind == .content && $0.object == "t" && $0.file == path && $0.page ?? 0 > 1 })
        try db.execute("DELETE FROM t WHERE id = 101")
        #expect(try kinds(db, word + "end") == [.freePage])
        try db.execute("DELETE FROM t WHERE id = 100")
        #expect(try kinds(db) == [.slack, .freePage])
        #expect(try db.main.findRemnants(of: ["kept 17"]).isErased)
        try db.main.vacuum()
        #expect(try db.main.findRemnants(of: [word]).places.isEmpty)
        for id in 1...30 { #expect(try db.main.findRemnants(of: ["kept \(id) "]).places.contains(where: \.isLive)) }
    }

    @Test(arguments: [true, false]) func residueFindsTextInWAL(isEncrypted: Bool) throws {
        let db = try open(.wal, isEncrypted: isEncrypted)
        try fill(db)
        try db.execute("PRAGMA secure_delete = ON")
        try db.main.checkpoint(.truncate)
        try db.execute("UPDATE t SET x = 'first' WHERE id = 1")
        try db.execute("UPDATE t SET x = \(word) WHERE id = 17")
        #expect(try db.main.findRemnants(of: [word]).isErased)
        // The file has the row as it was.
        #expect(try kinds(db, "kept 17 ") == [.replacedPage])
        try db.execute("UPDATE t SET x = 'other' WHERE id = 17")
        #expect(try kinds(db).contains(.wal))
        #expect(try db.main.checkpoint(.full).isComplete)
        #expect(try kinds(db).contains(.wal))
        // The next transaction begins the log again; the frames of the last stay behind it.
        try db.execute("INSERT INTO t VALUES (200, 'new')")
        #expect(try kinds(db).contains(.wal))
        try db.main.eraseDeletedContent()
        #expect(try db.main.findRemnants(of: [word, "kept 17 "]).places.isEmpty)
        #expect(try db.main.findRemnants(of: ["new"]).places.map(\.kind) == [.content])
    }

    @Test(arguments: [true, false]) func residueFindsTextInRollbackJournal(isEncrypted: Bool) throws {
        let db = try open(.persist, isEncrypted: isEncrypted)
        try fill(db)
        try db.execute("UPDATE t SET x = \(word + String(repeating: "-", count: 600)) WHERE id = 17")
        try db.execute("PRAGMA secure_delete = ON")
        try db.execute("UPDATE t SET x = 'other' WHERE id = 17")
        #expect(try kinds(db) == [.journal])
        try db.main.eraseDeletedContent()
        #expect(try db.main.findRemnants(of: [word]).places.isEmpty && db.main.journalMode == .persist)
        // Journals that another connection, or another mode, has left.
        for mode in [DatabaseConfiguration.JournalMode.delete, .wal] {
            let other = try open(.persist, isEncrypted: isEncrypted)
            try other.execute("PRAGMA secure_delete = ON")
            try other.execute("UPDATE t SET x = \(word) WHERE id = 17")
            try other.execute("UPDATE t SET x = 'other' WHERE id = 17")
            let left = try Data(contentsOf: URL(fileURLWithPath: path + "-journal"))
            other.close()
            let db = try open(mode, isEncrypted: isEncrypted)
            // The journal's header is wiped: nothing is to be played back.
            #expect(left.first == 0)
            try left.write(to: URL(fileURLWithPath: path + "-journal"))
            #expect(try kinds(db) == [.journal], "\(mode)")
            try db.main.eraseDeletedContent()
            #expect(try db.main.findRemnants(of: [word]).places.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
            try db.main.setJournalMode(.delete)
        }
    }

    @Test func residueFindsTextInStatisticsAndFTS5() throws {
        let db = try open()
        try db.execute(SQLScript("CREATE TABLE t(x); CREATE INDEX t_x ON t(x); CREATE VIRTUAL TABLE f USING fts5(x, prefix='3')"))
        for number in 0..<20 {
            try db.execute("INSERT INTO t VALUES (\("zqdeleted\(number)"))")
            try db.execute("INSERT INTO f VALUES (\("zqdeletedword\(number) Zqdeleted zqcommon"))")
        }
        try db.execute("ANALYZE")
        let live = try db.main.findRemnants(of: ["zqdeleted7", "zqdeletedword7", "Zqdeleted zqcommon"]).places.filter(\.isLive)
        #expect(Set(live.filter { $0.kind == .fullTextIndex }.map(\.target)) == [1, 2])
        #expect(Set(live.filter { $0.kind == .statistics }.map(\.target)) == [0])
        try db.execute("DELETE FROM f WHERE rowid = 8")
        try db.execute("DELETE FROM t WHERE x = 'zqdeleted7'")
        #expect(try kinds(db, "zqdeleted7").contains(.statistics))
        let found = try db.main.findRemnants(of: ["ZQDELETEDWORD7"])
        #expect(found.remnants.contains { $0.kind == .fullTextIndex && $0.object == "f_data" }, "\(found.places)")
        // Another row has both words.
        #expect(try !kinds(db, "zqcommon").contains(.fullTextIndex))
        try db.main.eraseDeletedContent()
        #expect(try db.main.findRemnants(of: ["zqdeletedword7", "zqdeleted7"]).places.isEmpty)
        #expect(try db.main.findRemnants(of: ["zqdeleted8"]).places.contains { $0.kind == .statistics && $0.isLive })
    }

    /// On a free page, too, a word may stand without its beginning, which the word before it has.
    @Test func residueFindsPrefixCompressedFTS5Words() throws {
        let db = try open()
        try db.execute(SQLScript("CREATE VIRTUAL TABLE kept USING fts5(x); CREATE VIRTUAL TABLE f USING fts5(x, content='')"))
        // Blocks that need no overflow pages, as the list of free pages may cover one of those.
        try db.execute("INSERT INTO f(f, rank) VALUES ('pgsz', 500)")
        let others = (0..<3000).map { "zq\($0 * 7919 % 10_000)" }.joined(separator: " ")
        try db.execute("INSERT INTO f(rowid, x) VALUES (1, \("\(word) \(word)s " + others))")
        try db.execute("DROP TABLE f")
        #expect(try kinds(db, word + "s") == [.freePage])
        #expect(try kinds(db, word + "sx") == [])
    }

    @Test func residueFindsTextInLeftoverFiles() throws {
        let db = try open()
        try fill(db)
        let left = path + "-sqlcipherkit-new"
        try db.execute("INSERT INTO t VALUES (100, \(word))")
        try db.main.backup(toFileAt: folder.path("b.db"))
        try FileManager.default.moveItem(atPath: folder.path("b.db"), toPath: left)
        try db.execute("DELETE FROM t WHERE id = 100")
        #expect(try kinds(db) == [.slack, .leftoverFile])
    }

    @Test func residueCountsUnreadablePages() throws {
        let db = try open(.wal)
        try fill(db)
        try db.main.checkpoint(.full)
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        try db.changeKey(to: try .raw([UInt8](repeating: 6, count: 32)))
        try (Data(count: 512) + log).write(to: URL(fileURLWithPath: path + "-journal"))
        #expect(try db.main.findRemnants(of: ["kept"]).unreadablePages > 0)
    }

    @Test func invalidResidueArgumentsThrow() throws {
        let db = try open()
        #expect(throws: DatabaseError.self) { try db.main.findRemnants(of: [""]) }
        #expect(throws: DatabaseError.self) { try db.main.findRemnants(of: [Data()]) }
        #expect(throws: DatabaseError.self) { try db.transaction { try $0.main.findRemnants(of: ["x"]) } }
        #expect(try db.main.findRemnants(of: [String]()).places.isEmpty)
        struct Enough: Error {}
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (zeroblob(1000000))")
        #expect(throws: Enough.self) { try db.main.findRemnants(of: ["x"]) { _ in throw Enough() } }
        #expect(!db.isInTransaction)
    }
}

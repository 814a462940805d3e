import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSearch
import Testing
import TestSupport

/// Deleted content, in every kind of table and index, cannot be read after `erase`, by this package or another.
@Suite struct ErasureTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 7, count: 32))
    }

    struct Form: CustomStringConvertible {
        let mode: DatabaseConfiguration.JournalMode
        let autoVacuum: Int
        let isEncrypted: Bool
        var description: String { "\(mode) \(autoVacuum) \(isEncrypted ? "encrypted" : "plaintext")" }

        /// One form; all with SQLCIPHERKIT_LONG_TESTS.
        static let all: [Form] = LongTests.sample(
            1,
            of: [DatabaseConfiguration.JournalMode.delete, .persist, .truncate, .wal].flatMap { mode in
                (0...2).flatMap { autoVacuum in
                    [true, false].map { Form(mode: mode, autoVacuum: autoVacuum, isEncrypted: $0) }
                }
            })
    }

    private func open(_ form: Form, _ name: String = "a.db") throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = form.mode
        return try Connection(.file(folder.path(name)), key: form.isEncrypted ? key : nil, configuration: configuration)
    }

    /// The database's pages, decrypted by an implementation that shares no code with this one, with the other files as they are.
    private func allBytes(_ form: Form, _ names: [String]) throws -> Data {
        var bytes = Data()
        for name in try folder.names() where names.contains(where: { name.hasPrefix($0) }) {
            bytes += try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
        }
        guard form.isEncrypted else { return bytes }
        for name in names {
            let output = folder.path("out")
            _ = try Python.run(
                """
                import sys, apsw
                db = apsw.Connection(sys.argv[1])
                db.execute("PRAGMA cipher = 'sqlcipher'")
                db.execute("PRAGMA legacy = 4")
                db.execute("PRAGMA key = \\"x'" + "07" * 32 + "'\\"")
                db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
                open(sys.argv[2], "wb").write(db.serialize("main"))
                """, folder.path(name), output)
            let decrypted = try Data(contentsOf: URL(fileURLWithPath: output))
            #expect(decrypted.starts(with: Data("SQLite format 3".utf8)))
            bytes += decrypted
            try FileManager.default.removeItem(atPath: output)
        }
        return bytes
    }

    private func found(_ bytes: Data) -> [String] { MarkedDatabase.marks.filter { bytes.range(of: Data($0.utf8)) != nil } }

    /// The words that FTS5 itself still knows.
    private func words(_ db: Connection) throws -> Set<String> {
        var words: Set<String> = []
        for index in try db.main.fullTextIndexes() { words.formUnion(try index.terms().map(\.term)) }
        return words
    }

    @Test(arguments: Form.all) func eraseLeavesNoResidue(form: Form) throws {
        let db = try open(form)
        try db.execute("PRAGMA auto_vacuum = \(raw: "\(form.autoVacuum)")")
        try db.execute("VACUUM")
        // SQLCipher has it on.
        try db.execute("PRAGMA secure_delete = OFF")
        try MarkedDatabase.fill(db)
        let marks = MarkedDatabase.marks
        let before = try db.main.findRemnants(of: marks)
        #expect(Set(before.places.filter(\.isLive).map(\.target)) == Set(marks.indices))
        try MarkedDatabase.deleteMarked(db)
        let deleted = try db.main.findRemnants(of: marks)
        let left = Set(deleted.remnants.map(\.target))
        #expect(left.count == marks.count, "not found: \(marks.indices.filter { !left.contains($0) }.map { marks[$0] })")
        #expect(deleted.places.allSatisfy { !$0.isLive }, "\(deleted.places.filter(\.isLive))")
        #expect(try !db.main.findRemnants(of: [MarkedDatabase.coordinate]).isErased)
        let content = try MarkedDatabase.content(db)

        let report = try db.main.eraseDeletedContent()
        #expect(try report.isComplete && report.pages == db.main.pageCount, "\(report)")
        #expect(report.trees == ["tree"] && report.fullTextIndexes.count == MarkedDatabase.fullText.count + 3)
        #expect(try db.main.freePageCount == 0 && db.main.journalMode == form.mode)
        let after = try db.main.findRemnants(of: marks)
        #expect(after.places.isEmpty, "\(after.places)")
        #expect(after.unreadablePages == 0)
        #expect(try db.main.findRemnants(of: [MarkedDatabase.coordinate]).places.isEmpty)
        #expect(try words(db).isDisjoint(with: marks))
        #expect(try MarkedDatabase.content(db) == content)
        #expect(try db.main.verify().isIntact)
        #expect(found(try allBytes(form, ["a.db"])) == [])

        // Nor does anything travel.
        try db.main.backup(toFileAt: folder.path("b.db"))
        try db.main.backup(toFileAt: folder.path("c.db"), options: .compact)
        if form.isEncrypted {
            try db.changeKey(to: key, mode: .newFile)
        }
        #expect(found(try allBytes(form, ["a.db", "b.db", "c.db"])) == [])
        for name in ["b.db", "c.db"] {
            let copy = try Connection(.file(folder.path(name)), key: form.isEncrypted ? key : nil)
            #expect(try copy.main.findRemnants(of: marks).places.isEmpty)
            #expect(try MarkedDatabase.content(copy) == content)
        }
    }

    /// Shows that the search above can find something: the rest that a vacuum leaves.
    @Test func vacuumLeavesIndexWordsAndStatistics() throws {
        let form = Form(mode: .delete, autoVacuum: 0, isEncrypted: true)
        let db = try open(form)
        try MarkedDatabase.fill(db)
        try MarkedDatabase.deleteMarked(db)
        try db.main.vacuum()
        let kinds = Set(try db.main.findRemnants(of: MarkedDatabase.marks).places.map(\.kind))
        #expect(kinds == [.fullTextIndex, .statistics])
        #expect(!found(try allBytes(form, ["a.db"])).isEmpty)
    }

    /// Tables that only look like an index of FTS4.
    @Test func eraseRecognizesOnlyRealFTS4Indexes() throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE VIRTUAL TABLE older USING fts4(x);
            CREATE VIRTUAL TABLE terms USING fts4aux(older);
            CREATE TABLE terms_segdir(x);
            INSERT INTO older VALUES ('kept');
            """))
        #expect(try db.main.eraseDeletedContent().fullTextIndexes == ["older"])
        #expect(try db.fetchOne(String.self, "SELECT term FROM terms") == "kept")
    }

    /// An index of rows that were chosen, and one whose content has changed without it.
    @Test func eraseReportsUnmatchedFTS5Indexes() throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE VIRTUAL TABLE f USING fts5(x, content='t', content_rowid='id');
            INSERT INTO t VALUES (1, 'public'), (2, 'private');
            INSERT INTO f(rowid, x) SELECT id, x FROM t WHERE id = 1;
            """))
        #expect(try db.main.eraseDeletedContent().unmatchedIndexes == ["f"])
        #expect(try db.fullText("f").terms().map(\.term) == ["public"])
        try db.fullText("f").rebuild()
        #expect(try db.main.eraseDeletedContent().isComplete)
        try db.execute("DELETE FROM t WHERE id = 2")
        let report = try db.main.eraseDeletedContent()
        #expect(report.unmatchedIndexes == ["f"] && !report.isComplete)
        #expect(try db.main.findRemnants(of: ["private"]).places.map(\.kind) == [.fullTextIndex])
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .persist, .wal])
    func eraseWithOpenReaderThrows(mode: DatabaseConfiguration.JournalMode) throws {
        let form = Form(mode: mode, autoVacuum: 0, isEncrypted: true)
        let db = try open(form)
        try db.execute("PRAGMA secure_delete = OFF")
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES ('one'), ('zqdeleted'); DELETE FROM t WHERE rowid = 2"))
        try db.settings.setBusyTimeout(.milliseconds(20))
        try db.main.setSynchronous(.normal)
        let other = try open(form)
        let cursor = try other.cursor(String.self, "SELECT x FROM t")
        _ = try cursor.next()
        let error = #expect(throws: DatabaseError.self) { try db.main.eraseDeletedContent() }
        #expect(error?.reason == .busy && error?.message.contains("nothing has changed") == true, "\(String(describing: error))")
        #expect(try !db.main.findRemnants(of: ["zqdeleted"]).isErased && db.main.journalMode == mode)
        cursor.close()
        // A connection that is open and does nothing is no hindrance.
        try db.main.eraseDeletedContent()
        #expect(try db.main.findRemnants(of: ["zqdeleted"]).places.isEmpty)
        #expect(try other.fetchAll(String.self, "SELECT x FROM t") == ["one"])
        #expect(try db.main.synchronous == .normal)
    }

    @Test func memoryAndAttachedDatabasesAreErased() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES ('one'), ('zqdeleted'); DELETE FROM t WHERE rowid = 2"))
        try db.main.eraseDeletedContent()
        #expect(try db.main.findRemnants(of: ["zqdeleted"]).places.isEmpty)
        let archive = try db.attach(.file(path), as: "archive", key: key)
        try db.execute(SQLScript("""
            PRAGMA secure_delete = OFF;
            CREATE TABLE archive.t(x);
            INSERT INTO archive.t VALUES ('one'), ('zqdeleted');
            DELETE FROM archive.t WHERE rowid = 2
            """))
        #expect(try archive.findRemnants(of: ["zqdeleted"]).remnants.map(\.kind) == [.slack])
        try archive.eraseDeletedContent()
        #expect(try archive.findRemnants(of: ["zqdeleted", "one"]).places.map(\.kind) == [.content])
        func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
            do { try body() } catch { return (error as? DatabaseError)?.reason }
            return nil
        }
        #expect(reason { try db.temp.eraseDeletedContent() } == .misuse)
        #expect(reason { try db.transaction { db -> Void in try db.main.eraseDeletedContent() } } == .misuse)
        #expect(reason { try db.schema("nowhere").eraseDeletedContent() } == .schemaName)
        try archive.detach()
        #expect(reason { try archive.eraseDeletedContent() } == .schemaName)
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let reader = try Connection(.file(path), key: key, configuration: configuration)
        #expect(reason { try reader.main.eraseDeletedContent() } == .misuse)
        #expect(try reader.main.findRemnants(of: ["one"]).isErased)
    }

    @Test func cancelledEraseChangesNothing() throws {
        struct Enough: Error {}
        let db = try Connection(.file(path), key: key)
        try MarkedDatabase.fill(db)
        try MarkedDatabase.deleteMarked(db)
        var calls = 0
        #expect(throws: Enough.self) {
            try db.main.eraseDeletedContent { progress in
                calls += 1
                if calls == 5 { throw Enough() }
            }
        }
        #expect(calls == 5)
        #expect(try db.main.findRemnants(of: MarkedDatabase.marks).remnants.contains { $0.kind == .fullTextIndex })
        var last = 0.0
        try db.main.eraseDeletedContent { last = $0.fractionCompleted }
        #expect(last == 1)
    }

    @Test func eraseThroughPoolLeavesNoResidue() async throws {
        let pool = try DatabasePool(.file(path), key: key)
        try await pool.write { db in
            try MarkedDatabase.fill(db)
            try MarkedDatabase.deleteMarked(db)
        }
        _ = try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM a") }
        #expect(try await !pool.main.findRemnants(of: MarkedDatabase.marks).isErased)
        let report = try await pool.main.eraseDeletedContent()
        #expect(report.isComplete && report.journalBytes > 0)
        #expect(try await pool.main.findRemnants(of: MarkedDatabase.marks).places.isEmpty)
        #expect(try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM a") } == 79)
        try await pool.close()
    }
}

import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct VerifyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ configuration: DatabaseConfiguration = DatabaseConfiguration(), cipher: CipherConfiguration = .quick) throws {
        let db = try Connection(.file(path), key: .passphrase("k", cipher: cipher), configuration: configuration)
        try RichDatabase.fill(db, rows: 40)
    }

    private func open(_ configuration: DatabaseConfiguration = DatabaseConfiguration(), cipher: CipherConfiguration = .quick) throws -> Connection {
        try Connection(.file(path), key: .passphrase("k", cipher: cipher), configuration: configuration)
    }

    /// A connection that has read a full-text index before another one changed it.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func verifyFindsNoDamageAfterFTS5WritesElsewhere(mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let writer = try open(configuration), reader = try open(configuration)
        try writer.create(FTS5Table("words", columns: ["a"]))
        for round in 0..<20 {
            #expect(try reader.fullText("words").search(.phrase("common")).total.count == round)
            try writer.execute("INSERT INTO words VALUES (\("common \(round)"))")
            #expect(try reader.fetchAll(String.self, "PRAGMA integrity_check") == ["ok"])
            #expect(try reader.main.verify().isIntact)
        }
        // Real damage is still found.
        try writer.settings.setEnabled(.defensive, to: false)
        try writer.execute("DELETE FROM words_content WHERE id = 3")
        #expect(try reader.fetchAll(String.self, "PRAGMA integrity_check") != ["ok"])
    }

    /// The distance to a page's last term leads out of the page.
    @Test(arguments: ["full", "column", "none"], [false, true])
    func verifyFindsHostileFullTextPages(detail: String, isSecure: Bool) throws {
        do {
            let db = try open()
            try db.execute(SQL(raw: "CREATE VIRTUAL TABLE words USING fts5(a, detail=\(detail))"))
            let index = try db.fullText("words")
            try index.configure(.pageSize(32))
            if isSecure { try index.configure(.secureDelete(true)) }
            for number in 0..<40 { try db.execute("INSERT INTO words VALUES (\("alpha word\(number * number) beta"))") }
            try index.optimize()
            if isSecure { try db.execute("DELETE FROM words WHERE rowid = 3") }
            #expect(try db.main.verify().isIntact)
            try db.settings.setEnabled(.defensive, to: false)
            var changed = 0
            for id in try db.fetchAll(Int64.self, "SELECT id FROM words_data WHERE id > 10") {
                var block: [UInt8] = try #require(try db.fetchOne("SELECT block FROM words_data WHERE id = \(id)"))
                if block.count < Int(block[2]) << 8 + Int(block[3]) + 2 { continue }
                block.replaceSubrange(block.count - 1..<block.count, with: [0x87, 0xff, 0xff, 0xff, 0x70])
                try db.execute("UPDATE words_data SET block = \(block) WHERE id = \(id)")
                changed += 1
            }
            #expect(changed > 3)
        }
        for quick in [false, true] {
            let problems = try open().main.verify(quick: quick).problems
            #expect(problems.contains { if case .structure(let text) = $0 { text.contains("words") } else { false } }, "\(problems)")
        }
    }

    /// A segment's first term begins within the header of its page. SQLite's own check takes it for an empty one, and a search
    /// refuses the page.
    @Test(arguments: ["full", "column", "none"]) func verifyFindsFullTextPageThatOnlySearchRefuses(detail: String) throws {
        do {
            let db = try open()
            try db.execute(SQL(raw: "CREATE VIRTUAL TABLE words USING fts5(a, detail=\(detail))"))
            let index = try db.fullText("words")
            try index.configure(.pageSize(32))
            for number in 0..<80 { try db.execute("INSERT INTO words VALUES (\("alpha word\(number)"))") }
            try index.optimize()
            #expect(try db.main.verify().isIntact)
            try db.settings.setEnabled(.defensive, to: false)
            var block: [UInt8] = try #require(try db.fetchOne("SELECT block FROM words_data WHERE id > 10 ORDER BY id LIMIT 1"))
            // The only term of the page, whose rows go on on the next one.
            let leaf = Int(block[2]) << 8 + Int(block[3])
            #expect(block.count == leaf + 1 && block[leaf] == 4)
            block[leaf] = 2
            try db.execute("UPDATE words_data SET block = \(block) WHERE id = (SELECT min(id) FROM words_data WHERE id > 10)")
        }
        let db = try open()
        let error = #expect(throws: DatabaseError.self) { try db.fullText("words").search("alhpa") }
        #expect(error.map { .corrupt ~= $0.code } == true)
        for quick in [false, true] {
            let problems = try db.main.verify(quick: quick).problems
            #expect(problems.contains { if case .structure(let text) = $0 { text.contains("words") } else { false } }, "\(problems)")
        }
    }

    /// After a power failure in a checkpoint, a page may be half written in the file and whole in the log.
    @Test func verifyIgnoresDamagedPagesReplacedByTheWAL() throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        try make(configuration)
        let writer = try open(configuration)
        try writer.main.checkpoint(.truncate)
        try writer.execute("CREATE TABLE new AS SELECT zeroblob(9000) AS x")
        let copy = folder.path("copy.db"), last = try writer.main.pageCount
        let other = try #require(
            try writer.fetchOne(Int.self, "SELECT min(pageno) FROM dbstat WHERE pagetype = 'leaf' AND name NOT LIKE 'sqlite%'"))
        for page in [1, last, other] {
            for suffix in ["", "-wal"] {
                try? FileManager.default.removeItem(atPath: copy + suffix)
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
            try file.seek(toOffset: UInt64((page - 1) * 4096 + 512))
            try file.write(contentsOf: Data(repeating: 7, count: 512))
            try file.close()
            let db = try Connection(.file(copy), key: .passphrase("k").quick)
            let problems = try db.main.verify().problems
            #expect(problems.isEmpty == (page != other), "page \(page): \(problems)")
            try db.main.checkpoint(.truncate)
            #expect(try db.main.verify().problems == problems)
        }
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func verifyReportsIntactDatabase(mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        try make(configuration)
        let db = try open(configuration)
        try db.execute("DELETE FROM child")
        let report = try db.main.verify()
        #expect(report.isIntact && report.isAuthenticated, "\(report)")
        #expect(report.pageCount == (try db.fetchOne(Int.self, "PRAGMA page_count")))
        #expect(try db.main.verify(quick: true).isIntact)
        try db.attach(.memory, as: "m", key: .plaintext)
        #expect(try db.schema("m").verify().isAuthenticated == false)
        let error = #expect(throws: DatabaseError.self) { try db.schema("nowhere").verify() }
        #expect(error?.reason == .schemaName)
        let memory = try db.schema("m")
        try db.schema("m").detach()
        let detached = #expect(throws: DatabaseError.self) { try memory.verify() }
        #expect(detached?.reason == .schemaName)
        #expect(try Connection(.memory, key: .passphrase("k").quick).main.verify().isIntact)
    }

    /// One flip in each page, at a place that moves from page to page: found every time, at opening or by verifying.
    @Test(arguments: [CipherConfiguration.Hash.sha512, .sha256, .sha1]) func verifyFindsFlippedBitInEachPage(hash: CipherConfiguration.Hash) throws {
        var cipher = CipherConfiguration.quick
        cipher.hmacAlgorithm = hash
        try make(cipher: cipher)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let pages = whole.count / 4096
        #expect(pages > 20)
        // With SHA-1, the last 12 bytes of a page are filling.
        let room = hash == .sha1 ? 4084 : 4096
        var byVerifying = 0
        for page in 1...pages {
            for offset in [page * 997 % room, 0, room - 1] {
                var damaged = whole
                damaged[(page - 1) * 4096 + offset] ^= UInt8(1 << (page % 8))
                try damaged.write(to: URL(fileURLWithPath: path))
                let db: Connection
                do { db = try open(cipher: cipher) } catch { continue }
                #expect(try db.main.verify().problems == [.damagedPage(page)], "page \(page), byte \(offset)")
                byVerifying += 1
            }
        }
        #expect(byVerifying > pages * 2)
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(try open(cipher: cipher).main.verify().problems.filter { if case .foreignKey = $0 { false } else { true } } == [])
    }

    /// Changes a file from outside of this process, whose connection has it open.
    private func patch(_ offset: Int, _ octal: String) throws {
        #expect(try Command.run("sh", ["-c", "printf '\(octal)' | dd of=\"$0\" bs=1 seek=\(offset) conv=notrunc", path]).status == 0)
    }

    @Test func verifyReportsDamagedSalt() throws {
        try make()
        let db = try open()
        try patch(5, "\\000\\001")
        #expect(try db.main.verify().problems == [.damagedHeader])
        #expect(throws: DatabaseError.self) { try open() }
    }

    @Test func verifyReportsMissingPages() throws {
        try make()
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        let db = try open()
        for (cut, problem) in [
            (100, Schema.IntegrityReport.Problem.incompletePage(size / 4096, bytes: 3996)), (4096, .missingPages(declared: size / 4096, present: size / 4096 - 1)),
            (4096 * 5, .missingPages(declared: size / 4096, present: size / 4096 - 5)),
        ] {
            #expect(try Command.run("truncate", ["-s", "\(size - cut)", path]).status == 0)
            let problems = try db.main.verify().problems
            #expect(problems.contains(problem), "\(cut): \(problems)")
        }
        // Whoever opens it now is told of damage, not of a wrong key.
        let error = #expect(throws: DatabaseError.self) { try open() }
        #expect(error?.code == .corrupt && error?.message.contains(path) == true)
    }

    @Test func verifyReportsForeignKeyAndIndexProblems() throws {
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        try make(configuration)
        let db = try open(configuration)
        try db.execute("DELETE FROM child")
        try db.execute("INSERT INTO child VALUES (5, 99999)")
        #expect(try db.main.verify().problems == [.foreignKey(table: "child", rowID: 5, parent: "note", index: 0)])
        try db.execute("DELETE FROM child")
        // An index that does not know of a row.
        try db.execute(SQLScript("""
            CREATE TABLE s(x); CREATE INDEX s_x ON s(x); INSERT INTO s VALUES (1);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX s_x ON s(x) WHERE x > 5' WHERE name = 's_x';
            PRAGMA writable_schema = RESET;
            INSERT INTO s VALUES (2);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX s_x ON s(x)' WHERE name = 's_x';
            PRAGMA writable_schema = RESET;
            """))
        let problems = try db.main.verify().problems
        #expect(problems.contains { if case .structure(let text) = $0 { text.contains("s_x") } else { false } }, "\(problems)")
    }

    /// SQLite's check ends at the first foreign key that it cannot check; the other tables are checked all the same.
    @Test func verifyReportsUncheckableForeignKeys() throws {
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        try make(configuration)
        let db = try open(configuration)
        try db.execute(SQLScript("""
            DELETE FROM child;
            INSERT INTO child VALUES (5, 99999);
            CREATE TABLE "a 'b"" c"(x);
            CREATE TABLE "first"(y REFERENCES "a 'b"" c"(x));
            CREATE TABLE "z 'b"" c"(y PRIMARY KEY REFERENCES "a 'b"" c"(gone)) WITHOUT ROWID;
            """))
        let violation = Schema.IntegrityReport.Problem.foreignKey(table: "child", rowID: 5, parent: "note", index: 0)
        for quick in [false, true] {
            let problems = try db.main.verify(quick: quick).problems
            #expect(problems.contains(violation) && problems.count == 3, "\(problems)")
            for name in ["first", "z 'b\" c"] {
                let text = "foreign key mismatch - \(name.quotedSQLIdentifier) referencing \"a 'b\"\" c\""
                #expect(problems.contains(.structure(text)), "\(problems)")
            }
        }
    }

    /// Neither a row that refers to nothing nor a key that SQLite cannot check is damage.
    @Test func foreignKeyViolationsDoNotBlockCopying() throws {
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        try make(configuration)
        let db = try open(configuration), other = try DatabaseKey.passphrase("other").quick
        try db.execute(SQLScript("""
            INSERT INTO child VALUES (1005, 99999);
            CREATE TABLE parent(x);
            CREATE TABLE mismatched(y REFERENCES parent(x));
            INSERT INTO mismatched VALUES (7);
            """))
        #expect(try db.main.verify().problems.count == 2)
        func holds(_ db: Connection) throws -> Bool {
            try db.fetchOne(Int.self, "SELECT y FROM mismatched") == 7
                && db.fetchOne(Int.self, "SELECT count(*) FROM child WHERE rowid = 1005") == 1
        }
        try db.main.backup(toFileAt: folder.path("b.db"))
        try db.main.backup(toFileAt: folder.path("c.db"), key: other)
        for (name, key) in try [("b.db", DatabaseKey.passphrase("k", cipher: .quick)), ("c.db", other)] {
            try db.execute("DELETE FROM mismatched")
            try db.main.restore(fromFileAt: folder.path(name), key: key)
            #expect(try holds(db))
        }
        try db.main.vacuum()
        try db.changeKey(to: .passphrase("in place", cipher: .quick))
        #expect(try holds(db))
        try db.changeKey(to: other, mode: .newFile)
        try DatabaseConverter.decrypt(fileAt: path, key: other)
        #expect(try holds(Connection(.file(path), configuration: configuration)))
    }

    /// An R-Tree without one of its tables is damage; a function that the schema needs and this connection lacks is none.
    @Test func verifyDistinguishesDamageFromMissingFunctions() throws {
        try make()
        do {
            let db = try open()
            try db.execute("DELETE FROM child")
            try db.execute(SQLScript("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'area_node'; PRAGMA writable_schema = RESET"))
        }
        let problems = try open().main.verify().problems
        #expect(problems.contains { if case .structure(let text) = $0 { text.contains("area_node") } else { false } }, "\(problems)")
        #expect(problems.count == 1)

        let tables = ["rtree(id, a, b)", "fts5(x)", "fts5(x, content = '')", "fts4(x)"]
        for (number, table) in tables.enumerated() {
            let path = folder.path("v\(number).db"), key = try DatabaseKey.passphrase("k").quick
            let made = try Connection(.file(path), key: key)
            // Names and comments that a search for words would stumble over.
            let name = ["v", "housing", "using", "using fts4"][number]
            try made.execute("CREATE VIRTUAL TABLE \"\(raw: name)\" /* using rtree */ USING \(raw: table)")
            try made.execute("INSERT INTO \"\(raw: name)\"(rowid, \(raw: number == 0 ? "a, b" : "x")) VALUES (1, 2\(raw: number == 0 ? ", 3" : ""))")
            let parts = try made.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE \(name + "_%")")
            made.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            for part in parts where !part.hasSuffix("content") && !part.hasSuffix("docsize") && !part.hasSuffix("stat") {
                try bytes.write(to: URL(fileURLWithPath: path))
                let db = try Connection(.file(path), key: key)
                try db.execute(SQLScript(
                    "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE tbl_name = '\(part)'; PRAGMA writable_schema = RESET"))
                db.close()
                let problems = try Connection(.file(path), key: key).main.verify().problems
                #expect(problems.contains { if case .structure = $0 { true } else { false } }, "\(table) without \(part): \(problems)")
            }
            #expect(parts.count > 2)
        }

        let other = folder.path("f.db")
        do {
            let db = try Connection(.file(other), key: .passphrase("k").quick)
            try db.register(.function("half", .deterministic) { (x: Double) in x / 2 })
            try db.execute(SQLScript("CREATE TABLE t(x); CREATE INDEX t_half ON t(half(x)); INSERT INTO t VALUES (1)"))
        }
        let report = try Connection(.file(other), key: .passphrase("k").quick).main.verify()
        #expect(report.problems.isEmpty && report.unchecked.map(\.name) == ["t"])
    }

    @Test func verifyWithoutHMACReportsNoAuthentication() throws {
        var cipher = CipherConfiguration.quick
        cipher.usesHMAC = false
        try make(cipher: cipher)
        let report = try open(cipher: cipher).main.verify()
        #expect(report.problems.first == .noAuthentication && !report.isAuthenticated && !report.isIntact)
    }
}

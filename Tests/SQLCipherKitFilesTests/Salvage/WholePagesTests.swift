import Foundation
import KitSupport
import SQLCipherKitCore
@testable import SQLCipherKitFiles
import Testing
import TestSupport

/// Every row whose own pages are whole is salvaged, whatever else is lost: pages that lead to it, or the first page.
@Suite struct WholePagesTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }
    var newPath: String { folder.path("b.db") }
    private static let pageSize = 1024
    private static let tables = ["a", "pair", "wide", "own_content"]

    init() throws {
        folder = try TemporaryFolder()
        var cipher = CipherConfiguration.quick
        cipher.pageSize = Self.pageSize
        key = try .passphrase("k", cipher: cipher)
    }

    struct Case: CustomTestStringConvertible {
        var permille: Int
        var autoVacuum: Int
        var hasLog: Bool
        var harmed: Harmed

        enum Harmed: CaseIterable { case random, inner, first, firstAndInner }
        var testDescription: String { "\(permille) ‰, auto_vacuum \(autoVacuum), \(hasLog ? "a log, " : "")\(harmed)" }

        static let all = [1, 10, 50, 200].flatMap { permille in
            (0...2).flatMap { autoVacuum in
                [false, true].flatMap { hasLog in
                    Harmed.allCases.map { Case(permille: permille, autoVacuum: autoVacuum, hasLog: hasLog, harmed: $0) }
                }
            }
        }
    }

    /// A page as SQLite itself counts it (<https://sqlite.org/dbstat.html>).
    private struct Page { let name: String, path: String, number: Int, kind: String, cells: Int }

    /// A database of trees with three levels, each of whose rows has a text of its own; what was deleted is on free pages.
    private func make(_ autoVacuum: Int, hasLog: Bool, key: DatabaseKey? = nil) throws -> (db: Connection, pages: [Page], rows: [String: Set<String>]) {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = hasLog ? .wal : .delete
        configuration.beforeHeader = { db in
            if key?.isPlaintext == true { try db.execute(SQL(raw: "PRAGMA page_size = \(Self.pageSize)")) }
            try db.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
        }
        let db = try Connection(.file(path), key: key ?? self.key, configuration: configuration)
        try db.execute(SQLScript("""
            CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT, n INTEGER, z BLOB);
            CREATE INDEX a_n ON a(n);
            CREATE TABLE pair(v, k TEXT, n INTEGER, PRIMARY KEY (n, k)) WITHOUT ROWID;
            CREATE INDEX pair_v ON pair(v);
            CREATE TABLE wide(body TEXT NOT NULL, rest BLOB);
            CREATE VIEW names AS SELECT x FROM a;
            CREATE VIRTUAL TABLE own USING fts5(x);
            """))
        try db.transaction { db in
            for number in 0..<1500 {
                try db.execute("INSERT INTO a VALUES (\(number * 3), \("a:\(number);"), \(number % 50), zeroblob(120))")
                try db.execute("INSERT INTO pair VALUES (\(number), \("p:\(number);" + String(repeating: "k", count: 90)), \(number % 7))")
                if number % 3 == 0 { try db.execute("INSERT INTO own VALUES (\("o:\(number); " + String(repeating: "w", count: 200)))") }
                if number % 20 == 0 { try db.execute("INSERT INTO wide VALUES (\("w:\(number);"), zeroblob(3000))") }
            }
            for table in ["a", "pair"] { try db.execute(SQL(raw: "DELETE FROM \(table) WHERE n % 7 = 3")) }
        }
        if hasLog { try db.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        let pages: [(String, String, Int, String, Int)] = try db.fetchAll("SELECT name, path, pageno, pagetype, ncell FROM dbstat")
        var rows: [String: Set<String>] = [:]
        for (table, column) in zip(Self.tables, ["x", "k", "body", "c0"]) {
            rows[table] = Set(try db.fetchAll(String.self, SQL(raw: "SELECT \(column) FROM \(table)")).map(Self.mark))
        }
        return (db, pages.map { Page(name: $0.0, path: $0.1, number: $0.2, kind: $0.3, cells: $0.4) }, rows)
    }

    private static func mark(_ text: String) -> String { String(text.prefix { $0 != ";" }) }

    /// The rows that were on pages of which one is damaged, by what SQLite counts of them. No program can find the others' values.
    private func lostRows(_ pages: [Page], _ damaged: Set<Int>, _ table: String) -> Int {
        let own = pages.filter { $0.name == table }
        let harmed = own.filter { damaged.contains($0.number) }
        let leaves = harmed.filter { $0.kind == "leaf" || ($0.kind == "internal" && table == "pair") }
        return leaves.reduce(0) { $0 + $1.cells }
    }

    /// The marks of all rows, in the tables themselves and among what was lost and found.
    private func marks(in copy: Connection) throws -> [String: Set<String>] {
        let columns = zip(Self.tables, ["x", "k", "body", "c0"])
        var found: [String: Set<String>] = [:]
        for (table, column) in columns where try copy.main.has(table) {
            found[table] = Set(try copy.fetchAll(String?.self, SQL(raw: "SELECT \(column) FROM \(table)")).compactMap { $0 }.map(Self.mark))
        }
        for table in try copy.main.tables().map(\.name) where table.hasPrefix("lost_and_found") {
            for column in try copy.main.columns(of: table).map(\.name) {
                let texts = try copy.fetchAll(String.self, SQL(raw: "SELECT \(column) FROM \(table) WHERE typeof(\(column)) = 'text'"))
                for (table, letter) in zip(Self.tables, ["a:", "p:", "w:", "o:"]) {
                    found[table, default: []].formUnion(texts.filter { $0.hasPrefix(letter) }.map(Self.mark))
                }
            }
        }
        return found
    }

    /// SQLite's own shell saves no row of a plaintext database that is not saved here. Its library must have `sqlite_dbpage`, so
    /// this builds one from the pinned source, which the shell takes for its own.
    @Test(.enabled(if: LongTests.areOn && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")))
    func salvageFindsEveryRowThatSQLiteRecoverFinds() throws {
        let version = try Command.run("/usr/bin/sqlite3", ["--version"]).output.split(separator: " ").dropFirst().prefix(3)
        let archive = try #require(ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_ARCHIVE"])
        #expect(try Command.run("/bin/tar", ["xzf", archive, "-C", folder.url.path, "--strip-components=2"]).status == 0)
        let source = folder.path("sqlite3.c")
        var text = try String(contentsOfFile: source, encoding: .utf8)
        let line = try #require(text.range(of: "#define SQLITE_SOURCE_ID "))
        let end = try #require(text[line.upperBound...].firstIndex(of: "\n"))
        text.replaceSubrange(line.upperBound..<end, with: "\"\(version.joined(separator: " ").trimmingCharacters(in: .newlines))\"")
        try text.write(toFile: source, atomically: true, encoding: .utf8)
        let options = [
            "ENABLE_DBPAGE_VTAB", "ENABLE_FTS5", "ENABLE_COLUMN_METADATA", "ENABLE_SESSION", "ENABLE_PREUPDATE_HOOK",
            "ENABLE_STMT_SCANSTATUS", "ENABLE_NORMALIZE",
        ]
        let built = try Command.run(
            "clang", ["-O1", "-w", "-shared", "-fPIC", "-o", folder.path("libsqlite3.so.0"), source, "-lm"] + options.map { "-DSQLITE_\($0)" })
        #expect(built.status == 0, "\(built.errors)")
        func shell(_ script: String) throws -> Command.Outcome {
            try Command.run("/bin/sh", ["-c", script], environment: ["LD_LIBRARY_PATH": folder.url.path])
        }
        for permille in [1, 10, 50, 200] {
            for autoVacuum in 0...1 {
                for suffix in ["", "-journal", "-wal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                let (db, _, rows) = try make(autoVacuum, hasLog: false, key: .plaintext)
                var random = SeededGenerator(state: UInt64(permille) ^ Seed.value)
                let count = try PageReader(db.main).pageCount
                db.close()
                try damage(Set((2...count).shuffled(using: &random).prefix(max(1, count * permille / 1000))), first: false)
                let theirPath = folder.path("theirs.db")
                for path in [theirPath, newPath] { try? FileManager.default.removeItem(atPath: path) }
                let outcome = try shell("/usr/bin/sqlite3 \(path) .recover | /usr/bin/sqlite3 \(theirPath)")
                try DatabaseConverter.salvage(fileAt: path, key: .plaintext, to: newPath)
                let theirs = try marks(in: Connection(.file(theirPath))), ours = try marks(in: Connection(.file(newPath)))
                var sums = (all: 0, theirs: 0, ours: 0)
                for table in Self.tables {
                    let all = rows[table] ?? []
                    let (their, our) = (theirs[table, default: []].intersection(all), ours[table, default: []].intersection(all))
                    sums = (sums.all + all.count, sums.theirs + their.count, sums.ours + our.count)
                    #expect(our.isSuperset(of: their), "\(permille) ‰, \(autoVacuum), \(table): \(their.subtracting(our).sorted().prefix(5))")
                }
                #expect(sums.theirs > sums.all / 2, "\(outcome.errors.prefix(500))")
                print("\(permille) ‰, auto_vacuum \(autoVacuum): \(sums.ours) rows, .recover \(sums.theirs), of \(sums.all)")
            }
        }
    }

    @Test(arguments: LongTests.sample(3, of: Case.all)) func salvageReturnsAllRowsOfIntactPages(one: Case) throws {
        let (db, pages, rows) = try make(one.autoVacuum, hasLog: one.hasLog)
        let reader = try PageReader(db.main)
        var random = SeededGenerator(state: UInt64(one.permille) ^ Seed.value)
        let count = reader.pageCount
        var damaged = Set((2...count).shuffled(using: &random).prefix(max(1, count * one.permille / 1000)))
        if one.harmed == .inner || one.harmed == .firstAndInner {
            damaged.formUnion(pages.filter { $0.kind == "internal" && Self.tables.contains($0.name) && $0.number > 1 }
                .shuffled(using: &random).prefix(12).map(\.number))
        }
        if one.hasLog {
            // The rest is in the log alone.
            try db.execute("INSERT INTO a VALUES (100000, 'a:late;', 1, NULL)")
            for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path("c.db") + suffix) }
        }
        db.close()
        if one.hasLog {
            for suffix in ["", "-wal"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
                try FileManager.default.moveItem(atPath: folder.path("c.db") + suffix, toPath: path + suffix)
            }
        }
        let isFirstLost = one.harmed == .first || one.harmed == .firstAndInner
        try damage(damaged, first: isFirstLost)

        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        let copy = try Connection(.file(newPath), key: key)
        defer { copy.close() }
        let found = try marks(in: copy)
        for table in Self.tables {
            let all = rows[table] ?? [], mine = found[table] ?? []
            let lost = lostRows(pages, damaged, table)
            #expect(mine.intersection(all).count >= all.count - lost, "\(table): \(mine.count) of \(all.count), \(lost) lost; \(report)")
            // Deleted rows only come back where the list of free pages is lost.
            if !isFirstLost, damaged.isSubset(of: pages.map(\.number)) {
                #expect(mine.isSubset(of: all.union(["a:late"])), "\(table): \(mine.subtracting(all).prefix(3))")
            }
        }
        #expect(try copy.main.verify().isIntact)
    }

    /// Rows whose table is not certain are kept in a table of their own, and never in another table.
    @Test func salvageKeepsUnassignedRowsInLostAndFound() throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("CREATE TABLE first(x TEXT); CREATE TABLE second(x TEXT); CREATE TABLE other(y INTEGER, z)"))
        for table in ["first", "second"] {
            for number in 0..<400 { try db.execute("INSERT INTO \(raw: table) VALUES (\("\(table) \(number) " + String(repeating: "x", count: 80)))") }
        }
        let roots = try db.fetchAll(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name <> 'other'")
        db.close()
        let intact = try Data(contentsOf: URL(fileURLWithPath: path))
        func salvage(_ pages: [Int]) throws -> (DatabaseConverter.SalvageReport, Connection) {
            var bytes = intact
            for page in pages { bytes[(page - 1) * Self.pageSize + 50] ^= 1 }
            try bytes.write(to: URL(fileURLWithPath: path))
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
            return (report, try Connection(.file(newPath), key: key))
        }
        // Of one table: where else could they be from?
        let (one, single) = try salvage([roots[0]])
        #expect(one.tables.first?.reattachedRows == 400 && one.unassignedRows == 0 && one.tables.first?.isComplete == false)
        #expect(try single.fetchOne(Int.self, "SELECT count(*) FROM first WHERE x GLOB 'first *'") == 400)
        // Of two alike, and of the first page with the whole schema.
        for pages in [roots, [1]] {
            let (report, copy) = try salvage(pages)
            #expect(report.unassignedRows == 800 && report.tables.allSatisfy { $0.rows == 0 } && !report.isComplete, "\(report)")
            #expect(try copy.fetchOne(Int.self, "SELECT count(DISTINCT c0) FROM lost_and_found WHERE nfield = 1") == 800)
            #expect(try copy.fetchOne(Int.self, "SELECT count(DISTINCT rootpgno) FROM lost_and_found") ?? 0 >= 2)
        }
    }

    /// An index's values of a lost row: all of them, or some columns, which are kept apart.
    @Test func salvageReadsLostRowsFromIndexes() throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE TABLE whole(id INTEGER PRIMARY KEY, x REAL, y TEXT NOT NULL); CREATE INDEX whole_y ON whole(y, x);
            CREATE TABLE part(x, y NOT NULL, z); CREATE INDEX part_x ON part(x); CREATE INDEX part_z ON part(z) WHERE z > 10;
            CREATE TABLE keyed(a, b PRIMARY KEY, c) WITHOUT ROWID; CREATE INDEX keyed_c ON keyed(c, a);
            """))
        for number in 1...300 {
            let text = "text \(number) " + String(repeating: "x", count: 60)
            try db.execute("INSERT INTO whole VALUES (\(number), \(Double(number)), \(text))")
            try db.execute("INSERT INTO part VALUES (\(number), \(text), \(number))")
            try db.execute("INSERT INTO keyed VALUES (\(text), \(number), NULL)")
        }
        let before = try ["whole", "keyed"].map { try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \($0)")) }
        let pages: [(String, Int, Int)] = try db.fetchAll(
            "SELECT name, pageno, ncell FROM dbstat WHERE pagetype = 'leaf' AND name IN ('whole', 'part', 'keyed')")
        let roots: [(Int, Int)] = try db.fetchAll("SELECT pageno, ncell FROM dbstat WHERE name = 'whole_y' AND path = '/'")
        let root = try #require(roots.first)
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path)), lost = 0
        for (index, page) in pages.enumerated() where index % 3 == 0 {
            bytes[(page.1 - 1) * Self.pageSize + 50] ^= 1
            if page.0 == "part" { lost += page.2 }
        }
        // The pages of the index are read though nothing leads to them any more; its rows on the root are lost.
        bytes[(root.0 - 1) * Self.pageSize + 50] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        let copy = try Connection(.file(newPath), key: key)
        for (table, rows) in zip(["whole", "keyed"], before) {
            let found = try copy.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table)"))
            #expect(found.allSatisfy(rows.contains) && found.count >= 300 - (table == "whole" ? root.1 : 0), "\(found.count)")
            #expect(report.tables.first { $0.name == table }?.rows == found.count)
        }
        let part = try #require(report.tables.first { $0.name == "part" })
        #expect(lost > 50 && part.rows == 300 - lost && part.partialRows == lost)
        #expect(try copy.fetchOne(
            Int.self, """
            SELECT count(*) FROM lost_and_found_part WHERE x = lost_row_id AND y IS NULL AND z IS iif(x > 10, x, NULL)
            AND x NOT IN (SELECT rowid FROM part)
            """) == lost)
        #expect(try copy.main.verify().isIntact)
    }

    /// The rest of a row that has lost an overflow page is kept apart: no value that was not there, no broken character.
    @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"]) func salvageKeepsRowsWithLostOverflowPages(encoding: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.beforeHeader = { try $0.execute(SQL(raw: "PRAGMA encoding = '\(encoding)'")) }
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.execute(SQLScript("""
            CREATE TABLE t(title TEXT NOT NULL, twice AS (n * 2) STORED, body TEXT, rest BLOB NOT NULL, n INTEGER NOT NULL, tag TEXT);
            CREATE INDEX t_tag ON t(tag);
            CREATE TABLE k(rest BLOB, body TEXT, n INTEGER, title TEXT PRIMARY KEY) WITHOUT ROWID;
            """))
        let body = String((0..<700).map { "aü€😀"[String.Index(utf16Offset: [0, 1, 2, 3][$0 * $0 % 7 % 4], in: "aü€😀")] })
        let rest = Data((0..<900).map { UInt8(truncatingIfNeeded: $0) })
        for number in 1...3 {
            try db.execute("INSERT INTO t(rowid, title, body, rest, n, tag) VALUES (\(number), \("title \(number)"), \(body), \(rest), \(number * 10), \("tag \(number)"))")
            try db.execute("INSERT INTO k VALUES (\(rest), \(body), \(number * 10), \("title \(number)"))")
        }
        try db.execute("ALTER TABLE t ADD COLUMN late DEFAULT 'later'")
        let pages: [(String, Int, String)] = try db.fetchAll("SELECT name, pageno, path FROM dbstat WHERE pagetype = 'overflow' ORDER BY path")
        db.close()
        let intact = try Data(contentsOf: URL(fileURLWithPath: path))
        var lengths: Set<Int> = []
        for (table, page, path) in pages {
            try intact.write(to: URL(fileURLWithPath: self.path))
            try damage([page], first: false)
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: self.path, key: key, to: newPath)
            let copy = try Connection(.file(newPath), key: key)
            let told = try #require(report.tables.first { $0.name == table })
            #expect(told.rows == 2 && told.lostRows == 1 && told.partialRows == 1 && told.lostPages == [page], "\(path): \(told)")
            #expect(!report.isComplete && report.tables.allSatisfy { $0.name == table || $0.isComplete })
            #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM \(raw: table) WHERE body = \(body) AND rest = \(rest)") == 2)
            let left: [(String, String?, Data?, Int?)] = try copy.fetchAll("SELECT title, body, rest, n FROM lost_and_found_\(raw: table)")
            let (title, text, blob, n) = try #require(left.first)
            #expect(left.count == 1 && title.hasPrefix("title "))
            #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM \(raw: table) WHERE title = \(title)") == 0)
            if let text {
                #expect(body.unicodeScalars.starts(with: text.unicodeScalars) && !text.unicodeScalars.contains("\u{FFFD}"), "\(path)")
                lengths.insert(text.unicodeScalars.count)
            }
            if let blob { #expect(rest.starts(with: blob)) }
            if table == "t" {
                #expect((n == nil || blob == rest) && (text == body || blob == nil))
                let others: [(Int, String, Int?)] = try copy.fetchAll("SELECT lost_row_id, tag, late FROM lost_and_found_t")
                #expect(title == "title \(others[0].0)" && others[0].1 == "tag \(others[0].0)" && others[0].2 == nil)
            } else {
                #expect(blob == rest ? text != body : text == nil)
            }
            #expect(try copy.main.verify().isIntact)
            copy.close()
        }
        #expect(pages.count >= 12 && lengths.count > 2, "\(lengths)")
    }

    /// No size of a value, and no number of columns, is too large.
    @Test func salvageReadsRecordsOfAnySize() throws {
        #expect(StoredRecord([12] + Array(repeating: 0xff, count: 9) + [1, 0]) == nil)
        let cut = try #require(StoredRecord([11] + Array(repeating: 0xff, count: 9) + [1, 7], mayBeCut: true))
        #expect(cut.count == 2 && cut.isCut(0) && cut.isCut(1) && cut.integer(1) == nil && cut.bytes(0)?.elementsEqual([7]) == true)
        let db = try Connection(.file(path), key: key)
        let names = (0..<2000).map { "c\($0)" }
        try db.execute(SQL(raw: "CREATE TABLE t(\(names.joined(separator: ", ")))"))
        try db.execute("CREATE INDEX t_c ON t(c1999, c0)")
        for number in 1...50 { try db.execute("INSERT INTO t(c0, c5, c1999) VALUES (\(number), 'x', \(number))") }
        let page = try #require(try db.fetchOne(Int.self, "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'overflow'"))
        db.close()
        try damage([page], first: false)
        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        #expect(report.tables[0].rows == 49 && report.tables[0].partialRows == 1)
        let copy = try Connection(.file(newPath), key: key)
        #expect(try copy.fetchOne(Int.self, "SELECT c0 FROM lost_and_found_t WHERE c1999 = c0") != nil)
    }

    private func damage(_ pages: Set<Int>, first: Bool) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let zeros = Data(count: Self.pageSize)
        for page in pages {
            let range = (page - 1) * Self.pageSize..<page * Self.pageSize
            if range.upperBound <= bytes.count { bytes.replaceSubrange(range, with: zeros) }
        }
        if first {
            // The salt stays: without it, no passphrase opens the file.
            bytes.replaceSubrange(16..<Self.pageSize, with: zeros.dropFirst(16))
        }
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}

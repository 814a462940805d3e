import Foundation
import KitSupport
import SQLCipherKitCore
@testable import SQLCipherKitMaintenance
import Testing
import TestSupport

/// Every row whose own pages are whole is salvaged, whatever else is lost: pages that lead to it, or the first page.
@Suite struct WholePagesTests {
    let folder: TemporaryFolder
    let key: Encryption
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
    private func make(_ autoVacuum: Int, hasLog: Bool) throws -> (db: Connection, pages: [Page], rows: [String: Set<String>]) {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = hasLog ? .wal : .delete
        configuration.beforeHeader = { try $0.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)")) }
        let db = try Connection(.file(path), key: key, configuration: configuration)
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
        let cells = Set(harmed.filter { $0.kind == "overflow" }.map { String($0.path.prefix { $0 != "+" }) })
        // The path of an overflow page begins with its leaf's.
        let others = cells.filter { cell in !leaves.contains { cell.dropLast(3) == $0.path } }
        return leaves.reduce(0) { $0 + $1.cells } + others.count
    }

    private func marks(_ query: (String) throws -> [String], lostAndFound columns: Int) throws -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for (table, column) in zip(Self.tables, ["x", "k", "body", "c0"]) {
            found[table] = Set(try query("SELECT \(column) FROM \(table)").map(Self.mark))
        }
        for index in 0..<columns {
            for text in try query("SELECT c\(index) FROM lost_and_found WHERE typeof(c\(index)) = 'text'") {
                for (table, letter) in zip(Self.tables, ["a:", "p:", "w:", "o:"]) where text.hasPrefix(letter) {
                    found[table, default: []].insert(Self.mark(text))
                }
            }
        }
        return found
    }

    @Test(arguments: LongTests.sample(3, of: Case.all)) func allRowsOfWholePagesComeBack(one: Case) throws {
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
        let width = try copy.fetchOne(Int.self, "SELECT count(*) - 4 FROM pragma_table_info('lost_and_found')") ?? 0
        let tables = Set(try copy.fetchAll(String.self, "SELECT name FROM sqlite_schema"))
        let found = try marks(
            { query in
                // The definition of a table may be lost; its rows are not.
                if let table = query.split(separator: " ").last, Self.tables.contains(String(table)), !tables.contains(String(table)) { return [] }
                return try copy.fetchAll(String.self, SQL(raw: query))
            }, lostAndFound: max(0, width))
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
    @Test func rowsOfAnUnknownTable() throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("CREATE TABLE first(x TEXT); CREATE TABLE second(x TEXT); CREATE TABLE other(y INTEGER, z)"))
        for table in ["first", "second"] {
            for number in 0..<400 { try db.execute("INSERT INTO \(raw: table) VALUES (\("\(table) \(number) " + String(repeating: "x", count: 80)))") }
        }
        let roots = try db.fetchAll(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name <> 'other'")
        db.close()
        let intact = try Data(contentsOf: URL(fileURLWithPath: path))
        func salvage(_ pages: [Int]) throws -> (SalvageReport, Connection) {
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

    /// What an index has of a lost row: all of it, or some columns, which are kept apart.
    @Test func columnsOfLostRowsAreInIndexes() throws {
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
        let before = try ["whole", "keyed"].map { try db.fetchAll(RowCopy.self, SQL(raw: "SELECT * FROM \($0)")) }
        let pages: [(String, Int, Int)] = try db.fetchAll(
            "SELECT name, pageno, ncell FROM dbstat WHERE pagetype = 'leaf' AND name IN ('whole', 'part', 'keyed')")
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path)), lost = 0
        for (index, page) in pages.enumerated() where index % 3 == 0 {
            bytes[(page.1 - 1) * Self.pageSize + 50] ^= 1
            if page.0 == "part" { lost += page.2 }
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        let copy = try Connection(.file(newPath), key: key)
        for (table, rows) in zip(["whole", "keyed"], before) {
            #expect(try copy.fetchAll(RowCopy.self, SQL(raw: "SELECT * FROM \(table)")) == rows)
            #expect(report.tables.first { $0.name == table }?.rows == 300)
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

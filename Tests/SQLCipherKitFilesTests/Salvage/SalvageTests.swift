import Foundation
import KitSupport
import SQLCipherKitCore
@testable import SQLCipherKitFiles
import Testing
import TestSupport

/// Each page of a database is damaged in turn: what lay on the others is copied, and what is lost is told.
@Suite struct SalvageTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var newPath: String { folder.path("b.db") }
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("k", cipher: .quick)
    }

    /// The rows of a table, by its leaf pages: rows without overflow pages, so that each lies on one page.
    private struct Content {
        var bytes: Data
        /// The rows of each table.
        var rows: [String: Set<String>]
        /// The pages of each table's own tree, by number.
        var pages: [String: Set<Int>]
        var leaves: [Int: String]
    }

    private static let tables = ["a", "pair", "wide", "own_content"]

    private func rows(_ db: Connection, _ table: String) throws -> Set<String> {
        let columns = table == "pair" ? "*" : "rowid, *"
        return Set(try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(columns) FROM \(table)")).map { $0.values.shown })
    }

    private func make(_ key: DatabaseKey, count: Int = 160) throws -> Content {
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { db in
            try db.execute(SQLScript("""
                PRAGMA user_version = 9;
                CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT, y REAL, z BLOB, twice AS (y * 2) STORED, half AS (y / 2));
                CREATE INDEX a_x ON a(x);
                CREATE TABLE pair(v, k TEXT, n INTEGER, PRIMARY KEY (n, k)) WITHOUT ROWID;
                CREATE TABLE wide(body);
                CREATE VIEW names AS SELECT x FROM a;
                CREATE TRIGGER added AFTER INSERT ON a BEGIN SELECT 1; END;
                CREATE VIRTUAL TABLE own USING fts5(x);
                """))
            for number in 0..<count {
                try db.execute("INSERT INTO a(id, x, y, z) VALUES (\(number * 3), \("text \(number) ü\0z"), \(Double(number)), \(Data(repeating: UInt8(number), count: 150)))")
                try db.execute("INSERT INTO pair VALUES (\(number), \("key \(number) \(String(repeating: "k", count: 120))"), \(number % 5))")
                try db.execute("INSERT INTO own VALUES (\("word\(number) common \(String(repeating: "x", count: 100))"))")
                if number % 20 == 0 { try db.execute("INSERT INTO wide VALUES (\(Data(repeating: UInt8(number), count: 9000)))") }
            }
            try db.execute("ALTER TABLE a ADD COLUMN late DEFAULT 'none'")
            try db.execute("INSERT INTO a(id, late) VALUES (-5, NULL), (9223372036854775807, 1)")
        }
        let db = try Connection(.file(path), key: key, configuration: configuration)
        var content = Content(bytes: Data(), rows: [:], pages: [:], leaves: [:])
        for table in Self.tables { content.rows[table] = try rows(db, table) }
        let pages: [(String, Int, String)] = try db.fetchAll("SELECT name, pageno, pagetype FROM dbstat")
        for (name, number, kind) in pages {
            content.pages[name, default: []].insert(number)
            if kind == "leaf" { content.leaves[number] = name }
        }
        db.close()
        content.bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        return content
    }

    @Test func salvageSurvivesDamageToEachPage() throws {
        let content = try make(key)
        let pages = content.bytes.count / 4096
        #expect(pages > 40)
        var salvaged = 0
        for page in 2...pages {
            var bytes = content.bytes
            bytes.replaceSubrange((page - 1) * 4096 + 60..<(page - 1) * 4096 + 100, with: Data(repeating: 9, count: 40))
            try bytes.write(to: URL(fileURLWithPath: path))
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes && folder.names() == ["a.db", "b.db"])
            // A free page has no content to lose, unless it lists other free pages.
            let isFree = !content.pages.values.contains { $0.contains(page) }
            let isLost = report.lostPages == [page] || (isFree && report.lostPages.isEmpty)
            #expect(isLost && report.lostObjects.isEmpty, "page \(page): \(report)")
            let db = try Connection(.file(newPath), key: key)
            #expect(try db.fetchOne(Int.self, "PRAGMA user_version") == 9)
            for table in Self.tables {
                let found = try rows(db, table), all = content.rows[table] ?? []
                #expect(found.isSubset(of: all), "page \(page), \(table)")
                let told = try #require(report.tables.first { $0.name == table })
                #expect(told.rows == found.count)
                if content.pages[table]?.contains(page) == true {
                    #expect(!told.isComplete && told.lostPages == [page], "page \(page), \(table): \(told)")
                    // The other leaves' rows are there, unless the page leads to them.
                    let isOneOfMany = content.leaves[page] == table && content.leaves.values.count { $0 == table } > 3
                    if isOneOfMany { #expect(found.count > all.count / 2, "page \(page), \(table)") }
                } else {
                    #expect(told.isComplete && found == all, "page \(page), \(table)")
                }
            }
            // The full-text index is whole, or was built again.
            if content.pages["own_content"]?.contains(page) != true {
                #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM own WHERE own MATCH 'common'") == 160,
                    "page \(page): \(report.rebuiltIndexes)")
            }
            let isIntact = try db.fetchAll(String.self, "PRAGMA integrity_check") == ["ok"]
            #expect(isIntact || content.pages["own_content"]?.contains(page) == true, "page \(page)")
            salvaged += 1
        }
        #expect(salvaged == pages - 1)
    }

    /// A page of the schema takes some of its objects with it: all others are there, and none that refers to a lost one stops it.
    @Test func salvageSurvivesDamageToEachSchemaPage() throws {
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { db in
            // In this order, so that what belongs together is on different pages.
            for number in 0..<40 {
                try db.execute(SQLScript("CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, x); INSERT INTO t\(number) VALUES (1, \(number))"))
            }
            for number in 0..<40 {
                try db.execute(SQLScript("""
                    CREATE VIEW v\(number) AS SELECT x FROM t\(number);
                    CREATE INDEX i\(number) ON t\(number)(x);
                    CREATE VIRTUAL TABLE f\(number) USING fts5(x, content = 't\(number)', content_rowid = 'id');
                    """))
            }
            for number in 0..<40 {
                try db.execute(SQLScript("""
                    CREATE TRIGGER r\(number) AFTER INSERT ON t\(number) BEGIN INSERT INTO f\(number)(rowid, x) VALUES (new.id, new.x); END;
                    CREATE TRIGGER w\(number) INSTEAD OF INSERT ON v\(number) BEGIN INSERT INTO t\(number)(x) VALUES (new.x); END;
                    """))
            }
        }
        let db = try Connection(.file(path), key: key, configuration: configuration)
        let pages = try db.fetchAll(Int.self, "SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' AND pageno > 1")
        #expect(pages.count > 4)
        let names = try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE sql IS NOT NULL")
        db.close()
        let intact = try Data(contentsOf: URL(fileURLWithPath: path))
        var lost: Set<String> = []
        for page in pages {
            var bytes = intact
            bytes[(page - 1) * 4096 + 60] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
            #expect(report.lostSchemaPages == [page])
            let copy = try Connection(.file(newPath), key: key)
            let found = Set(try copy.fetchAll(String.self, "SELECT name FROM sqlite_schema"))
            #expect(found.isSubset(of: names) || found.subtracting(names).allSatisfy { $0.contains("_") })
            #expect(found.count > names.count / 2, "page \(page)")
            for object in report.lostObjects { #expect(!found.contains(object.name) && object.message.contains("no such table"), "\(object)") }
            for number in 0..<40 where found.contains("t\(number)") {
                #expect(try copy.fetchAll(Int.self, "SELECT x FROM \(raw: "t\(number)")") == [number])
            }
            #expect(try copy.main.verify().isIntact, "page \(page)")
            lost.formUnion(Set(names).subtracting(found))
        }
        // Tables without which triggers are lost, and triggers.
        #expect(lost.contains { $0.hasPrefix("t") } && lost.contains { $0.hasPrefix("r") } && lost.contains { $0.hasPrefix("w") })
    }

    /// A database that was never damaged is copied whole: plaintext too, with other settings, in each text encoding, from a log or
    /// a journal.
    @Test func salvageCopiesIntactDatabasesWhole() throws {
        var old = CipherConfiguration.sqlCipher1
        old.kdfIterations = 10
        for (index, key) in [.plaintext, key, key.with(cipher: old)].enumerated() {
            let path = folder.path("w\(index).db"), newPath = folder.path("n\(index).db")
            var configuration = DatabaseConfiguration()
            configuration.journalMode = .wal
            let db = try Connection(.file(path), key: key, configuration: configuration)
            try RichDatabase.fill(db, rows: 60)
            // Much of it is in the log alone.
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath, newKey: index == 0 ? self.key : nil)
            #expect(report.isComplete && report.lostPages == [] && report.rebuiltIndexes == [], "\(report)")
            let summary = try RichDatabase.summary(db)
            let copy = try Connection(.file(newPath), key: index == 0 ? self.key : key)
            #expect(try RichDatabase.summary(copy) == summary)
        }
        let path = folder.path("u.db")
        let wide = try Connection(.file(path), key: .plaintext)
        try wide.execute("PRAGMA encoding = 'UTF-16le'")
        try wide.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES ('grüße 🙂')"))
        wide.close()
        try DatabaseConverter.salvage(fileAt: path, key: .plaintext, to: folder.path("v.db"), newKey: key)
        let copy = try Connection(.file(folder.path("v.db")), key: key)
        #expect(try copy.fetchOne(String.self, "SELECT x FROM t") == "grüße 🙂")
        #expect(try copy.fetchOne(String.self, "PRAGMA encoding") == "UTF-16le")
    }

    /// Without authentication a page may say anything: whatever is read of it, nothing fails or hangs.
    @Test func salvageOfRandomizedPlaintextEnds() throws {
        let content = try make(.plaintext, count: 60)
        var random = SeededGenerator(state: 7)
        for _ in 0..<40 {
            var bytes = content.bytes
            for _ in 0..<200 {
                bytes[Int.random(in: 100..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            try bytes.write(to: URL(fileURLWithPath: path))
            try? FileManager.default.removeItem(atPath: newPath)
            do { try DatabaseConverter.salvage(fileAt: path, key: .plaintext, to: newPath) } catch let error as DatabaseError {
                #expect(error.code.primary != .misuse && error.code.primary != .internal, "\(error)")
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        }
    }

    @Test func invalidSalvageCallsThrow() throws {
        let content = try make(key, count: 30)
        func failure(_ key: DatabaseKey) -> DatabaseError? {
            do { try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath) } catch { return error as? DatabaseError }
            return nil
        }
        #expect(try failure(.passphrase("w").quick)?.reason == .wrongKeyOrNotADatabase)
        #expect(failure(.plaintext)?.reason == .wrongKeyOrNotADatabase)
        var bytes = content.bytes
        bytes[50] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        // The first page has the schema; the others say that the key is right, and have the rows. One of them is enough.
        let whole = bytes
        for intact in [nil, 2, 3, bytes.count / 4096] {
            var bytes = whole
            if let intact { for page in 2...bytes.count / 4096 where page != intact { bytes[(page - 1) * 4096 + 50] ^= 1 } }
            try bytes.write(to: URL(fileURLWithPath: path))
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
            #expect(report.lostSchemaPages == [1] && report.lostPages.first == 1 && !report.isComplete)
            #expect(try failure(.passphrase("w").quick)?.reason == .cannotOpen)
        }
        try FileManager.default.removeItem(atPath: newPath)
        #expect(try failure(.passphrase("w").quick)?.reason == .wrongKeyOrNotADatabase)
        struct Enough: Error {}
        try content.bytes.write(to: URL(fileURLWithPath: path))
        #expect(throws: Enough.self) {
            try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath) { if $0.fractionCompleted == 1 { throw Enough() } }
        }
        #expect(try folder.names() == ["a.db"])
        try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        #expect(failure(key)?.reason == .cannotOpen)
    }

    /// The page at 1 GiB, where SQLite's locks lie, is never written.
    @Test(.enabled(if: LongTests.areOn)) func salvageIgnoresTheLockBytePage() throws {
        var settings = CipherConfiguration()
        settings.pageSize = 65536
        let key = try DatabaseKey.raw([UInt8](repeating: 5, count: 32), cipher: settings)
        try? FileManager.default.removeItem(atPath: path)
        do {
            let db = try Connection(.file(path), key: key)
            try db.execute("CREATE TABLE t(x)")
            for _ in 0..<11 { try db.execute("INSERT INTO t VALUES (zeroblob(100000000))") }
        }
        #expect((try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0) > 1 << 30)
        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        #expect(report.isComplete && report.lostPages.isEmpty)
    }

    private enum Rewriting: CaseIterable { case salvage, convert, newKey, compactBackup, backupIntoMemory, vacuum }

    /// No SQL names the row id of such a table.
    @Test(arguments: ["UTF-8", "UTF-16be"]) func rewritesKeepRowIDsHiddenByColumnNames(encoding: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.beforeHeader = { try $0.execute(SQL(raw: "PRAGMA encoding = '\(encoding)'")) }
        configuration.journalMode = .wal
        let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        let texts = [
            "CREATE TABLE hidden(rowid TEXT, \"_rowid_\", oid/**/INTEGER CHECK (oid > 0), twice AS (oid * 2) "
                + "CHECK (twice <> 'oid' AND hidden.oid > 0))",
            "CREATE INDEX hidden_oid ON hidden(oid, rowid, twice || 'oid')",
        ]
        for text in texts { try db.execute(SQL(raw: text)) }
        try db.execute("CREATE VIEW shown AS SELECT oid FROM hidden")
        let filler = String(repeating: "x", count: 300)
        for number in 1...100 { try db.execute("INSERT INTO hidden VALUES (\("\(number)" + filler), NULL, \(number))") }
        try db.execute("ALTER TABLE hidden ADD COLUMN late DEFAULT 'ü'")
        for number in 101...200 { try db.execute("INSERT INTO hidden VALUES (\("\(number)" + filler), NULL, \(number), x'00')") }
        try db.execute("DELETE FROM hidden WHERE oid % 3 = 0")
        let rows = try rowIDs(db), values = try db.fetchAll(OwnedRow.self, "SELECT * FROM hidden")
        let schema = try db.fetchAll(OwnedRow.self, "SELECT type, name, sql FROM sqlite_schema ORDER BY name")
        #expect(rows.count == 134 && rows.last == 200 && schema.count == 3)
        var larger = CipherConfiguration.quick
        larger.pageSize = 8192
        for rewriting in Rewriting.allCases {
            for suffix in ["", "-wal"] { try? FileManager.default.removeItem(atPath: newPath + suffix) }
            if rewriting != .salvage, rewriting != .compactBackup { try db.main.backup(toFileAt: newPath) }
            var copy: Connection { get throws { try Connection(.file(newPath), key: key) } }
            let result: Connection
            switch rewriting {
            case .salvage:
                // With what is in the log alone.
                for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path("c.db") + suffix) }
                try DatabaseConverter.salvage(fileAt: folder.path("c.db"), key: key, to: newPath)
                result = try copy
            case .convert:
                try DatabaseConverter.convert(fileAt: newPath, from: key, to: .passphrase("n", cipher: larger))
                result = try Connection(.file(newPath), key: .passphrase("n", cipher: larger))
            case .newKey:
                try copy.changeKey(to: .passphrase("n").quick, mode: .newFile)
                result = try Connection(.file(newPath), key: .passphrase("n").quick)
            case .compactBackup:
                try db.main.backup(toFileAt: newPath, options: .compact)
                result = try copy
            case .backupIntoMemory:
                result = try Connection(.memory, key: .passphrase("n", cipher: larger))
                try db.main.backup(to: result.main)
            case .vacuum:
                result = try copy
                try result.main.vacuum()
            }
            defer { result.close() }
            #expect(try rowIDs(result) == rows, "\(rewriting)")
            #expect(try result.fetchAll(OwnedRow.self, "SELECT * FROM hidden") == values, "\(rewriting)")
            #expect(try result.fetchAll(OwnedRow.self, "SELECT type, name, sql FROM sqlite_schema ORDER BY name") == schema, "\(rewriting)")
            #expect(try result.main.verify().isIntact, "\(rewriting)")
        }
        #expect(texts.count == 2)
    }

    /// A table that has the name of the row id and of one of its columns, and has lost a page.
    @Test func salvageKeepsOtherRowsOfDamagedTableNamedOID() throws {
        let filler = String(repeating: "x", count: 300), db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE oid(rowid TEXT, _rowid_, oid INTEGER CHECK (oid.oid > 0 AND oid < 1000))")
        try db.execute("CREATE INDEX oid_oid ON oid(oid)")
        for number in 1...200 { try db.execute("INSERT INTO oid VALUES (\("\(number)" + filler), NULL, \(number))") }
        try db.execute("DELETE FROM oid WHERE oid % 3 = 0")
        let before = try rowIDs(db, of: "oid")
        let leaves = "SELECT pageno FROM dbstat WHERE name = 'oid' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET 3"
        let leaf = try #require(try db.fetchOne(Int.self, SQL(raw: leaves)))
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[(leaf - 1) * 4096 + 100] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        #expect(report.tables.first?.name == "oid" && report.tables.first?.lostPages == [leaf] && report.lostObjects.isEmpty, "\(report)")
        let copy = try Connection(.file(newPath), key: key), after = try rowIDs(copy, of: "oid")
        #expect(Set(after).isSubset(of: before) && (1...15).contains(before.count - after.count))
        let rows: [(Int64, String)] = try copy.fetchAll("SELECT oid, rowid FROM oid ORDER BY oid")
        #expect(rows.map(\.0) == after && rows.allSatisfy { $0.1 == "\($0.0)" + filler })
        #expect(try copy.fetchOne(String.self, "SELECT sql FROM sqlite_schema WHERE name = 'oid'")?.contains("CHECK (oid.oid > 0") == true)
        #expect(try copy.main.verify().isIntact)
    }

    /// The row ids of a table's leaves, as they are stored.
    private func rowIDs(_ db: Connection, of table: String = "hidden") throws -> [Int64] {
        let root = try #require(try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = \(table)"))
        let meter = WorkMeter(.none), source = try PageReader(db.main)
        let map = try PageMap(source, header: source.page(1), isFirstPageLost: false, meter) { _ in }
        var reader = TreeReader(map), found: [Int64] = []
        try reader.readRows(root: root) { rowID, _ in found.append(try #require(rowID)) }
        return found
    }

    @Test func identifyReportsEveryKindOfFile() throws {
        let passphrase = try DatabaseKey.passphrase("k")
        func identity(_ key: DatabaseKey?) throws -> DatabaseConverter.FileKind {
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let identity = try DatabaseConverter.identify(fileAt: path, key: key)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before && folder.names() == ["a.db"])
            return identity
        }
        func create(_ key: DatabaseKey, _ mode: DatabaseConfiguration.JournalMode? = nil) throws {
            try? FileManager.default.removeItem(atPath: path)
            var configuration = DatabaseConfiguration()
            configuration.journalMode = mode
            try Connection(.file(path), key: key, configuration: configuration).execute("CREATE TABLE t(x)")
        }
        let raw = try DatabaseKey.raw([UInt8](repeating: 5, count: 32))
        for (version, cipher) in [(1, CipherConfiguration.sqlCipher1), (2, .sqlCipher2), (3, .sqlCipher3), (4, .sqlCipher4)] {
            try create(raw.with(cipher: cipher))
            // With a raw key, versions 2 and 3 make the same file.
            let told = try identity(raw)
            let expected = version == 1 ? nil : max(3, version)
            #expect(told == .encrypted(version: expected, settings: version == 2 ? .sqlCipher3 : cipher),
                "\(version)")
        }
        var large = CipherConfiguration.sqlCipher3
        large.pageSize = 4096
        try create(passphrase.with(cipher: large), .wal)
        #expect(try identity(passphrase) == .encrypted(version: 3, settings: large))
        #expect(try identity(.passphrase("wrong", cipher: .quick)) == .unknown)
        #expect(try identity(nil) == .unknown)
        try create(passphrase.quick)
        #expect(try identity(passphrase.quick) == .encrypted(version: nil, settings: .quick))
        // Without authentication, in versions 4 and 3.
        for cipher in [CipherConfiguration.sqlCipher4, .sqlCipher3] {
            var bare = cipher
            bare.usesHMAC = false
            try create(raw.with(cipher: bare))
            guard case .encrypted(_, let settings) = try identity(raw) else {
                Issue.record("unknown without authentication")
                continue
            }
            #expect(!settings.usesHMAC && settings.pageSize == bare.pageSize)
            let db = try Connection(.file(path), key: raw.with(cipher: settings))
            #expect(try db.main.tables().map(\.name) == ["t"])
        }
        try create(.plaintext, .wal)
        #expect(try identity(raw) == .plaintext && identity(nil) == .plaintext)
        try Data("no database, but as long as a page".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try identity(raw) == .unknown)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try identity(raw) == .empty)
        #expect(throws: DatabaseError.self) { try DatabaseConverter.identify(fileAt: folder.path("none.db"), key: nil) }
    }
}

// MARK: R-Trees

extension SalvageTests {
    /// The boxes on intact nodes are found again, whichever of its tables an R-Tree has lost a page of. A tree of one node has lost
    /// all.
    @Test(arguments: [("node", 2000), ("rowid", 2000), ("parent", 2000), ("node", 30)], ["rtree", "rtree_i32"])
    func damagedRTreeIsCreatedAgain(part: (name: String, boxes: Int), module: String) throws {
        let boxes = "SELECT id, printf('%.9g %.9g %.9g %.9g', a, b, c, d) FROM box"
        var before: [Int64: String] = [:], page = 0
        func all(_ db: Connection) throws -> [Int64: String] {
            let rows: [(Int64, String)] = try db.fetchAll(SQL(raw: boxes))
            return Dictionary(uniqueKeysWithValues: rows)
        }
        do {
            let db = try Connection(.file(path), key: key)
            try db.execute(SQLScript("""
                CREATE VIRTUAL TABLE box USING \(module)(id, a, b, c, d, +label, +size);
                CREATE TABLE place(id INTEGER PRIMARY KEY);
                CREATE TRIGGER added AFTER INSERT ON place BEGIN INSERT INTO box(id, a, b, c, d) VALUES (new.id, 1, 2, 3, 4); END;
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(part.boxes))
                INSERT INTO box SELECT i * 7, i * 37 % 1000 / 10.0, i * 37 % 1000 / 10.0 + 5.1, -i / 3.0, i / 3.0, 'box ' || i, i FROM n;
                """))
            before = try all(db)
            let sql = "SELECT pageno FROM dbstat WHERE name = 'box_\(part.name)' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1"
            page = try db.fetchOne(Int.self, SQL(raw: sql)) ?? 0
        }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64((page - 1) * 4096 + 100))
        try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
        try file.close()

        let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        #expect(report.rebuiltIndexes == ["box"] && !report.isComplete && report.lostObjects.isEmpty, "\(report)")
        let db = try Connection(.file(newPath), key: key)
        let after = try all(db)
        #expect(after.allSatisfy { before[$0.key] == $0.value })
        // A page has up to three nodes of up to 51 boxes.
        let lost = part.boxes == 30 ? 30...30 : part.name == "node" ? 1...153 : 0...0
        #expect(lost.contains(before.count - after.count), "\(before.count - after.count)")
        let labels: [(Int64, String?, Int64?)] = try db.fetchAll("SELECT id, label, size FROM box")
        #expect(labels.allSatisfy { $0.1 == "box \($0.0 / 7)" && $0.2 == $0.0 / 7 || part.name == "rowid" && $0.1 == nil && $0.2 == nil })
        #expect(labels.count { $0.1 != nil } >= labels.count * 3 / 4)
        #expect(try db.main.verify().problems == [] && db.main.damage().isEmpty)
        try db.execute("INSERT INTO place VALUES (100000)")
        #expect(try db.fetchOne(Int.self, "SELECT id FROM box WHERE a <= 1 AND b >= 2 AND c = 3 AND d = 4") == 100_000)
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE name LIKE '%lost%'") == [])
    }
}

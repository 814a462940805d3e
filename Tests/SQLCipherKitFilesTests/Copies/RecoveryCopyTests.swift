import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// With a recovery copy the loss of the first page, its salt and the whole schema costs no table.
@Suite struct RecoveryCopyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var newPath: String { folder.path("b.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ key: DatabaseKey, rows: Int = 600) throws -> Connection {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            PRAGMA user_version = 7;
            CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); CREATE INDEX t_x ON t(x);
            CREATE TABLE k(a TEXT PRIMARY KEY, b) WITHOUT ROWID;
            CREATE VIRTUAL TABLE f USING fts5(x); CREATE VIEW v AS SELECT x FROM t;
            """))
        try db.transaction { db -> Void in
            for number in 0..<rows {
                let text = "word\(number) common " + String(repeating: "x", count: 90)
                try db.execute("INSERT INTO t VALUES (\(number), \(text))")
                try db.execute("INSERT INTO k VALUES (\(text), \(number))")
                try db.execute("INSERT INTO f VALUES (\(text))")
            }
        }
        return db
    }

    private static func key(_ index: Int) throws -> DatabaseKey? {
        let bytes = [UInt8](repeating: 7, count: 32)
        var bare = CipherConfiguration.quick
        bare.usesHMAC = false
        return switch index {
        case 0: try .passphrase("k", cipher: .quick)
        case 1: try .raw(bytes)
        case 2: try .raw(bytes, salt: [UInt8](repeating: 1, count: 16))
        case 3: try .passphrase("k", cipher: bare)
        default: .plaintext
        }
    }

    @Test(arguments: 0..<5) func recoveryCopySalvagesLostFirstPage(index: Int) throws {
        let key = try #require(try Self.key(index))
        let db = try make(key)
        var options = Schema.BackupOptions()
        options.writesRecoveryCopy = true
        try db.main.backup(toFileAt: folder.path("backup.db"), options: options)
        // The next recovery copy replaces this one.
        try db.main.writeRecoveryCopy()
        try db.main.writeRecoveryCopy(toFileAt: folder.path("other"))
        let before = try db.fetchAll(OwnedRow.self, "SELECT rowid, * FROM t"), keyed = try db.fetchAll(OwnedRow.self, "SELECT * FROM k")
        db.close()
        let recovery = try Data(contentsOf: URL(fileURLWithPath: path + "-recovery"))
        #expect(recovery.count <= 40_000)
        if !key.isPlaintext { #expect(recovery.range(of: Data("CREATE".utf8)) == nil) }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(0..<4096, with: Data(count: 4096))
        try bytes.write(to: URL(fileURLWithPath: path))
        for given in [nil, folder.path("other")] {
            if given != nil { try FileManager.default.removeItem(atPath: path + "-recovery") }
            try? FileManager.default.removeItem(atPath: newPath)
            let report = try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath, recoveryCopy: given)
            #expect(report.recoveredObjects >= 5 && report.lostSchemaPages == [1] && report.lostObjects.isEmpty, "\(report)")
            #expect(report.tables.allSatisfy { $0.isComplete }, "\(report.tables)")
            let copy = try Connection(.file(newPath), key: key)
            #expect(try copy.fetchAll(OwnedRow.self, "SELECT rowid, * FROM t") == before)
            #expect(try copy.fetchAll(OwnedRow.self, "SELECT * FROM k") == keyed)
            #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM f WHERE f MATCH 'common'") == 600)
            #expect(try copy.fetchOne(Int.self, "PRAGMA user_version") == 7)
            #expect(try copy.main.damage().isEmpty)
        }
        // Without one, the salt is gone.
        try FileManager.default.removeItem(atPath: newPath)
        if index != 2 {
            #expect(throws: DatabaseError.self) { try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath) }
        }
        if !key.isPlaintext {
            let wrong = try DatabaseKey.passphrase("wrong", cipher: key.cipher)
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseConverter.salvage(fileAt: path, key: wrong, to: newPath, recoveryCopy: folder.path("other"))
            }
            #expect(error?.reason == .wrongKeyOrNotADatabase)
        }
    }

    /// With auto_vacuum, another table may have the page where a table began when the copy was written.
    @Test func outdatedRecoveryCopyMixesNoTables() throws {
        var configuration = DatabaseConfiguration()
        configuration.beforeHeader = { try $0.execute("PRAGMA auto_vacuum = 1") }
        let key = try DatabaseKey.passphrase("k").quick
        let db = try Connection(.file(path), key: key, configuration: configuration)
        for name in ["a", "b", "c"] {
            try db.execute("CREATE TABLE \(identifier: name)(x)")
            try db.execute("INSERT INTO \(identifier: name) VALUES (\(name))")
        }
        try db.main.writeRecoveryCopy()
        let root = try #require(try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'c'"))
        try db.execute("DROP TABLE a")
        try db.transaction { db in for _ in 0..<200 { try db.execute("INSERT INTO b VALUES ('b' || hex(zeroblob(200)))") } }
        #expect(try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'c'") != root)
        #expect(try db.main.pageCount > root)
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(0..<4096, with: Data(count: 4096))
        try bytes.write(to: URL(fileURLWithPath: path))
        try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath)
        let copy = try Connection(.file(newPath), key: key)
        #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM b WHERE x LIKE 'b%'") == 201)
        for table in try copy.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('a', 'c')") {
            #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: table) WHERE x LIKE 'b%'") == 0, "\(table)")
        }
    }

    @Test func invalidRecoveryCopyCallsThrow() throws {
        let key = try DatabaseKey.passphrase("k").quick
        let db = try make(key, rows: 3)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path + "-recovery"))
        #expect(throws: DatabaseError.self) { try db.main.writeRecoveryCopy() }
        #expect(throws: DatabaseError.self) { try db.main.writeRecoveryCopy(toFileAt: path) }
        #expect(throws: DatabaseError.self) { try db.main.writeRecoveryCopy(toFileAt: "") }
        let memory = try Connection(.memory, key: key)
        #expect(throws: DatabaseError.self) { try memory.main.writeRecoveryCopy() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-recovery")) == Data("mine".utf8))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3)
    }

    /// If asked for, each change of the schema writes it again.
    @Test func keepRecoveryCopyFollowsSchemaChanges() async throws {
        let key = try DatabaseKey.passphrase("k").quick
        try make(key, rows: 3).close()
        let pool = try DatabasePool(.file(path), key: key), copy = path + "-recovery"
        let keeping = Task { try await pool.main.keepRecoveryCopy() }
        func objects() throws -> [String] {
            guard FileManager.default.fileExists(atPath: copy) else { return [] }
            return try Connection(.file(copy), key: key).fetchAll(String.self, "SELECT name FROM object")
        }
        try await suspendUntil("it is written") { try objects().contains("v") }
        try await pool.write { try $0.execute("CREATE TABLE later(x)") }
        try await suspendUntil("it is written again") { try objects().contains("later") }
        try await pool.write { try $0.execute("ALTER TABLE later ADD COLUMN y") }
        try await pool.write { try $0.execute("CREATE INDEX later_x ON later(x)") }
        try await suspendUntil("it is written each time") { try objects().contains("later_x") }
        keeping.cancel()
        try? await keeping.value
        try await pool.close()
    }

    /// The database keeps its permissions and its owner, a symbolic link stays one, and a call that was interrupted after it took
    /// the log away goes on with the copy of it.
    @Test func openSalvagingReplacesTheFile() throws {
        let key = try DatabaseKey.passphrase("k").quick
        try make(key).close()
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        chmod(path, 0o640)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[5 * 4096 + 20] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        chmod(path, 0o640)
        try bytes.write(to: URL(fileURLWithPath: path + "-damaged"))
        let (db, report) = try DatabaseConverter.openOrSalvage(fileAt: link, key: key)
        db.close()
        #expect(report?.lostPages == [6])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        // The copy was there already.
        #expect(!FileManager.default.fileExists(atPath: path + "-damaged-2"))
    }

    private func make(damaged page: Int, _ key: DatabaseKey) throws -> Data {
        try make(key).close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[(page - 1) * 4096 + 20] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        return bytes
    }

    /// The files that `openOrSalvage` makes keep the owner and the permissions of the former file and its log.
    @Test(.enabled(if: geteuid() == 0)) func openSalvagingKeepsTheOwners() throws {
        let key = try DatabaseKey.passphrase("k").quick
        let bytes = try make(damaged: 6, key)
        try Data(count: 100).write(to: URL(fileURLWithPath: path + "-journal"))
        for (suffix, mode) in [("", 0o640), ("-journal", 0o600)] {
            #expect(chown(path + suffix, 1234, 1235) == 0 && chmod(path + suffix, mode_t(mode)) == 0)
        }
        let (db, _) = try DatabaseConverter.openOrSalvage(fileAt: path, key: key)
        try db.main.writeRecoveryCopy()
        db.close()
        for (suffix, mode) in [("", 0o640), ("-damaged", 0o640), ("-damaged-journal", 0o600), ("-recovery", 0o640)] {
            let name = path + suffix
            let found = try FileManager.default.attributesOfItem(atPath: name)
            #expect(found[.ownerAccountID] as? Int == 1234 && found[.groupOwnerAccountID] as? Int == 1235, "\(name)")
            #expect(found[.posixPermissions] as? Int == mode, "\(name)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-damaged")) == bytes)
    }

    /// In place of the log there may be a pipe, which would be waited for, or a link to a file that is not meant.
    @Test(arguments: ["-wal", "-journal"]) func salvageRefusesPipeOrLinkAsLog(suffix: String) throws {
        let key = try DatabaseKey.passphrase("k").quick
        let bytes = try make(damaged: 6, key)
        try Data("secret".utf8).write(to: URL(fileURLWithPath: folder.path("private")))
        for make in [{ symlink(folder.path("private"), path + suffix) }, { mkfifo(path + suffix, 0o600) }] as [() -> Int32] {
            unlink(path + suffix)
            #expect(make() == 0)
            for call in [
                { try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath) },
                { try DatabaseConverter.openOrSalvage(fileAt: path, key: key).connection.close() },
            ] as [() throws -> Void] {
                let error = #expect(throws: DatabaseError.self) { try call() }
                #expect(error?.reason == .cannotOpen, "\(String(describing: error))")
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
                #expect(try folder.names() == ["a.db", "a.db" + suffix, "private"])
            }
        }
    }

    /// The log of a database that a link leads to is beside the database.
    @Test func salvageThroughLinkReadsTheWAL() throws {
        let key = try DatabaseKey.passphrase("k").quick, link = folder.path("link.db")
        let db = try make(key, rows: 3)
        try db.main.setJournalMode(.wal)
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try db.execute("INSERT INTO t VALUES (1000, 'in the log')")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        try DatabaseConverter.salvage(fileAt: link, key: key, to: newPath)
        #expect(try Connection(.file(newPath), key: key).fetchOne(String.self, "SELECT x FROM t WHERE id = 1000") == "in the log")
    }

    /// One call opens what is whole, and salvages and opens what is not.
    @Test func openSalvagingOpensOrSalvages() throws {
        let key = try DatabaseKey.passphrase("k").quick
        let made = try make(key)
        try made.main.writeRecoveryCopy()
        made.close()
        let (db, none) = try DatabaseConverter.openOrSalvage(fileAt: path, key: key)
        #expect(none == nil && db.isOpen)
        db.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for (number, page) in [0, 5].enumerated() {
            var bytes = whole
            bytes[page * 4096 + 20] ^= 1
            bytes[page * 4096 + 3] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))
            let wrong = try DatabaseKey.passphrase("w").quick
            #expect(throws: DatabaseError.self) { _ = try DatabaseConverter.openOrSalvage(fileAt: path, key: wrong) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
            let (db, report) = try DatabaseConverter.openOrSalvage(fileAt: path, key: key)
            #expect(report?.lostPages == [page + 1])
            let rows = try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
            #expect(page == 0 ? rows == 600 : rows > 500)
            #expect(try db.main.verify().isIntact)
            db.close()
            let kept = path + (number == 0 ? "-damaged" : "-damaged-2")
            #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == bytes)
        }
        #expect(throws: DatabaseError.self) { _ = try DatabaseConverter.openOrSalvage(fileAt: folder.path("none"), key: key) }
    }
}

import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance
import Testing
import TestSupport

/// With a recovery copy the loss of the first page, its salt and the whole schema costs no table.
@Suite struct RecoveryCopyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var newPath: String { folder.path("b.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ key: Encryption, rows: Int = 600) throws -> Connection {
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

    private static func key(_ index: Int) throws -> Encryption? {
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

    @Test(arguments: 0..<5) func theFirstPageIsLost(index: Int) throws {
        let key = try #require(try Self.key(index))
        let db = try make(key)
        var options = BackupOptions()
        options.writesRecoveryCopy = true
        try db.main.backup(toFileAt: folder.path("backup.db"), options: options)
        // It is replaced by the next one.
        try db.main.writeRecoveryCopy()
        try db.main.writeRecoveryCopy(toFileAt: folder.path("other"))
        let before = try db.fetchAll(RowCopy.self, "SELECT rowid, * FROM t"), keyed = try db.fetchAll(RowCopy.self, "SELECT * FROM k")
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
            #expect(try copy.fetchAll(RowCopy.self, "SELECT rowid, * FROM t") == before)
            #expect(try copy.fetchAll(RowCopy.self, "SELECT * FROM k") == keyed)
            #expect(try copy.fetchOne(Int.self, "SELECT count(*) FROM f WHERE f MATCH 'common'") == 600)
            #expect(try copy.fetchOne(Int.self, "PRAGMA user_version") == 7)
            #expect(try copy.main.verify().isIntact)
        }
        // Without one, the salt is gone.
        try FileManager.default.removeItem(atPath: newPath)
        if index != 2 {
            #expect(throws: DatabaseError.self) { try DatabaseConverter.salvage(fileAt: path, key: key, to: newPath) }
        }
        if !key.isPlaintext {
            let wrong = try Encryption.passphrase("wrong", cipher: key.cipher)
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseConverter.salvage(fileAt: path, key: wrong, to: newPath, recoveryCopy: folder.path("other"))
            }
            #expect(error?.reason == .wrongKeyOrNotADatabase)
        }
    }

    @Test func refusals() throws {
        let key = try Encryption.passphrase("k").quick
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
    @Test func itIsKept() async throws {
        let key = try Encryption.passphrase("k").quick
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

    /// The database keeps its permissions, a symbolic link stays one, and a call that was interrupted after it took the log away
    /// goes on with the copy of it.
    @Test func openSalvagingReplacesTheFile() throws {
        let key = try Encryption.passphrase("k").quick
        try make(key).close()
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        chmod(path, 0o640)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[5 * 4096 + 20] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        chmod(path, 0o640)
        try bytes.write(to: URL(fileURLWithPath: path + "-damaged"))
        let (db, report) = try DatabaseConverter.openSalvaging(fileAt: link, key: key)
        db.close()
        #expect(report?.lostPages == [6])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        // The copy was there already.
        #expect(!FileManager.default.fileExists(atPath: path + "-damaged-2"))
    }

    /// One call opens what is whole, and salvages and opens what is not.
    @Test func openSalvaging() throws {
        let key = try Encryption.passphrase("k").quick
        let made = try make(key)
        try made.main.writeRecoveryCopy()
        made.close()
        let (db, none) = try DatabaseConverter.openSalvaging(fileAt: path, key: key)
        #expect(none == nil && db.isOpen)
        db.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for (number, page) in [0, 5].enumerated() {
            var bytes = whole
            bytes[page * 4096 + 20] ^= 1
            bytes[page * 4096 + 3] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))
            let wrong = try Encryption.passphrase("w").quick
            #expect(throws: DatabaseError.self) { _ = try DatabaseConverter.openSalvaging(fileAt: path, key: wrong) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
            let (db, report) = try DatabaseConverter.openSalvaging(fileAt: path, key: key)
            #expect(report?.lostPages == [page + 1])
            let rows = try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
            #expect(page == 0 ? rows == 600 : rows > 500)
            #expect(try db.main.verify().isIntact)
            db.close()
            let kept = path + (number == 0 ? "-damaged" : "-damaged-2")
            #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == bytes)
        }
        #expect(throws: DatabaseError.self) { _ = try DatabaseConverter.openSalvaging(fileAt: folder.path("none"), key: key) }
    }
}

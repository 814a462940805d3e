import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// A restore takes the content of a backup, and does not change the backup.
@Suite struct RestoreTests {
    let folder: TemporaryFolder
    let key: DatabaseKey
    var path: String { folder.path("a.db") }
    var backup: String { folder.path("b.db") }

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one", cipher: .quick)
    }

    private func make(_ path: String, _ key: DatabaseKey, _ mode: DatabaseConfiguration.JournalMode = .delete, rows: Int) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) INSERT INTO t SELECT i FROM n")
        return db
    }

    private func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
        #expect(throws: DatabaseError.self) { try body() }?.reason
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func write(_ bytes: Data, _ path: String) throws { try bytes.write(to: URL(fileURLWithPath: path)) }

    /// Above all a file of no bytes, which SQLite takes for a new database, with any key.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func restoreOfNonDatabaseChangesNothing(mode: DatabaseConfiguration.JournalMode) throws {
        let db = try make(path, key, mode, rows: 50)
        let contents = [
            Data(), Data(count: 1), Data(count: 100), Data(count: 4096), Data(count: 8192), Data("no database".utf8),
            Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
        ]
        for content in contents {
            for given in [nil, key, .plaintext, try .passphrase("two", cipher: .quick)] as [DatabaseKey?] {
                try write(content, backup)
                #expect(reason {
                    if let given { try db.main.restore(fromFileAt: backup, key: given) } else { try db.main.restore(fromFileAt: backup) }
                } == .wrongKeyOrNotADatabase, "\(content.count) bytes")
                #expect(try bytes(backup) == content)
                #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 50)
                #expect(try folder.names().filter { $0.hasPrefix("b.db") } == ["b.db"])
            }
        }
        db.close()
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == 50)
    }

    @Test func conversionOfEmptyFileThrows() throws {
        let other = try DatabaseKey.passphrase("two", cipher: .quick)
        let calls: [() throws -> Void] = [
            { try DatabaseConverter.encrypt(fileAt: path, key: key) }, { try DatabaseConverter.decrypt(fileAt: path, key: key) },
            { try DatabaseConverter.convert(fileAt: path, from: key, to: other) },
            { try DatabaseConverter.migrate(fileAt: path, key: other) },
        ]
        for call in calls {
            try write(Data(), path)
            #expect(reason(call) == .wrongKeyOrNotADatabase)
            #expect(try bytes(path) == Data())
            #expect(try folder.names() == ["a.db"])
        }
    }

    @Test func readingEmptyFileKeepsItEmpty() throws {
        try make(path, key, rows: 3).close()
        try write(Data(), backup)
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let db = try Connection(.file(path), key: key, configuration: configuration)
        let empty = try db.attach(.file(backup), as: "empty", key: .plaintext)
        #expect(try !DatabaseDiff(from: db.main, to: empty).isEmpty())
        #expect(throws: DatabaseError.self) { try db.main.copyTables(to: empty) }
        #expect(try bytes(backup) == Data())
        let writer = try Connection(.file(path), key: key)
        try writer.attach(.uri("file:\(backup)?mode=ro"), as: "empty", key: .plaintext)
        #expect(try writer.schema("empty").copyTables(to: writer.main) == 0)
        #expect(try bytes(backup) == Data())
    }

    /// Neither what its log holds is moved into it, nor is it recovered.
    @Test func restoreDoesNotWriteToTheBackup() throws {
        let db = try make(path, key, rows: 3)
        let other = try make(folder.path("c.db"), key, .wal, rows: 20)
        try write(bytes(folder.path("c.db")), backup)
        try write(bytes(folder.path("c.db-wal")), backup + "-wal")
        other.close()
        let before = (try bytes(backup), try bytes(backup + "-wal"))
        try db.main.restore(fromFileAt: backup, key: key)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 20)
        #expect(try bytes(backup) == before.0 && bytes(backup + "-wal") == before.1)
    }

    /// The journal of a change that was cut off would have to be played back first.
    @Test func restoreFromBackupWithHotJournalThrows() throws {
        let db = try make(path, key, rows: 3)
        let other = try make(folder.path("c.db"), key, rows: 20_000)
        try other.execute("PRAGMA cache_size = 2")
        try other.begin()
        try other.execute("UPDATE t SET x = x + 1")
        try write(bytes(folder.path("c.db")), backup)
        try write(bytes(folder.path("c.db-journal")), backup + "-journal")
        try other.rollback()
        let before = (try bytes(backup), try bytes(backup + "-journal"))
        #expect(reason { try db.main.restore(fromFileAt: backup, key: key) } == .cannotOpen)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3)
        #expect(try bytes(backup) == before.0 && bytes(backup + "-journal") == before.1)
        // Opened once for writing, it is a backup.
        #expect(try Connection(.file(backup), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == 20_000)
        try db.main.restore(fromFileAt: backup, key: key)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 20_000)
    }

    /// The database is lost, and its backup goes into a new one: with the same key, but another salt.
    @Test(arguments: ["passphrase", "raw", "provided", "looks raw"]) func backupRestoresOntoNewFileWithSameKey(kind: String) throws {
        let raw = try DatabaseKey.raw([UInt8](repeating: 9, count: 32), cipher: .quick)
        let key = switch kind {
        case "raw": raw
        case "provided": DatabaseKey.provided(by: KeySource.provider(Fixed()), cipher: .quick)
        case "looks raw": try DatabaseKey.passphrase("x'\(String(repeating: "ab", count: 32))'", cipher: .quick)
        default: self.key
        }
        try make(path, key, rows: 30).main.backup(toFileAt: backup)
        try FileManager.default.removeItem(atPath: path)
        let db = try Connection(.file(path), key: key)
        try db.main.restore(fromFileAt: backup)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 30)
        // Attached, too, and after a change of key in both.
        let attached = try db.attach(.file(folder.path("c.db")), as: "Other", key: key)
        try attached.restore(fromFileAt: backup)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM other.t") == 30)
        let new = try DatabaseKey.passphrase("new", cipher: .quick)
        try db.changeKey(to: new)
        #expect(reason { try db.main.restore(fromFileAt: backup) } == .wrongKeyOrNotADatabase)
        try db.main.restore(fromFileAt: backup, key: key)
        try db.main.backup(toFileAt: folder.path("d.db"), key: new)
        try db.execute("DELETE FROM main.t")
        try db.main.restore(fromFileAt: folder.path("d.db"))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM main.t") == 30)
        // With another passphrase it is not the same key.
        let stranger = try Connection(.file(folder.path("e.db")), key: .passphrase("stranger", cipher: .quick))
        #expect(reason { try stranger.main.restore(fromFileAt: backup) } == .wrongKeyOrNotADatabase)
    }

    private struct Fixed: KeyProvider {
        func key() throws -> DatabaseKey? { try .passphrase("provided") }
    }
}

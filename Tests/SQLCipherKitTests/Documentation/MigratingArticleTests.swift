import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Migrating", on files as the other packages write them. What its tables name on our side is linked,
/// so that building the documentation finds it.
@Suite struct MigratingArticleTests {
    struct Note: Decodable {
        var id: Int
        var title: String
    }

    let folder: TemporaryFolder
    let path: String
    let uuid = UUID(uuidString: "0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0") ?? UUID()
    let now = Date(timeIntervalSince1970: 1_795_249_800)

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("notes.db")
    }

    private func make(_ script: String) throws {
        try Connection(.file(path), key: .passphrase("correct horse")).execute(SQLScript(script))
    }

    private func value(_ sql: SQL) throws -> SQLValue? {
        try Connection(.file(path), key: .passphrase("correct horse")).fetchOne(SQLValue.self, sql)
    }

    @Test func migratingArticleEncryptsPlaintextFile() throws {
        try Connection(.file(path)).execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
        let passphrase = try DatabaseKey.passphrase("correct horse")
        let settings = try DatabaseConverter.encrypt(
            fileAt: path, key: passphrase)
        let db = try Connection(
            .file(path), key: passphrase.with(cipher: settings))
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["Mill"])
        #expect(settings == CipherConfiguration())
        #expect(!(try folder.allBytes()).contains(Data("Mill".utf8)))
    }

    /// In the Keychain's place.
    struct Item {
        let bytes: [UInt8]
        let mark: String
        func loadOrCreateKey() throws -> DatabaseKey { try .raw(bytes) }
    }

    @Test(arguments: [512, 4096, 65536], [DatabaseConfiguration.JournalMode.delete, .wal])
    func shippedAppEncryptsPlaintextFileAtOpen(pageSize: Int, mode: DatabaseConfiguration.JournalMode) throws {
        let old = try Connection(.file(path))
        try old.execute(SQL(raw: "PRAGMA page_size = \(pageSize)"))
        try old.main.vacuum()
        #expect(try old.main.pageSize == pageSize)
        try old.main.setJournalMode(mode)
        try old.execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
        old.close()
        let keys = try TemporaryFolder()
        let item = Item(bytes: [UInt8](repeating: 7, count: 32), mark: keys.path("notes.encrypted"))
        func open() throws -> DatabasePool {
            let key = try item.loadOrCreateKey()
            try DatabaseConverter.encryptOnce(
                fileAt: path, key: key, mark: .keychain(item))
            return try DatabasePool(.file(path), key: key)
        }
        for _ in 0..<2 {
            let pool = try open()
            #expect(try pool.read { db in try db.fetchAll(String.self, "SELECT title FROM note") } == ["Mill"])
            try pool.close()
        }
        #expect(!(try folder.allBytes()).contains(Data("Mill".utf8)))
        // A plaintext file in its place.
        try FileManager.default.removeItem(atPath: path)
        try Connection(.file(path)).execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Forged')"))
        let planted = try Data(contentsOf: URL(fileURLWithPath: path))
        for _ in 0..<2 {
            let error = #expect(throws: DatabaseError.self) { try open() }
            #expect(error?.reason == .notEncrypted)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == planted)
        try FileManager.default.removeItem(atPath: path)
        try open().close()
    }

    @Test(arguments: [(2, CipherConfiguration.sqlCipher2), (3, .sqlCipher3)])
    func migratingArticleUpgradesSQLCipherFile(number: Int, old: CipherConfiguration) throws {
        let made = try Connection(.file(path), key: .passphrase("correct horse", cipher: old))
        try made.execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
        made.close()
        let passphrase = try DatabaseKey.passphrase("correct horse")
        let version = try DatabaseConverter.migrate(
            fileAt: path, key: passphrase)
        let db = try Connection(.file(path), key: passphrase)
        #expect(try version == number && db.fetchAll(String.self, "SELECT title FROM note") == ["Mill"])
    }

    @Test func shippedAppMigratesSQLCipher3FileAtOpen() throws {
        let passphrase = try DatabaseKey.passphrase("correct horse")
        let old = try Connection(.file(path), key: passphrase.with(cipher: .sqlCipher3))
        try old.execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
        old.close()
        func open(_ key: DatabaseKey) throws -> DatabasePool {
            do {
                return try DatabasePool(.file(path), key: key)
            } catch let error as DatabaseError
                where error.reason == .wrongKeyOrNotADatabase {
                try DatabaseConverter.migrate(fileAt: path, key: key)
                return try DatabasePool(.file(path), key: key)
            }
        }
        for _ in 0..<2 {
            let pool = try open(passphrase)
            #expect(try pool.read { db in try db.fetchAll(String.self, "SELECT title FROM note") } == ["Mill"])
            try pool.close()
        }
        #expect { try open(.passphrase("wrong")) } throws: { error in
            (error as? DatabaseError)?.reason == .wrongKeyOrNotADatabase
        }
        try folder.stripAuthentication("notes.db")
        #expect { try open(passphrase) } throws: { error in (error as? DatabaseError)?.reason == .missingHMAC }
    }

    @Test func migratingSQLCipher1RequiresAcceptance() throws {
        let passphrase = try DatabaseKey.passphrase("correct horse")
        try Connection(.file(path), key: passphrase.with(cipher: .sqlCipher1)).execute("CREATE TABLE note(title)")
        #expect { try DatabaseConverter.migrate(fileAt: path, key: passphrase) } throws: { error in
            (error as? DatabaseError)?.reason == .missingHMAC
        }
        try DatabaseConverter.migrate(
            fileAt: path, key: passphrase,
            acceptingUnauthenticated: true)
        #expect(try Connection(.file(path), key: passphrase).main.has("note"))
    }

    @Test func migratingArticleGRDBCodeWorks() throws {
        let pattern = "B%"
        try make("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO note(title) VALUES ('Bakery'), ('Mill')")
        let db = try Connection(.file(path), key: .passphrase("correct horse"))
        let notes = try db.fetchAll(
            Note.self,
            "SELECT id, title FROM note WHERE title LIKE \(pattern)")
        #expect(notes.map(\.title) == ["Bakery"])
        try fromGRDB()
    }

    private func fromGRDB() throws {
        let path = folder.path("grdb.db")
        try Connection(.file(path), key: .passphrase("correct horse")).execute(SQLScript("""
            CREATE TABLE note(id BLOB PRIMARY KEY, created DATETIME);
            INSERT INTO note VALUES (x'0F1E2D3C4B5A49788796A5B4C3D2E1F0', '2020-11-21 08:30:00.250');
            """))
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .grdb
        let queue = try DatabaseQueue(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        let count = try queue.read { db in
            try db.fetchOne(Int.self, """
                SELECT count(*) FROM note
                WHERE id = \(uuid) AND created < \(Date())
                """)
        }
        #expect(count == 1)
    }

    @Test func migratingArticleSQLiteSwiftProfileWorks() throws {
        try make("CREATE TABLE note(id TEXT, created TEXT); INSERT INTO note VALUES ('\(uuid)', '2020-11-21T08:30:00.250')")
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .sqliteSwift
        let db = try Connection(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        try db.execute("UPDATE note SET created = \(Date()) WHERE id = \(uuid)")
        #expect(try value("SELECT count(*) FROM note WHERE created GLOB '????-??-??T??:??:??.???' AND created > '2026'") == 1)
    }

    struct Visit: SQLRecord {
        static let tableName = "VISIT"
        static let columnProfiles: [String: ValueProfile] = [
            "LEFT_AT": .dataLiteCore,
        ]
        enum CodingKeys: String, CodingKey {
            case id = "ID", arrived = "ARRIVED", left = "LEFT_AT"
        }
        var id: UUID
        var arrived: Date
        var left: Date?
    }

    @Test func migratingArticleSkipSQLProfileWorks() throws {
        try make("""
            CREATE TABLE VISIT(ID TEXT PRIMARY KEY, ARRIVED REAL, LEFT_AT TEXT);
            INSERT INTO VISIT VALUES ('\(uuid)', 1795249000.5, NULL);
            """)
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .skipSQL
        let db = try Connection(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        var visit = try db.fetchOne(Visit.self, id: uuid)
        visit?.left = now
        if let visit { try db.update(visit) }
        let row = try value("SELECT ID || ' ' || ARRIVED || ' ' || LEFT_AT FROM VISIT")
        #expect(row == .text("\(uuid) 1795249000.5 2026-11-21T08:30:00Z"))
    }

    @Test func migratingArticleSAPProfileWorks() throws {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .sap
        configuration.onCreate = { db in
            try db.execute(
                "CREATE TABLE visit(id TEXT PRIMARY KEY, arrived INTEGER)")
        }
        let store = try DatabaseQueue(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        try store.write { db in try db.execute("INSERT INTO visit VALUES (\(uuid.uuidString), 1795249000)") }
        let changes = try store.write { db in
            try db.execute(
                "UPDATE visit SET arrived = :now WHERE id = :id",
                ["now": now, "id": uuid])
            return db.changes
        }
        #expect(changes == 1)
        #expect(try value("SELECT arrived FROM visit") == 1_795_249_800)
    }

    @Test func migratingArticleDataLiteCoreProfileWorks() throws {
        try make("""
            CREATE TABLE visit(id TEXT, arrived TEXT);
            INSERT INTO visit VALUES ('\(uuid)', '2026-11-21T08:29:59Z'), ('', '2026-11-21T08:30:00Z');
            """)
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .dataLiteCore
        let connection = try Connection(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        let ids = try connection.fetchAll(
            UUID.self, "SELECT id FROM visit WHERE arrived < \(now)")
        #expect(ids == [uuid])
    }

    @Test func migratingArticleConvertsMixedColumn() throws {
        try make("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, created);
            INSERT INTO note(title, created) VALUES ('Bakery', '2026-11-21 08:30:00'), ('Mill', 1795249801);
            """)
        let db = try Connection(.file(path), key: .passphrase("correct horse"))
        let report = try db.main.valueReport()
        print(report.profileNames)
        for column in report.mixedColumns {
            print(column.table, column.name, column.forms)
        }
        #expect(report.mixedColumns.map(\.name) == ["created"])
        try db.main.convertValues(
            of: "created", in: "note",
            to: .dates(.timestamp, numbers: .integerSeconds))
        #expect(try db.fetchAll(String.self, "SELECT created FROM note")
            == ["2026-11-21 08:30:00.000", "2026-11-21 08:30:01.000"])
    }
}

extension EncryptionMark {
    fileprivate static func keychain(_ item: MigratingArticleTests.Item) -> EncryptionMark { .file(item.mark) }
}

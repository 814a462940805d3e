import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// A file as GRDB writes it, encrypted and opened as the article "From GRDB" shows.
@Suite struct FromGRDBArticleTests {
    @Test(arguments: [["v1"], ["v1", "v2"]]) func grdbFileIsEncryptedAndMigrated(recorded: [String]) throws {
        let folder = try TemporaryFolder(), path = folder.path("players.db")
        let old = try Connection(.file(path))
        try old.execute(SQLScript("""
            CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            INSERT INTO player(name) VALUES ('Arthur');
            """))
        for name in recorded { try old.execute("INSERT INTO grdb_migrations VALUES (\(name))") }
        if recorded.count == 2 { try old.execute("ALTER TABLE player ADD COLUMN score INTEGER NOT NULL DEFAULT 0") }
        old.close()

        var migrator = Migrator()
        migrator.add("v1") { db in
            try db.execute("CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        }
        migrator.add("v2") { db in
            try db.main.addColumn(SQLColumn("score", .integer).notNull().default(0), to: "player")
        }
        migrator.add("v3") { db in
            try db.main.addColumn(SQLColumn("team", .text), to: "player")
        }

        let key = try DatabaseKey.passphrase("correct horse")
        try DatabaseConverter.encrypt(
            fileAt: path, key: key.with(cipher: .sqlCipher4))
        #expect(!(try folder.allBytes()).contains(Data("Arthur".utf8)))

        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .grdb
        configuration.durability = .wholeFile    // as GRDB's pools
        let pool = try DatabasePool(
            .file(path), key: key, configuration: configuration)
        #expect(try pool.writeWithoutTransaction { db in try db.main.synchronous } == .wholeFile)

        migrator.adoptGRDBMigrations()
        try migrator.migrate(pool)
        let columns = try pool.read { db in try db.main.table("player")?.columns.map(\.name) }
        #expect(columns == ["id", "name", "score", "team"])
        #expect(try pool.read { db in try db.fetchAll(String.self, "SELECT name FROM player") } == ["Arthur"])
        try pool.close()
    }
}

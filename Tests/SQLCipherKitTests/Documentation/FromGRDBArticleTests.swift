import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The code of the article "From GRDB", on a file as GRDB writes it.
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

    struct Team: SQLRecord, Hashable {
        static let players = hasMany(Player.self)
        static let table = SQLTable(of: Team.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.name
        }
        var id: Int64?
        var name: String
    }

    struct Player: SQLRecord, Hashable {
        static let team = belongsTo(Team.self)
        static let table = SQLTable(of: Player.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.teamId.references(Team.self, onDelete: .cascade)
            $0.name
            $0.score
            SQLIndex("player_team", on: [$0.teamId])
        }
        var id: Int64?
        var teamId: Int64?
        var name: String
        var score: Int
    }

    struct TeamInfo: Hashable {
        var team: Team
        var players: [Player]
    }

    @Test func fromGRDBArticleCodeWorks() async throws {
        let folder = try TemporaryFolder(), path = folder.path("teams.db")
        var migrator = Migrator()
        migrator.add("teams") { db in
            try db.create(Team.table)
            try db.create(Player.table)
        }
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .grdb
        let pool = try DatabasePool(
            .file(path), key: .passphrase("correct horse"),
            configuration: configuration)
        try await migrator.migrate(pool)

        try await pool.write { db in
            var team = Team(name: "Red")
            try db.insert(&team)
            var player = Player(teamId: team.id, name: "Arthur", score: 100)
            try db.insert(&player)
            player.score += 10
            try db.update(player)
        }

        let (best, teams, sum) = try await pool.read { db in
            (
                try db.fetchAll(Player.filter { $0.score > 50 }
                    .order { $0.score.descending }.limit(10)),
                try db.fetchAll(
                    Team.including(Team.players).map(TeamInfo.init)),
                try db.fetchOne(Player.select { $0.score.sum() })
            )
        }

        let arthur = Player(id: 1, teamId: 1, name: "Arthur", score: 110)
        #expect(best == [arthur] && teams == [TeamInfo(team: Team(id: 1, name: "Red"), players: [arthur])] && sum == 110)

        let observation = pool.observe { db in
            try db.fetchAll(Player.order { $0.score.descending }.limit(10))
        }.removingDuplicates()
        for try await players in observation {
            print(players.map(\.name))
            #expect(players.map(\.score) == [110])
            break
        }
    }
}

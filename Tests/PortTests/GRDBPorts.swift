import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A program for each row of the article "From GRDB".
@Suite struct GRDBPorts {
    static let programs: [Port] = Port.list(Self.init, [
        "G1": g1, "G2": g2, "G4": g4, "G5": g5, "G6": g6, "G7": g7, "G8": g8, "G9": g9, "G10": g10,
        "G11": g11, "G12": g12, "G13": g13, "G14": g14, "G15": g15, "G16": g16, "G17": g17, "G18": g18,
        "G19": g19, "G20": g20, "G21": g21, "G22": g22, "G23": g23, "G24": g24, "G25": g25, "G26": g26,
        "G27": g27, "G28": g28, "G29": g29, "G35": g35, "G36": g36, "G37": g37, "G38": g38, "G39": g39,
        "G40": g40, "G41": g41, "G42": g42, "G43": g43, "G44": g44, "G45": g45, "G46": g46, "G47": g47, "G48": g48,
        "G49": g49, "G50": g50, "G51": g51, "G52": g52,
    ], async: [
        "G3": g3, "G30": g30, "G31": g31, "G32": g32, "G33": g33, "G34": g34,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws {
        desk = try ExampleDesk()
        try db.create(Team.table)
        try db.create(Player.table)
        try db.insertAll([Team(name: "Red"), Team(name: "Blue")])
        try db.insertAll([
            Player(teamId: 1, name: "Arthur", score: 100), Player(teamId: 1, name: "Barbara", score: 300),
            Player(teamId: 2, name: "Craig", score: 200),
        ])
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

    private func pool() throws -> DatabasePool { try DatabasePool(.file(desk.path), key: desk.key) }

    // MARK: Opening

    /// G1 a queue and a pool
    func g1() throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key), pool = try pool()
        #expect(try queue.read { db in try db.count(Player.all) } == 3 && pool.read { db in try db.count(Team.all) } == 2)
    }

    /// G2 a passphrase, and what each connection needs
    func g2() throws {
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in try db.register(.function("seven") { () in 7 }) }
        let pool = try DatabasePool(.file(desk.path), key: desk.key, configuration: configuration)
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT seven()") } == 7)
    }

    /// G3 another passphrase
    func g3() async throws {
        let pool = try pool(), key = try DatabaseKey.passphrase("battery staple").quick
        try await pool.changeKey(to: key)
        #expect(try await pool.read { db in try db.count(Player.all) } == 3)
        #expect(try Connection(.file(desk.path), key: key).count(Player.all) == 3)
    }

    /// G4 a database in memory
    func g4() throws {
        let queue = try DatabaseQueue(.memory)
        #expect(try queue.write { db in try db.fetchOne(Int.self, "SELECT 1") } == 1)
    }

    /// G5 the values of a file that is there
    func g5() throws {
        try db.execute("CREATE TABLE visit(id BLOB, at DATETIME, price)")
        let grdb = try desk.open { $0.valueProfile = .grdb }, id = UUID()
        let price = try #require(Decimal(string: "12.50"))
        try grdb.execute("INSERT INTO visit VALUES (\(id), \(Date(timeIntervalSince1970: 0.25)), \(price))")
        #expect(try db.fetchOne((Int, String, String).self, "SELECT length(id), at, price FROM visit").map { "\($0)" }
            == #"(16, "1970-01-01 00:00:00.250", "12.5")"#)
    }

    // MARK: SQL and rows

    /// G6 executing
    func g6() throws {
        let name = "Daniela"
        try db.execute("INSERT INTO player(name, score) VALUES (\(name), \(5))")
        try db.execute("UPDATE player SET score = :score WHERE name = :name", ["score": 6, "name": name])
        #expect(try db.fetchOne(Int.self, "SELECT score FROM player WHERE name = \(name)") == 6)
    }

    /// G7 rows
    func g7() throws {
        var scores: [Int] = []
        try db.forEach("SELECT * FROM player ORDER BY id") { row in scores.append(try row["score"]) }
        #expect(scores == [100, 300, 200])
        #expect(try db.fetchAll(OwnedRow.self, "SELECT name FROM team").map(\.dictionary) == [["name": "Red"], ["name": "Blue"]])
    }

    /// G8 values
    func g8() throws {
        #expect(try db.fetchAll(String.self, "SELECT name FROM team ORDER BY name") == ["Blue", "Red"])
        #expect(try db.fetchOne(Int.self, "SELECT score FROM player WHERE id = 99") == nil)
    }

    /// G9 a cursor
    func g9() throws {
        let names = try db.cursor(String.self, "SELECT name FROM player ORDER BY id")
        #expect(try names.next() == "Arthur" && names.next() == "Barbara")
        names.close()
    }

    /// G10 a column that does not fit
    func g10() throws {
        #expect(desk.reason { try db.forEach("SELECT NULL AS score") { row in let _: Int = try row["score"] } } == .unexpectedNull)
        #expect(desk.reason { try db.forEach("SELECT 'many' AS score") { row in let _: Int = try row["score"] } } == .typeMismatch)
    }

    /// G11 several records in a row
    func g11() throws {
        struct Line: Decodable {
            var player: Player
            var team: Team?
        }
        let lines = try db.fetchAll(Line.self, """
            SELECT \(columns: Player.self, of: "p", as: "player"), \(columns: Team.self, of: "t", as: "team")
            FROM player AS p LEFT JOIN team AS t ON t.id = p.teamId ORDER BY p.id
            """)
        #expect(lines.map { $0.team?.name } == ["Red", "Red", "Blue"])
    }

    /// G12 statements to keep
    func g12() throws {
        let insert = try db.prepare("INSERT INTO team(name) VALUES (?)")
        for name in ["Green", "Gold"] { try insert.execute(binding: name) }
        #expect(try db.count(Team.all) == 4)
    }

    /// G13 types of your own
    func g13() throws {
        enum Color: String, SQLValueConvertible { case red = "Red", blue = "Blue" }
        #expect(try db.fetchAll(Color.self, "SELECT name FROM team WHERE name = \(Color.red)") == [.red])
    }

    /// G14 values in SQL
    func g14() throws {
        let ids = [1, 3]
        #expect(try db.fetchAll(String.self, "SELECT name FROM player WHERE id IN \(ids) ORDER BY id") == ["Arthur", "Craig"])
    }

    // MARK: Records

    /// G15 a record
    func g15() throws {
        #expect(try db.fetchAll(Team.self, "SELECT * FROM team WHERE name = 'Blue'") == [Team(id: 2, name: "Blue")])
    }

    /// G16 inserting
    func g16() throws {
        var team = Team(name: "Green")
        try db.insert(&team)
        #expect(team.id == 3)
    }

    /// G17 saving, updating, deleting
    func g17() throws {
        var player = try #require(try db.fetchOne(Player.self, id: 1))
        player.score += 10
        try db.update(player, columns: \.score)
        try db.save(&player)
        #expect(try db.fetchOne(Player.self, id: 1)?.score == 110)
        #expect(try db.delete(player) && db.count(Player.all) == 2)
    }

    /// G18 updating what has changed
    func g18() throws {
        let old = try #require(try db.fetchOne(Player.self, id: 1))
        var player = old
        player.name = "Art"
        try db.updateChanges(player, from: old)
        #expect(try db.fetchOne(Player.self, id: 1)?.name == "Art")
    }

    /// G19 upserting
    func g19() throws {
        try db.execute("CREATE UNIQUE INDEX team_name ON team(name)")
        var team = Team(name: "Red")
        try db.upsert(&team, onConflict: ["name"])
        #expect(team.id == 1)
    }

    /// G20 queries
    func g20() throws {
        let best = try db.fetchAll(Player.filter { $0.score > 150 }.order { $0.score.descending }.limit(10))
        #expect(best.map(\.name) == ["Barbara", "Craig"])
    }

    /// G21 aggregates and groups
    func g21() throws {
        #expect(try db.fetchOne(Player.select { $0.score.max() }) == 300)
        let sums: [(Int64?, Int?)] = try db.fetchAll(
            Player.all.group { $0.teamId }.order { $0.teamId }.select { ($0.teamId, $0.score.sum()) })
        #expect(sums.map(\.1) == [400, 200])
    }

    /// G22 changing many at once
    func g22() throws {
        #expect(try db.updateAll(Player.filter { $0.teamId == 1 }) { _, set in set(\.score, to: 0) } == 2)
        #expect(try db.deleteAll(Player.filter { $0.score == 0 }) == 2)
    }

    /// G23 associations
    func g23() throws {
        let teams = try db.fetchAll(Team.order { $0.id }.including(Team.players))
        #expect(teams.map { $0.1.count } == [2, 1])
        let players = try db.fetchAll(Player.order { $0.id }.including(Player.team))
        #expect(players.map { $0.1?.name } == ["Red", "Red", "Blue"])
    }

    /// G24 joins
    func g24() throws {
        let rows = try db.fetchAll(Player.join(Team.self).filter { $1.name == "Red" }.order { player, _ in player.id })
        #expect(rows.map(\.0.name) == ["Arthur", "Barbara"])
    }

    /// G42 common table expressions
    func g42() throws {
        struct Total: SQLRecord {
            var team: Int64?
            var score: Int
        }
        let totals = Player.all.group { $0.teamId }.select { ($0.teamId, $0.score.sum() ?? 0) }
        let best = Team.with(Total.self, as: totals).join(Total.self) { $0.id == $1.team && $1.score > 300 }
        #expect(try db.fetchAll(best).map { $0.name + " \($1.score)" } == ["Red 400"])
        let sums = try db.fetchAll(Total.with(Total.self, as: "SELECT NULL AS team, sum(score) AS score FROM player"))
        #expect(sums.map(\.score) == [600])
    }

    // MARK: The schema

    /// G25 migrations
    func g25() throws {
        var migrator = Migrator()
        migrator.add("numbers") { db in try db.main.addColumn(SQLColumn("number", .integer), to: "player") }
        try migrator.migrate(db)
        try migrator.migrate(db)
        #expect(try db.main.columns(of: "player").map(\.name).contains("number") && migrator.pending(in: db).isEmpty)
    }

    /// G26 creating and altering tables
    func g26() throws {
        try db.main.renameTable("team", to: "club")
        #expect(try db.main.table("player")?.foreignKeys.map(\.parent) == ["club"])
    }

    /// G27 reading the schema
    func g27() throws {
        #expect(try db.main.hasTable("player") && db.main.primaryKey(of: "player") == ["id"])
        #expect(try db.main.table("player")?.indexes.map(\.name) == ["player_team"])
    }

    // MARK: Transactions and threads

    /// G28 transactions
    func g28() throws {
        let count = try db.transaction { db -> TransactionEnd<Int> in
            try db.execute("DELETE FROM player")
            return .rollback(db.changes)
        }
        #expect(try count == 3 && db.count(Player.all) == 3)
    }

    /// G29 savepoints
    func g29() throws {
        struct Odd: Error {}
        try db.transaction { db in
            try db.execute("DELETE FROM player WHERE id = 1")
            #expect(throws: Odd.self) {
                try db.savepoint { db in
                    try db.execute("DELETE FROM player")
                    throw Odd()
                }
            }
        }
        #expect(try db.count(Player.all) == 2)
    }

    /// G30 reading and writing without blocking
    func g30() async throws {
        let pool = try pool()
        try await pool.write { db in try db.execute("UPDATE player SET score = 0") }
        #expect(try await pool.read { db in try db.fetchOne(Player.select { $0.score.sum() }) } == 0)
    }

    /// G31 snapshots
    func g31() async throws {
        let pool = try pool(), snapshot = try await pool.snapshot()
        try await pool.write { db in try db.execute("DELETE FROM player") }
        #expect(try await snapshot.read { db in try db.count(Player.all) } == 3)
    }

    /// G32 interrupting
    func g32() async throws {
        let pool = try pool()
        let task = Task {
            try await pool.read { db in
                try db.fetchOne(Int.self, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n")
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: Observation

    /// G33 observing a query
    func g33() async throws {
        let pool = try pool()
        var seen: [Int] = []
        for try await count in pool.observe({ db in try db.count(Player.all) }).removingDuplicates() {
            seen.append(count)
            if seen.count == 2 { break }
            try await pool.write { db in try db.execute("DELETE FROM player WHERE id = 1") }
        }
        #expect(seen == [3, 2])
    }

    /// G34 one observation for several loops
    func g34() async throws {
        let counts = try pool().observe { db in try db.count(Player.all) }.shared()
        for try await count in counts {
            #expect(count == 3)
            break
        }
    }

    /// G35 hearing of transactions
    func g35() throws {
        var rows: [Int64] = [], commits = 0
        let changes = try db.addUpdateHook { change in rows.append(change.rowID) }
        let ends = try db.addCommitHook { commits += 1 }
        try db.execute("DELETE FROM player WHERE id > 1")
        changes.remove()
        ends.remove()
        #expect(rows == [2, 3] && commits == 1)
    }

    // MARK: Search, JSON, functions

    /// G36 full-text tables
    func g36() throws {
        try db.create(FTS5Table("player_fts", columns: ["name"], content: .external(table: "player")))
        try db.insert(Player(name: "Zoë", score: 1))
        #expect(try db.fullText("player_fts").search("zoe").hits.map(\.rowID) == [4])
    }

    /// G37 patterns
    func g37() throws {
        try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        let notes = try db.fullText("note_fts")
        #expect(try notes.search(.any(.phrase("mill"), .phrase("well"))).hits.map(\.rowID).sorted() == [2, 3])
        #expect(try notes.search("\"unclosed AND (").hits.isEmpty)
    }

    /// G38 JSON
    func g38() throws {
        try db.execute("CREATE TABLE page(meta BLOB)")
        try db.execute("INSERT INTO page VALUES (\(JSONColumn(["stars": 3])))")
        let stars = JSONExpression(column: "meta", of: "page").extract(JSONPath("stars"))
        #expect(try db.fetchOne(Int.self, "SELECT \(stars) FROM page") == 3)
    }

    /// G39 functions and collations
    func g39() throws {
        try db.register(.function("twice", .deterministic) { (number: Int) in 2 * number })
        try db.register(.collation("length") { $0.count < $1.count ? .orderedAscending : $0.count > $1.count ? .orderedDescending : .orderedSame })
        #expect(try db.fetchOne(Int.self, "SELECT twice(4)") == 8)
        #expect(try db.fetchAll(String.self, "SELECT name FROM player ORDER BY name COLLATE length") == ["Craig", "Arthur", "Barbara"])
    }

    /// G40 a trace
    func g40() throws {
        var seen: [String] = []
        let token = try db.addTraceHook { event in seen.append(event.sql) }
        _ = try db.count(Team.all)
        token.remove()
        #expect(seen.contains { $0.contains("count(*)") })
    }

    /// G41 a backup
    func g41() throws {
        try db.main.backup(toFileAt: desk.file("copy.db"))
        #expect(try Connection(.file(desk.file("copy.db")), key: desk.key).count(Player.all) == 3)
    }

    /// G43 suspension in the background
    func g43() throws {
        let pool = try pool(), center = NotificationCenter()
        let background = Notification.Name("background"), foreground = Notification.Name("foreground")
        let suspension = pool.observeSuspension(suspending: background, resuming: foreground, in: center)
        center.post(name: background, object: nil)
        #expect(pool.isSuspended)
        #expect(throws: DatabaseError.self) { try pool.read { db in try db.count(Player.all) } }
        center.post(name: foreground, object: nil)
        #expect(!pool.isSuspended)
        #expect(try pool.read { db in try db.count(Player.all) } == 3)
        withExtendedLifetime(suspension) {}
    }

    // MARK: Found by porting whole programs

    /// A clip in a table that is not named after its type, with a key of two columns.
    struct Clip: SQLRecord, Hashable {
        static let tableName = "clipboard_items"
        var app: String
        var content: String
        var pinned = false
        var copied: Date
    }

    /// G44 a table's name, and queries with names
    func g44() throws {
        #expect(Clip.tableName == "clipboard_items")
        #expect(try db.fetchAll(Player.filter { $0.teamId == 1 }.bestFirst()).map(\.name) == ["Barbara", "Arthur"])
    }

    /// G45 by key, counting, and whether there is any
    func g45() throws {
        #expect(try db.fetchOne(Player.self, id: 9) == nil)
        #expect(throws: DatabaseError.self) { try db.find(Player.self, id: 9) }
        #expect(try db.delete(Player.self, ids: [1, 2, 9]) == 2)
        #expect(try db.count(Player.all) == 1 && !db.exists(Player.filter { $0.score > 200 }))
    }

    /// G46 replacing rows
    func g46() throws {
        try db.insert(Team(id: 1, name: "Green"), onConflict: .replace)
        try db.insertAll([Team(id: 2, name: "Gold"), Team(id: 3, name: "Gray")], onConflict: .replace)
        #expect(try db.fetchAll(Team.order { $0.id }).map(\.name) == ["Green", "Gold", "Gray"])
    }

    /// G47 an order in SQL
    func g47() throws {
        let names = try db.fetchAll(Player.order { _ in SQLOrdering(sql: "length(name), name") }).map(\.name)
        #expect(names == ["Craig", "Arthur", "Barbara"])
        #expect(try db.deleteAll(Player.order { _ in SQLOrdering(sql: "random()") }.limit(1)) == 1)
    }

    /// G48 a collation of GRDB
    func g48() throws {
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in try db.register(.grdbCollations) }
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key, configuration: configuration)
        try queue.write { db in try db.insertAll([Team(name: "apple"), Team(name: "Zebra")]) }
        let names = try queue.read { db in
            try db.fetchAll(Team.order { $0.name.collate("swiftLocalizedCaseInsensitiveCompare") }).map(\.name)
        }
        #expect(names == ["apple", "Blue", "Red", "Zebra"])
    }

    /// G49 text that contains another text
    func g49() throws {
        try db.insertAll([Team(name: "100% Wool"), Team(name: "1000 Wolves")])
        #expect(try db.fetchAll(Team.filter { $0.name.like(.contains("0% w")) }).map(\.name) == ["100% Wool"])
    }

    /// G50 a table of an older file
    func g50() throws {
        try db.create(SQLTable("clipboard_items") {
            SQLColumn("app", .text).notNull()
            SQLColumn("content", .text).notNull()
            SQLColumn("pinned", .integer).notNull().default(false)
            SQLColumn("copied", .text).notNull()
            SQLConstraint.primaryKey("app", "content")
            SQLIndex("clipboard_items_copied", on: ["copied"], isUnique: true)
        })
        #expect(try db.main.primaryKey(of: "clipboard_items") == ["app", "content"])
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .grdb
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key, configuration: configuration)
        let clip = Clip(app: "Notes", content: "a", pinned: true, copied: Date(timeIntervalSince1970: 0))
        let found = try queue.write { db in
            try db.insert(clip)
            return try db.fetchAll(Clip.filter { $0.pinned })
        }
        #expect(found == [clip])
        let text = try db.fetchOne(String.self, "SELECT copied FROM clipboard_items")
        #expect(text == "1970-01-01 00:00:00.000")
    }

    /// G51 erasing during development
    func g51() throws {
        let queue = try DatabaseQueue(.memory)
        for column in ["name", "title"] {
            var migrator = Migrator()
            migrator.erasesOnSchemaChange = true
            migrator.add("v1") { db in try db.create(SQLTable("note") { SQLColumn(column, .text) }) }
            try migrator.migrate(queue)
            #expect(try queue.read { db in try db.main.columns(of: "note").map(\.name) } == [column])
        }
    }

    /// G52 a queue or pool of any kind
    func g52() throws {
        let writer: DatabaseWriter = try pool()
        let reader = DatabaseReader(writer)
        #expect(try reader.read { db in try db.count(Player.all) } == 3)
    }
}

extension SQLQuery<GRDBPorts.Player> {
    fileprivate func bestFirst() -> Self { order { $0.score.descending } }
}

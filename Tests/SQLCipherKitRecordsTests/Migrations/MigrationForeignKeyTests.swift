import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// A key that a migration has broken stops it; a key that was broken before does not.
@Suite struct MigrationForeignKeyTests {
    /// The keys that rows refer to and that are not there, with the number of rows, computed by hand.
    private static func gaps(_ db: Connection) throws -> [String: Int] {
        let child = try db.main.hasTable("b2") ? "b2" : "b"
        let parents = Set(try db.fetchAll(Int.self, "SELECT id FROM a"))
        var pairs: Set<String> = []
        for (p, q): (String, Int) in try db.fetchAll("SELECT p, q FROM e") { pairs.insert("\(p.lowercased()) \(q)") }
        var gaps: [String: Int] = [:]
        for x in try db.fetchAll(Int?.self, SQL(raw: "SELECT CAST(x AS INTEGER) FROM \(child)")) {
            if let x, !parents.contains(x) { gaps["b \(x)", default: 0] += 1 }
        }
        for x in try db.fetchAll(Int?.self, "SELECT x FROM c") {
            if let x, !parents.contains(x) { gaps["c \(x)", default: 0] += 1 }
        }
        for (p, q): (String?, Int?) in try db.fetchAll("SELECT p, CAST(q AS INTEGER) FROM d") {
            if let p, let q, !pairs.contains("\(p.lowercased()) \(q)") { gaps["d \(p) \(q)", default: 0] += 1 }
        }
        return gaps
    }

    private static func makeTables(_ db: Connection, _ random: inout SeededGenerator) throws {
        try db.execute(SQLScript(
            """
            CREATE TABLE a(id INTEGER PRIMARY KEY);
            CREATE TABLE b(x INTEGER REFERENCES a(id), note TEXT);
            CREATE TABLE c(k INTEGER PRIMARY KEY, x INTEGER REFERENCES a) WITHOUT ROWID;
            CREATE TABLE e(p TEXT COLLATE NOCASE, q INTEGER, UNIQUE (p, q));
            CREATE TABLE d(p TEXT, q TEXT, FOREIGN KEY (p, q) REFERENCES e(p, q));
            """))
        let isBroken = Bool.random(using: &random)
        for id in 1...6 { try db.execute("INSERT INTO a VALUES (\(id))") }
        for id in 1...4 { try db.execute("INSERT INTO e VALUES (\("P\(id % 2)"), \(id))") }
        for k in 0..<8 {
            let x = Int.random(in: 1...(isBroken ? 9 : 6), using: &random)
            try db.execute("INSERT INTO b VALUES (\(x), 'n')")
            try db.execute("INSERT INTO c VALUES (\(k), \(x))")
            let q = Int.random(in: 1...(isBroken ? 6 : 4), using: &random)
            try db.execute("INSERT INTO d VALUES (\("p\(q % 2)"), \("\(q)"))")
        }
    }

    private static func step(_ db: Connection, _ random: inout SeededGenerator) throws {
        let b = try db.main.hasTable("b2") ? "b2" : "b", key = Int.random(in: 1...9, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try db.execute("DELETE FROM a WHERE id = \(key)")
        case 1: try db.execute("DELETE FROM e WHERE q = \(key)")
        case 2: try db.execute(SQL(raw: "INSERT INTO \(b)(x) VALUES (?)", [key]))
        case 3: try db.execute("DELETE FROM c WHERE k = \(key)")
        case 4: try db.execute("UPDATE c SET x = \(key) WHERE k = \(key % 4)")
        case 5: try db.execute("INSERT OR IGNORE INTO a VALUES (\(key))")
        case 6 where b == "b": try db.main.renameTable("b", to: "b2")
        case 7:
            // Other row ids, and another type.
            try db.execute("CREATE TABLE new(x TEXT REFERENCES a(id), note TEXT)")
            try db.execute(SQL(raw: "INSERT INTO new SELECT x, note FROM \(b) ORDER BY random()"))
            try db.main.dropTable(b)
            try db.main.renameTable("new", to: b)
        case 8: try db.execute(SQL(raw: "DELETE FROM \(b) WHERE rowid = (SELECT min(rowid) FROM \(b))"))
        case 9: try db.execute("UPDATE c SET k = k + 100")
        default: try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS other\(key)(x)"))
        }
    }

    @Test(arguments: [true, false]) func onlyNewForeignKeyViolationsStopAMigration(isEnforcing: Bool) throws {
        var outcomes: [Bool: Int] = [:], reports = 0
        for seed in 0..<150 as Range<UInt64> {
            var random = SeededGenerator(state: seed)
            var configuration = DatabaseConfiguration()
            configuration.enforcesForeignKeys = isEnforcing
            let db = try Connection(.memory, configuration: configuration)
            try db.settings.setEnabled(.foreignKeys, to: false)
            try Self.makeTables(db, &random)
            try db.settings.setEnabled(.foreignKeys, to: isEnforcing)
            let before = try Self.gaps(db), content = try Contents.of(db)
            let steps = Int.random(in: 1...3, using: &random), state = random
            let shared = Seen()
            var migrator = Migrator()
            migrator.add("change") { db in
                var random = state
                for _ in 0..<steps { try Self.step(db, &random) }
                shared.set(after: try Self.gaps(db))
            }
            migrator.onForeignKeyViolations = { shared.set($1, $2) }
            let result = Result { try migrator.migrate(db) }
            let after = shared.after
            let new = after.map { max(0, $0.value - (before[$0.key] ?? 0)) }.reduce(0, +)
            let all = after.values.reduce(0, +)
            switch result {
            case .success:
                #expect(new == 0 || !isEnforcing, "seed \(seed): \(before) \(after)")
                #expect(shared.report?.new.count ?? 0 == new, "seed \(seed): \(before) \(after)")
                #expect(shared.report?.former.count ?? 0 == all - new, "seed \(seed): \(before) \(after)")
                #expect((shared.report == nil) == (all == 0))
                if shared.report != nil { reports += 1 }
            case .failure(let error as DatabaseError):
                #expect(error.reason == .migration && new > 0 && isEnforcing, "seed \(seed): \(error) \(before) \(after)")
                #expect(try Contents.of(db) == content)
                #expect(error.message.contains(" refers to a row of "))
            case .failure(let error): throw error
            }
            outcomes[new > 0, default: 0] += 1
        }
        #expect(outcomes.count == 2 && reports > 10)
    }

    private typealias Report = (former: [Schema.ForeignKeyViolation], new: [Schema.ForeignKeyViolation])

    private final class Seen: Sendable {
        private let state = Lock<(after: [String: Int], report: Report?)>(([:], nil))
        func set(after: [String: Int]) { state.withLock { $0.after = after } }
        func set(_ former: [Schema.ForeignKeyViolation], _ new: [Schema.ForeignKeyViolation]) {
            state.withLock { $0.report = (former, new) }
        }
        var after: [String: Int] { state.withLock { $0.after } }
        var report: Report? { state.withLock { $0.report } }
    }

    @Test func foreignKeyErrorNamesTableRowAndParent() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(x REFERENCES a)"))
        try db.execute("INSERT INTO a VALUES (1), (2)")
        try db.execute("INSERT INTO b(rowid, x) VALUES (7, 1), (8, 2)")
        try db.settings.setEnabled(.foreignKeys, to: false)
        try db.execute("DELETE FROM a WHERE id = 1")
        try db.settings.setEnabled(.foreignKeys, to: true)
        var migrator = Migrator()
        migrator.add("unrelated") { db in try db.execute("CREATE TABLE t(x)") }
        #expect(try migrator.migrate(db) == ["unrelated"])
        migrator.add("breaks") { db in try db.execute("DELETE FROM a WHERE id = 2") }
        let error = #expect(throws: DatabaseError.self) { try migrator.migrate(db) }
        #expect(error?.message == "after the migration breaks row 8 of b refers to a row of a that does not exist")
        // Without a check.
        var unchecked = Migrator()
        unchecked.add("unrelated") { _ in }
        unchecked.add("breaks", foreignKeys: .unchecked) { db in try db.execute("DELETE FROM a WHERE id = 2") }
        #expect(try unchecked.migrate(db) == ["breaks"])
        #expect(try db.main.foreignKeyViolations().count == 2)
    }

    /// A key whose parent has no unique index cannot be checked at all.
    @Test func oldUncheckableForeignKeyDoesNotStopMigration() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript(
            """
            CREATE TABLE a(id);
            CREATE TABLE b(x REFERENCES a(id));
            CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE q(x REFERENCES p);
            """))
        try db.execute("INSERT INTO p VALUES (1)")
        try db.execute("INSERT INTO q VALUES (1)")
        var migrator = Migrator()
        migrator.add("unrelated") { db in try db.execute("CREATE TABLE t(x)") }
        migrator.add("renamed") { db in try db.main.renameTable("b", to: "bb") }
        #expect(try migrator.migrate(db) == ["unrelated", "renamed"])
        var broken = migrator
        broken.add("broken") { db in try db.execute("DELETE FROM p") }
        #expect(throws: DatabaseError.self) { try broken.migrate(db) }
        migrator.add("new") { db in try db.execute("CREATE TABLE n(x REFERENCES a(id))") }
        let error = #expect(throws: DatabaseError.self) { try migrator.migrate(db) }
        #expect(error?.reason == .migration)
        #expect(error?.message.hasPrefix("after the migration new the foreign keys of n cannot be checked: ") == true)
    }
}

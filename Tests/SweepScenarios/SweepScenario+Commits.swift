import Foundation
import SQLCipherKit

/// Ordinary work: commits in each journal mode, new databases, transactions of two databases, migrations.
extension SweepScenario {
    /// Enough for several pages.
    private static let count = 6, steps = 3

    static func committing(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        switch action {
        case "commits": return try commits(setting)
        case "create": return try create(setting)
        case "attached": return try attached(setting)
        case "moves": return try moves(setting)
        case "copies": return try copies(setting)
        case "migrations": return try migrations(setting)
        default: return nil
        }
    }

    private static func open(_ path: String, _ setting: Setting) throws -> Connection {
        try Connection(.file(path), key: one(), configuration: setting.configuration)
    }

    /// Every row has the number of the last step.
    private static func fill(_ db: Connection, _ table: String = "t", step: Int) throws {
        let text = SQL("printf('%s %d %s', \(marker), \(step), hex(zeroblob(350 + 25 * \(step))))")
        try db.execute("UPDATE \(raw: table) SET x = \(text)")
        // And the file grows.
        try db.execute("INSERT INTO \(raw: table) SELECT \(text)")
    }

    /// The step that all rows are of.
    private static func step(_ path: String, _ table: String = "t") throws -> Int {
        try intact(path, one()) { db in
            let number = SQL("CAST(substr(x, \(marker.utf8.count + 2), 1) AS INTEGER)")
            let steps = try db.fetchAll(Int.self, "SELECT DISTINCT \(number) FROM \(raw: table)")
            let rows = try db.fetchOne(Int.self, "SELECT count(*) FROM \(raw: table)") ?? -1
            guard steps.count == 1, rows == count + steps[0] else {
                throw Wrong(description: "\(path) has \(rows) rows of the steps \(steps)")
            }
            return steps[0]
        }
    }

    private static func expect(_ step: Int, after calls: Int, _ path: String) throws {
        guard step == calls || step == calls + 1 else {
            throw Wrong(description: "\(path) is in step \(step), but \(calls) had returned")
        }
    }

    private static func prepare(_ path: String, _ setting: Setting) throws {
        let db = try open(path, setting.flushed)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(x)")
            for _ in 1..<count { try db.execute("INSERT INTO t VALUES (NULL)") }
            try fill(db, step: 0)
        }
    }

    private static func commits(_ setting: Setting) throws -> SweepScenario {
        SweepScenario(
            prepare: { try prepare($0 + "/a.db", setting) },
            act: { folder in
                let db = try open(folder + "/a.db", setting)
                for number in 1...steps {
                    try db.transaction { db in try fill(db, step: number) }
                    returned()
                }
            },
            check: { folder in
                guard (0...steps).contains(try step(folder + "/a.db")) else { throw Wrong(description: "another step") }
                try expect(folder, files: ["a.db"])
            },
            checkReturned: { folder, calls in try expect(try step(folder + "/a.db"), after: calls, folder + "/a.db") })
    }

    /// A database that is made and filled by its first opening, and then used.
    private static func create(_ setting: Setting) throws -> SweepScenario {
        let make = { (folder: String) in
            var configuration = setting.configuration
            configuration.onCreate = { db in
                try db.execute("CREATE TABLE t(x)")
                for _ in 1..<count { try db.execute("INSERT INTO t VALUES (NULL)") }
                try fill(db, step: 0)
            }
            return try Connection(.file(folder + "/a.db"), key: one(), configuration: configuration)
        }
        return SweepScenario(
            prepare: { _ in },
            act: { folder in
                let db = try make(folder)
                returned()
                try db.transaction { db in try fill(db, step: 1) }
                returned()
            },
            check: { folder in
                _ = try make(folder)
                guard (0...1).contains(try step(folder + "/a.db")) else { throw Wrong(description: "another step") }
                try expect(folder, files: ["a.db"])
            },
            checkReturned: { folder, calls in if calls > 0 { try expect(try step(folder + "/a.db"), after: calls - 1, folder) } })
    }

    /// A super-journal that no journal names yet stays, and is harmless (https://sqlite.org/atomiccommit.html).
    private static func superJournals(_ folder: String) -> [String] {
        SweepScenario.names(in: folder).filter { $0.hasPrefix("a.db-mj") }
    }

    /// Transactions of two databases: with rollback journals that are flushed, both change or none.
    private static func attached(_ setting: Setting) throws -> SweepScenario {
        // With a write-ahead log, or without flushes, each file is atomic for itself (`Connection.Settings.isAtomicAcrossFiles`).
        let names = ["a.db", "b.db"], isAtomic = setting.mode != "wal" && setting.durability != .off
        return SweepScenario(
            prepare: { folder in for name in names { try prepare(folder + "/" + name, setting) } },
            act: { folder in
                let db = try open(folder + "/a.db", setting)
                try db.attach(.file(folder + "/b.db"), as: "b", key: one())
                for number in 1...2 {
                    try db.transaction { db in
                        try fill(db, "main.t", step: number)
                        try fill(db, "b.t", step: number)
                    }
                    returned()
                }
            },
            check: { folder in
                // A journal is judged when its own database is opened, for which its super-journal must still be there.
                let found = try names.map { try step(folder + "/" + $0) }
                guard !isAtomic || found[0] == found[1] else { throw Wrong(description: "the steps are \(found)") }
                let stayed = superJournals(folder)
                try expect(folder, files: (stayed + names).sorted())
                for name in stayed {
                    // The super-journal has the paths of journals, and nothing of the databases.
                    let parts = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)).split(separator: 0)
                    let known = names.map { Data((folder + "/" + $0 + "-journal").utf8) }
                    guard parts.allSatisfy({ part in known.contains { $0.starts(with: part) } }) else {
                        throw Wrong(description: "\(name) has something else than journals' names")
                    }
                }
            },
            checkReturned: { folder, calls in for name in names { try expect(try step(folder + "/" + name), after: calls, name) } })
    }

    /// Rows that move from one file to the other: each is in one of them, and the rows of one call are together.
    private static func moves(_ setting: Setting) throws -> SweepScenario {
        let names = ["a.db", "b.db"]
        let attach = { (folder: String) in
            let db = try open(folder + "/a.db", setting)
            return try db.attach(.file(folder + "/b.db"), as: "b", key: one())
        }
        let number = SQL("CAST(substr(x, \(marker.utf8.count + 2)) AS INTEGER)")
        // The numbers in each file, once the interrupted move is finished.
        let found = { (folder: String) throws -> [[Int]] in
            let target = try attach(folder), db = target.connection
            try db.main.finishMoves(to: target)
            let left = try db.fetchAll(String.self, "SELECT name FROM main.sqlite_schema WHERE name GLOB 'sqlcipherkit_move_*'")
            guard left.isEmpty, try !target.hasTable("sqlcipherkit_arrival")
                || db.fetchOne(Int.self, "SELECT count(*) FROM b.sqlcipherkit_arrival WHERE number <> 0") == 0
            else { throw Wrong(description: "the moves are not finished: \(left)") }
            return try ["main", "b"].map { schema in
                try db.fetchAll(Int.self, "SELECT \(number) FROM \(raw: schema).t ORDER BY 1")
            }
        }
        let states = [[Array(0..<8), []], [Array(3..<8), Array(0..<3)], [Array(6..<8), Array(0..<6)]]
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), setting.mode, rows: 8)
                try make(folder + "/b.db", one(), setting.mode, rows: 0)
            },
            act: { folder in
                let target = try attach(folder)
                for limit in [3, 6] {
                    try target.connection.main.moveRows(of: "t", to: target, where: "\(number) < \(limit)")
                    returned()
                }
            },
            check: { folder in
                let now = try found(folder)
                guard states.contains(now) else { throw Wrong(description: "the rows are \(now)") }
                for name in names { try intact(folder + "/" + name, one()) { _ in } }
                try expect(folder, files: (superJournals(folder) + names).sorted())
            },
            checkReturned: { folder, calls in
                let now = try found(folder)
                guard let state = states.firstIndex(of: now), state == calls || state == calls + 1 else {
                    throw Wrong(description: "\(calls) calls had returned, and the rows are \(now)")
                }
            })
    }

    /// Tables that are copied from one file to the other: the tables of each call are all there or not at all, and the source is
    /// unchanged.
    private static func copies(_ setting: Setting) throws -> SweepScenario {
        let names = ["a.db", "b.db"], tables = [["t"], ["u", "v"]]
        func rows(_ path: String) throws -> [Int] {
            try intact(path, one()) { db in
                try tables.flatMap(\.self).map { table in
                    guard try db.main.hasTable(table) else { return -1 }
                    return try db.fetchOne(Int.self, "SELECT count(*) FROM \(raw: table) WHERE x GLOB \(marker + "*")") ?? -1
                }
            }
        }
        let states = [[0, -1, -1], [8, -1, -1], [8, 8, 8]]
        func state(_ folder: String) throws -> Int {
            let source = try rows(folder + "/a.db"), copy = try rows(folder + "/b.db")
            guard source == states[2], let state = states.firstIndex(of: copy) else {
                throw Wrong(description: "the tables have the rows \(source) and \(copy)")
            }
            return state
        }
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), setting.mode, rows: 8)
                try make(folder + "/b.db", one(), setting.mode, rows: 0)
                let db = try open(folder + "/a.db", setting.flushed)
                for table in tables[1] { try db.execute("CREATE TABLE \(raw: table) AS SELECT * FROM t") }
            },
            act: { folder in
                let db = try open(folder + "/a.db", setting)
                let target = try db.attach(.file(folder + "/b.db"), as: "b", key: one())
                for names in tables {
                    try db.main.copyTables(names, to: target)
                    returned()
                }
            },
            check: { folder in
                _ = try state(folder)
                try expect(folder, files: (superJournals(folder) + names).sorted())
            },
            checkReturned: { folder, calls in try expect(state(folder), after: calls, folder) })
    }

    private static func migrations(_ setting: Setting) throws -> SweepScenario {
        let migrator = { (count: Int) in
            var migrator = Migrator()
            for number in 1...count {
                migrator.add("rebuild \(number)") { db in
                    try db.execute("CREATE TABLE new(x)")
                    try db.execute("INSERT INTO new SELECT x FROM t")
                    try fill(db, "new", step: number)
                    try db.execute("DROP TABLE t")
                    try db.main.renameTable("new", to: "t")
                }
            }
            return migrator
        }
        return SweepScenario(
            prepare: { try prepare($0 + "/a.db", setting) },
            act: { folder in
                let db = try open(folder + "/a.db", setting)
                for number in 1...steps {
                    try migrator(number).migrate(db)
                    returned()
                }
            },
            check: { folder in
                let found = try step(folder + "/a.db"), migrator = migrator(steps)
                do {
                    let db = try Connection(.file(folder + "/a.db"), key: one())
                    let applied = try migrator.applied(in: db)
                    guard applied.count == found else { throw Wrong(description: "\(applied) are noted, but the step is \(found)") }
                    try migrator.migrate(db)
                }
                guard try step(folder + "/a.db") == steps else { throw Wrong(description: "the migrations do not end") }
                try expect(folder, files: ["a.db"])
            },
            checkReturned: { folder, calls in try expect(try step(folder + "/a.db"), after: calls, folder + "/a.db") })
    }
}

import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Which rows are one row.
@Suite struct RowKeyTests {
    private func make(_ sql: String = KeyedTables.schema) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript(sql))
        return db
    }

    private func copy(_ db: Connection) throws -> Connection {
        let copy = try Connection(.memory)
        try db.main.backup(to: copy.main)
        return copy
    }

    private func change(_ db: Connection, _ random: inout SeededGenerator, _ count: Int) throws {
        for _ in 0..<Int.random(in: 1...count, using: &random) { try db.execute(KeyedTables.statement(&random)) }
    }

    /// The table itself is the judge: it refuses a second row with an equal key.
    @Test func canonicalKeysAreEqualAsInTheTable() throws {
        let texts: [SQLValue] = ["", " ", "a", "A", "a ", "a  ", "ab", "AB", "é", "É", "e\u{301}", "a\0", "A\0", "a\0b", "A\0c", "a\0bc", "\0", "\0 ", "1", "1.0", " 1", "1e0", "[", "{"]
        let numbers: [SQLValue] = [0, 0.0, -0.0, 1, 1.0, -1, 2.5, 9_007_199_254_740_992, 9_007_199_254_740_992.0, 9_007_199_254_740_993, .integer(.max), 9_223_372_036_854_775_807.0, .integer(.min), -9_223_372_036_854_775_808.0, 1e300, .real(.infinity)]
        let values = texts + numbers + [.blob(.init([0x61])), .blob(.init([0x41])), .blob(.init())]
        var equal = 0
        for type in ["", "TEXT", "REAL", "NUMERIC", "INT", "BLOB"] {
            for collation in ["BINARY", "nocase", "RTRIM"] {
                for option in ["", "WITHOUT ROWID"] {
                    let db = try make("CREATE TABLE t(k \(type) COLLATE \(collation) PRIMARY KEY) \(option)")
                    let key = try #require(try RowKey(of: "T", in: db.main))
                    func stored(_ value: SQLValue) throws -> SQLValue {
                        try db.execute("DELETE FROM t")
                        try db.execute("INSERT INTO t VALUES (\(value))")
                        return try #require(try db.fetchOne(SQLValue.self, "SELECT k FROM t"))
                    }
                    for a in values {
                        let canonical = key.canonical([try stored(a)])
                        for b in values {
                            let other = key.canonical([try stored(b)])
                            try db.execute("INSERT OR IGNORE INTO t VALUES (\(a))")
                            let isOne = db.changes == 0
                            equal += isOne && a != b ? 1 : 0
                            #expect((canonical == other) == isOne, "\(type) \(collation): \(a) and \(b)")
                        }
                    }
                }
            }
        }
        #expect(equal > 500)
    }

    /// Recorded, compared and applied changes make the same rows, with the same spellings.
    static func changes(_ seed: UInt64, _ seen: inout (rebased: Int, refused: Int)) throws {
        let tests = RowKeyTests()
        var random = SeededGenerator(state: seed)
        let a = try tests.make()
        try tests.change(a, &random, 12)
        let before = try tests.copy(a), old = try KeyedTables.rows(a)
        let inverse = try tests.copy(a)
        let first = try a.main.recordingChanges { try tests.change($0, &random, 8) }
        let new = try KeyedTables.rows(a)
        // Applied to a copy, and undone there.
        #expect(try first.apply(to: inverse).isComplete)
        #expect(try KeyedTables.rows(inverse) == new, "seed \(seed)")
        #expect(try first.inverted().apply(to: inverse).isComplete)
        #expect(try KeyedTables.rows(inverse) == old, "seed \(seed)")
        // Two after each other are one.
        let further = try tests.copy(a)
        let second = try further.main.recordingChanges { try tests.change($0, &random, 8) }
        let joined = try tests.copy(before)
        try first.concatenated(with: second).apply(to: joined)
        #expect(try KeyedTables.rows(joined) == KeyedTables.rows(further), "seed \(seed)")
        // The differences, as changes and as a script.
        let diff = try DatabaseDiff(from: before.main, to: further.main)
        let compared = try tests.copy(before), scripted = try tests.copy(before)
        #expect(try diff.changeset().apply(to: compared).isComplete)
        #expect(try KeyedTables.rows(compared) == KeyedTables.rows(further), "seed \(seed)")
        try diff.apply(to: scripted)
        #expect(try KeyedTables.rows(scripted) == KeyedTables.rows(further), "seed \(seed)")
        // Copied and moved.
        try tests.rowsArrive(from: further, seed)
        // Two edit at once, and one rebases on the other.
        let b = try tests.copy(before)
        let local = try b.main.recordingChanges { try tests.change($0, &random, 8) }
        let resolution = Bool.random(using: &random) ? Changeset.Conflict.Resolution.replace : .omit
        let rebase = try first.apply(to: b) { $0.current != nil ? resolution : .omit }.rebase
        do {
            try local.rebased(by: rebase.map { [$0] } ?? []).apply(to: a)
            #expect(try KeyedTables.rows(a) == KeyedTables.rows(b), "seed \(seed), rebased")
            seen.rebased += 1
        } catch let error as DatabaseError where error.reason == .invalidArgument {
            #expect(KeyedTables.names.contains { error.message.contains("the table \($0) ") }, "\(error)")
            seen.refused += 1
        }
    }

    private func rowsArrive(from db: Connection, _ seed: UInt64) throws {
        let rows = try KeyedTables.rows(db), source = try copy(db)
        var options = Schema.CopyOptions()
        options.conflict = .replace
        let copies = try source.attach(.memory, as: "copies", key: nil), moves = try source.attach(.memory, as: "moves", key: nil)
        try source.main.copyTables(to: copies)
        try source.main.copyTables(to: copies, options: options)
        #expect(try KeyedTables.rows(source, schema: "copies") == rows, "seed \(seed)")
        try source.main.copyTables(to: moves)
        for table in KeyedTables.names { try source.execute(SQL(raw: "DELETE FROM moves.\(table)")) }
        for table in KeyedTables.names {
            try source.main.moveRows(of: table, to: moves, where: "k = 1")
            try source.main.moveRows(of: table, to: moves, where: "1")
        }
        #expect(try KeyedTables.rows(source, schema: "moves") == rows && KeyedTables.rows(source).isEmpty, "seed \(seed)")
    }

    @Test func rebasedChangesConvergeOrThrow() throws {
        var seen = (rebased: 0, refused: 0)
        let seeds = LongTests.seeds(60, of: 10_000)
        for seed in seeds { try Self.changes(seed, &seen) }
        if seeds.count < 60 { return }
        #expect(seen.rebased > 9 && seen.refused > 5, "\(seen)")
    }

    /// True if rows pass unique values around in a circle, so that none can be written before the others.
    private func isCircle(_ changes: Changeset) throws -> Bool {
        var next: [SQLValue: SQLValue] = [:]
        for change in try changes.changes() where change.kind == .update {
            if let old = change.old[1], let new = change.new[1] { next[old] = new }
        }
        return next.keys.contains { start in
            var value = next[start]
            for _ in next { if let here = value, here != start { value = next[here] } }
            return value == start
        }
    }

    /// A table that deletes or leaves out rows by itself does so when it is written to, and not when changes of it are applied.
    @Test func conflictClausesDoNotActWhenChangesAreApplied() throws {
        var circles = 0, changed = 0
        let seeds = LongTests.seeds(60, of: 10_000)
        for seed in seeds {
            var random = SeededGenerator(state: seed)
            let db = try make("CREATE TABLE once(k INTEGER PRIMARY KEY ON CONFLICT IGNORE, v UNIQUE ON CONFLICT REPLACE); INSERT INTO once VALUES (1, 1), (2, 2), (3, 3), (4, 4)")
            func rows(_ db: Connection, _ schema: String = "main") throws -> [[SQLValue]] {
                try db.fetchAll(OwnedRow.self, "SELECT * FROM \(identifier: schema).once ORDER BY k").map(\.values)
            }
            func edit() throws {
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let k = Int.random(in: 1...5, using: &random), v = Int.random(in: 1...5, using: &random)
                    let how = ["", "OR REPLACE", "OR IGNORE"].randomElement(using: &random) ?? ""
                    switch Int.random(in: 0..<9, using: &random) {
                    case 0, 1, 5, 6: try db.execute("INSERT \(raw: how) INTO once VALUES (\(k), \(v))")
                    case 2, 3: try db.execute("UPDATE \(raw: how) once SET v = \(v) WHERE k = \(k)")
                    case 4: try db.execute("UPDATE \(raw: how) once SET k = \(k) WHERE k = \(v)")
                    case 7:
                        for (from, to) in [(k, 9), (v, k), (9, v)] { try db.execute("UPDATE once SET k = \(to) WHERE k = \(from)") }
                    default: try db.execute("DELETE FROM once WHERE k = \(k)")
                    }
                }
            }
            if Bool.random(using: &random) { try edit() }
            let before = try copy(db), old = try rows(db)
            let changes = try db.main.recordingChanges { _ in try edit() }
            let new = try rows(db), there = try copy(before), back = try copy(db), scripted = try copy(before)
            try changes.apply(to: there)
            try changes.inverted().apply(to: back)
            #expect(try rows(there) == new && rows(back) == old, "seed \(seed)")
            changed += new == old ? 0 : 1
            circles += try isCircle(changes) ? 1 : 0
            try DatabaseDiff(from: before.main, to: db.main).apply(to: scripted)
            #expect(try rows(scripted) == new, "seed \(seed)")
            let other = try db.attach(.memory, as: "other", key: nil)
            try db.main.copyTables(to: other)
            #expect(try rows(db, "other") == new)
            try db.execute("DELETE FROM other.once")
            #expect(try db.main.moveRows(of: "once", to: other, where: "k < 4") + db.main.moveRows(of: "once", to: other, where: "1") == new.count)
            #expect(try rows(db, "other") == new, "seed \(seed)")
        }
        if seeds.count < 60 { return }
        #expect(circles > 0 && changed > 20, "\(circles) \(changed)")
    }

    private static let odd = [
        ("CREATE TABLE t(k TEXT COLLATE backwards PRIMARY KEY, v)", "by the collation backwards"),
        ("CREATE TABLE t(v, k TEXT, PRIMARY KEY (v, k COLLATE backwards)) WITHOUT ROWID", "by another collation than the column has"),
        ("CREATE TABLE t(k TEXT COLLATE NOCASE, v, PRIMARY KEY (k COLLATE BINARY, v))", "by another collation than the column has"),
    ]

    @Test(arguments: odd) func keysWithoutCanonicalFormThrow(table: String, how: String) throws {
        let db = try Connection(.memory)
        try db.register(.collation("backwards") { $0 < $1 ? .orderedDescending : $0 > $1 ? .orderedAscending : .orderedSame })
        try db.execute(SQL(raw: table))
        let before = try Contents.of(db)
        for what in [
            { _ = try ChangeLog(db, tables: ["T"], localPeer: "a") }, { _ = try ChangeRecorder(db.main) }, { _ = try ChangeRecorder(db.main, tables: ["T"]) },
            { _ = try db.main.recordingChanges { _ in } }, { try ChangeRecorder(db.main, tables: []).add(table: "T") },
            { _ = try DatabaseDiff(from: db.main, to: db.main).changeset() },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self, performing: what)
            #expect(error?.reason == .invalidArgument && error?.message.hasSuffix("cannot have the table t, whose key compares the column k \(how)") == true, "\(String(describing: error))")
        }
        #expect(try Contents.of(db) == before)
        // Other tables can be recorded.
        try db.execute("CREATE TABLE u(k TEXT PRIMARY KEY)")
        #expect(try !db.main.recordingChanges(tables: ["u"]) { try $0.execute("INSERT INTO u VALUES (1)") }.isEmpty)
    }

    /// A table that comes later is refused when it changes.
    @Test func tableWithUncanonicalKeyCreatedLaterThrows() throws {
        let db = try Connection(.memory)
        try db.register(.collation("backwards") { $0 < $1 ? .orderedDescending : $0 > $1 ? .orderedAscending : .orderedSame })
        let error = #expect(throws: DatabaseError.self) {
            try db.main.recordingChanges { try $0.execute(SQLScript("CREATE TABLE t(k TEXT COLLATE backwards PRIMARY KEY); INSERT INTO t VALUES ('a')")) }
        }
        #expect(error?.message == "a changeset cannot have the table t, whose key compares the column k by the collation backwards")
        #expect(try !db.main.hasTable("t"))
    }

    @Test func nullInPrimaryKeyEndsChangeRecording() throws {
        let db = try make("CREATE TABLE t(k TEXT, l, v, PRIMARY KEY (k, l)); INSERT INTO t VALUES ('a', 1, 1)")
        for sql in ["INSERT INTO t VALUES ('a', NULL, 1)", "UPDATE t SET l = NULL"] {
            let error = #expect(throws: DatabaseError.self) { try db.main.recordingChanges { try $0.execute(SQL(raw: sql)) } }
            #expect(error?.reason == .invalidArgument && error?.message == "a changeset cannot have a row of the table t with NULL in the key's column l")
            #expect(try db.fetchAll(Int.self, "SELECT l FROM t") == [1])
        }
        let log = try ChangeLog(db, tables: ["t"], localPeer: "a")
        #expect(throws: DatabaseError.self) { try log.write { try $0.execute("INSERT INTO t VALUES (NULL, 1, 1)") } }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 1)
        #expect(try log.write { try $0.execute("UPDATE t SET v = 2"); return 7 } == 7)
        // Written without the log.
        try db.execute("INSERT INTO t VALUES ('b', NULL, 1)")
        let message = "a change log cannot have a row of the table t with NULL in the key's column l"
        #expect(#expect(throws: DatabaseError.self) { try log.addExistingRows() }?.message == message)
        let error = #expect(throws: DatabaseError.self) { try log.write { try $0.execute("DELETE FROM t WHERE k = 'b'") } }
        #expect(error?.reason == .invalidArgument)
        // Once it is gone, the log goes on.
        try db.execute("DELETE FROM t WHERE k = 'b'")
        #expect(try log.write { try $0.execute("UPDATE t SET v = 3"); return 8 } == 8)
        try db.execute("INSERT INTO t VALUES ('b', NULL, 1)")
        try ChangeLog.delete(from: db)
        #expect(#expect(throws: DatabaseError.self) { try ChangeLog(db, tables: ["t"], localPeer: "a") }?.message == message)
        #expect(try !db.main.hasTable("changelog"))
        let other = try copy(db)
        #expect(#expect(throws: DatabaseError.self) { try DatabaseDiff(from: db.main, to: other.main).changeset() }?.message.contains("column l") == true)
    }

    /// Peers that compare keys differently would never agree.
    @Test(arguments: [("TEXT COLLATE NOCASE", "TEXT"), ("INTEGER", "TEXT"), ("", "TEXT")])
    func peersWithDifferentKeyCollationsThrow(one: String, other: String) throws {
        let a = try ChangeLog(try make("CREATE TABLE t(k \(one) PRIMARY KEY, v)"), tables: ["t"], localPeer: "a")
        let b = try ChangeLog(try make("CREATE TABLE t(K \(other) PRIMARY KEY, v)"), tables: ["t"], localPeer: "b")
        try a.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
        let message = try ChangeLog.Message(data: try a.changes().data)
        let error = #expect(throws: DatabaseError.self) { try b.receive(message) }
        #expect(error?.code == .schema && error?.message.hasPrefix("the key of the table t is k BINARY text here, and k ") == true)
        let c = try ChangeLog(try make("CREATE TABLE t(v, k \(one.lowercased()) PRIMARY KEY)"), tables: ["T"], localPeer: "c")
        #expect(try c.receive(message).received == 1)
    }

    /// The row has the spelling of its last insert, at each peer.
    @Test func rowKeepsKeySpellingOfItsLastInsert() throws {
        let sql = "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, v, w)"
        let a = try ChangeLog(try make(sql), tables: ["t"], localPeer: "a"), b = try ChangeLog(try make(sql), tables: ["t"], localPeer: "b")
        func exchange() throws {
            for _ in 0..<2 {
                try b.receive(try a.changes(since: try b.position))
                try a.receive(try b.changes(since: try a.position))
            }
        }
        func rows(_ log: ChangeLog) throws -> [[SQLValue]] { try log.connection.fetchAll(OwnedRow.self, "SELECT * FROM t").map(\.values) }
        try a.write { try $0.execute("INSERT INTO t VALUES ('Key', 1, 1)") }
        try exchange()
        b.now = { .init(timeIntervalSinceNow: 10) }
        try b.write { try $0.execute("INSERT OR REPLACE INTO t VALUES ('KEY', 2, 2)") }
        try a.write { try $0.execute("UPDATE t SET v = 3 WHERE k = 'key'") }
        try exchange()
        #expect(try rows(a) == [["KEY", 2, 2]] && rows(b) == rows(a))
        try a.write { try $0.execute("UPDATE t SET v = 4 WHERE k = 'key'") }
        try b.write { try $0.execute("UPDATE t SET w = 5 WHERE k = 'Key'") }
        try exchange()
        #expect(try rows(a) == [["KEY", 4, 5]] && rows(b) == rows(a))
    }
}

import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// The fate of the changes of a changeset.
@Suite struct ChangesetOutcomeTests {
    private typealias Rows = [Int64: [SQLValue]]

    private static func rows(_ db: Connection, _ table: String) throws -> Rows {
        var rows: Rows = [:]
        for row in try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT id, a, b FROM \(table)")).map(\.values) {
            if case .integer(let id) = row[0] { rows[id] = row }
        }
        return rows
    }

    private static func change(_ db: Connection, _ table: String, _ random: inout SeededGenerator) throws {
        for _ in 0..<Int.random(in: 0..<8, using: &random) {
            let id = Int.random(in: 1...9, using: &random), value = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: try db.execute(SQL(raw: "INSERT OR IGNORE INTO \(table)(id, a, b) VALUES (?, ?, 'b')", [id, value]))
            case 1:
                let column = Bool.random(using: &random) ? "a" : "b"
                try db.execute(SQL(raw: "UPDATE \(table) SET \(column) = ? WHERE id = ?", [value, id]))
            default: try db.execute(SQL(raw: "DELETE FROM \(table) WHERE id = ?", [id]))
            }
        }
    }

    /// One change, as the policy has it, in a copy of the rows.
    private static func apply(
        _ change: Changeset.Change, to rows: inout Rows, _ policy: Changeset.Conflict.Resolution,
        _ seen: inout [Changeset.Conflict.Kind: Int]
    ) -> Bool {
        guard case .integer(let id)? = change.kind == .insert ? change.new[0] : change.old[0] else { return false }
        var conflict: Changeset.Conflict.Kind?
        if let row = rows[id] {
            let isSame = zip(change.old, row).allSatisfy { $0 == nil || $0 == $1 }
            conflict = change.kind == .insert ? .exists : isSame ? nil : .different
        } else if change.kind != .insert { conflict = .missing }
        if let conflict {
            let isMade = policy == .replace && conflict != .missing
            seen[conflict, default: 0] += 1
            guard isMade else { return false }
        }
        switch change.kind {
        case .insert: rows[id] = change.new.map { $0 ?? .null }
        case .delete: rows[id] = nil
        case .update: rows[id] = zip(change.new, rows[id] ?? []).map { $0 ?? $1 }
        }
        return true
    }

    @Test func changesetOutcomeCountsAppliedAndOmittedChanges() throws {
        let forms = [
            "CREATE TABLE x(id INTEGER PRIMARY KEY, a, b)", "CREATE TABLE x(id INTEGER PRIMARY KEY, a, b, more DEFAULT 7)",
            "CREATE TABLE x(id INTEGER PRIMARY KEY, a)", "CREATE TABLE x(id, a, b, PRIMARY KEY (id, a))", "",
            "CREATE TABLE x(id INTEGER PRIMARY KEY, a, b AS (a))",
        ]
        let skips: [Changeset.Outcome.Skip?] = [
            nil, nil, .fewerColumns(here: 2, there: 3), .primaryKey, .noTable, .fewerColumns(here: 2, there: 3),
        ]
        var complete = 0, skipped = 0, conflicts = 0
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(state: seed)
            let source = try Connection(.memory), target = try Connection(.memory)
            var used: [String: Int] = [:]
            for table in ["t1", "t2", "t3"] {
                let form = Int.random(in: 0..<2, using: &random) == 0 ? 0 : Int.random(in: 0..<forms.count, using: &random)
                used[table] = form
                try source.execute(SQL(raw: forms[0].replacingOccurrences(of: "x(", with: "\(table)(")))
                let own = forms[form].replacingOccurrences(of: "x(", with: "\(table)(")
                if !own.isEmpty { try target.execute(SQL(raw: own)) }
                try Self.change(source, table, &random)
                if form < 2 { try Self.change(target, table, &random) }
            }
            let state = random
            let changes = try source.main.recordingChanges { db in
                var random = state
                for table in ["t1", "t2", "t3"] { try Self.change(db, table, &random) }
            }
            let rules: [Changeset.Policy.Rule] = [.omit, .replace, .ask { $0.current != nil ? .replace : .omit }]
            let rule = Int.random(in: 0..<3, using: &random), first = Int.random(in: 0..<3, using: &random)
            let wanted = seed % 7 == 0 ? ["T1", "t3"] : nil
            let policy = Changeset.Policy(rules[rule], tables: ["T1": rules[first]])
            let outcome = try changes.apply(to: target, tables: wanted, policy: policy)
            for table in ["t1", "t2", "t3"] {
                let own = try changes.changes().filter { $0.table == table }
                guard !own.isEmpty else {
                    #expect(outcome[table] == nil)
                    continue
                }
                let told = try #require(outcome[table])
                #expect(told.changes == own.count)
                let skip = wanted != nil && table == "t2" ? .notWanted : skips[used[table] ?? 0]
                #expect(told.skip == skip, "seed \(seed)")
                skipped += skip == nil ? 0 : 1
                guard skip == nil else {
                    #expect(told.applied == 0 && told.omitted.isEmpty)
                    continue
                }
                // The same by hand, from the former rows.
                let policy: Changeset.Conflict.Resolution = (table == "t1" ? first : rule) == 0 ? .omit : .replace
                var model = try Self.rows(try Self.replica(seed, table, used), table)
                var seen: [Changeset.Conflict.Kind: Int] = [:], made = 0
                for change in own where Self.apply(change, to: &model, policy, &seen) { made += 1 }
                #expect(try Self.rows(target, table) == model, "seed \(seed)")
                #expect(told.applied == made, "seed \(seed)")
                #expect(told.omitted.values.reduce(0, +) + told.replaced == seen.values.reduce(0, +), "seed \(seed)")
                conflicts += seen.count
            }
            complete += outcome.isComplete ? 1 : 0
            #expect(outcome.isComplete == outcome.tables.allSatisfy { $0.skip == nil && $0.omitted.isEmpty })
        }
        #expect(complete > 10 && skipped > 50 && conflicts > 50)
    }

    /// The target as it was before, made again from the same numbers.
    private static func replica(_ seed: UInt64, _ wanted: String, _ used: [String: Int]) throws -> Connection {
        var random = SeededGenerator(state: seed)
        let source = try Connection(.memory), target = try Connection(.memory)
        for table in ["t1", "t2", "t3"] {
            if Int.random(in: 0..<2, using: &random) != 0 { _ = Int.random(in: 0..<6, using: &random) }
            for db in [source, target] { try db.execute(SQL(raw: "CREATE TABLE \(table)(id INTEGER PRIMARY KEY, a, b)")) }
            try change(source, table, &random)
            if used[table] ?? 0 < 2 { try change(target, table, &random) }
        }
        return target
    }

    @Test func missingRequiredTableThrows() throws {
        let source = try Connection(.memory), target = try Connection(.memory)
        try source.execute(SQLScript("CREATE TABLE a(id INTEGER PRIMARY KEY, x); CREATE TABLE b(id INTEGER PRIMARY KEY, x)"))
        try target.execute(SQLScript("CREATE TABLE a(id INTEGER PRIMARY KEY, x); CREATE TABLE b(id INTEGER PRIMARY KEY)"))
        let changes = try source.main.recordingChanges { db in
            try db.execute(SQLScript("INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 1)"))
        }
        var options = Changeset.Options()
        options.requiresAllTables = true
        let error = #expect(throws: DatabaseError.self) { try changes.apply(to: target, options: options) }
        #expect(error?.code == .schema)
        #expect(error?.message == "the changes of b cannot be applied: it has 1 columns here, and 2 in the changeset")
        #expect(try target.fetchOne(Int.self, "SELECT count(*) FROM a") == 0)
        #expect(try changes.apply(to: target, tables: ["a"], options: options)["b"]?.skip == .notWanted)
        #expect(try !changes.apply(to: target) { _ in .omit }.isComplete)
    }

    @Test func abortedChangesetNamesTableAndRow() throws {
        let schema = SQLScript(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE);
            CREATE TABLE w(k TEXT PRIMARY KEY, v);
            CREATE TABLE c(id INTEGER PRIMARY KEY, t REFERENCES t);
            """)
        let start = SQLScript("INSERT INTO t VALUES (1, 'hunter1'), (2, 'hunter2'); INSERT INTO w VALUES ('hunter', 1)")
        let cases: [(String, String, String)] = [
            ("UPDATE t SET x = 'a' WHERE id = 1", "UPDATE t SET x = 'b' WHERE id = 1", "the update of row 1 of t: the row has other values"),
            ("DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 2", "the delete of row 2 of t: the row does not exist"),
            ("INSERT INTO t VALUES (7, 'c')", "INSERT INTO t VALUES (7, 'd')", "the insert of row 7 of t: a row with this key exists"),
            ("INSERT INTO t VALUES (7, 'c')", "INSERT INTO t VALUES (8, 'c')", "the insert of row 7 of t: the row would break a constraint"),
            ("DELETE FROM w", "UPDATE w SET v = 2", "the delete of a row of w: the row has other values"),
            ("INSERT INTO c VALUES (5, 2)", "DELETE FROM t WHERE id = 2", "row 5 of c refers to a row of t that does not exist"),
        ]
        for (theirs, ours, message) in cases {
            let source = try Connection(.memory), target = try Connection(.memory)
            for db in [source, target] {
                try db.execute(schema)
                try db.execute(start)
            }
            let changes = try source.main.recordingChanges { try $0.execute(SQL(raw: theirs)) }
            try target.execute(SQL(raw: ours))
            let before = try Contents.of(target)
            let error = #expect(throws: DatabaseError.self) { try changes.apply(to: target) }
            #expect(error?.code == .abort)
            let place = message.hasPrefix("the ") ? "its change 0, " : ""
            #expect(error?.message == "the changeset was undone: \(place)\(message)")
            #expect(try Contents.of(target) == before)
        }
    }

    @Test func changesetApplyDisablesChosenTriggers() throws {
        let schema = SQLScript(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, t);
            CREATE TABLE tag(id INTEGER PRIMARY KEY, note REFERENCES note ON DELETE CASCADE);
            CREATE TABLE log(id INTEGER PRIMARY KEY, what);
            CREATE VIRTUAL TABLE f USING fts5(t, content='note', content_rowid='id');
            CREATE TRIGGER f_new AFTER INSERT ON note BEGIN INSERT INTO f(rowid, t) VALUES (new.id, new.t); END;
            CREATE TRIGGER f_gone AFTER DELETE ON note BEGIN INSERT INTO f(f, rowid, t) VALUES ('delete', old.id, old.t); END;
            CREATE TRIGGER log_new AFTER INSERT ON note BEGIN INSERT INTO log(what) VALUES (new.t); END;
            CREATE TRIGGER log_gone AFTER DELETE ON note BEGIN INSERT INTO log(what) VALUES (old.t); END;
            INSERT INTO note VALUES (1, 'one');
            INSERT INTO tag VALUES (1, 1);
            """)
        for triggers in [Changeset.Triggers.all, .essentialOnly, .except(["LOG_new", "log_gone"])] {
            let source = try Connection(.memory), target = try Connection(.memory)
            for db in [source, target] { try db.execute(schema) }
            let changes = try source.main.recordingChanges { db in
                try db.execute(SQLScript("INSERT INTO note VALUES (2, 'two'); DELETE FROM note WHERE id = 1"))
            }
            var options = Changeset.Options()
            (options.triggers, options.runsForeignKeyActions) = (triggers, false)
            if triggers == .all {
                let before = try Contents.of(target)
                #expect(throws: DatabaseError.self) { try changes.apply(to: target, options: options) }
                #expect(try Contents.of(target) == before)
                continue
            }
            let outcome = try changes.apply(to: target, options: options)
            #expect(outcome.isComplete && outcome.rebase == nil)
            let isWhole = triggers != .essentialOnly
            let mine = try Contents.of(target), theirs = try Contents.of(source)
            #expect(mine.filter { !$0.hasPrefix("f_") } == theirs.filter { !$0.hasPrefix("f_") })
            // Only a full-text index that triggers keep is behind if none runs.
            let found = try target.fetchAll(Int.self, "SELECT rowid FROM f WHERE f MATCH 'one OR two'")
            #expect(found == (isWhole ? [2] : [1]))
            try target.execute("INSERT INTO note VALUES (9, 'nine')")
            #expect(try target.fetchOne(String.self, "SELECT what FROM log ORDER BY id DESC") == "nine")
            // Again, it has been made already.
            options.reportsNoOpChanges = false
            try target.execute("DELETE FROM note WHERE id = 9")
            try target.execute(SQLScript("DELETE FROM log WHERE what = 'nine'"))
            #expect(try changes.apply(to: target, options: options).isComplete)
        }
        let db = try Connection(.memory)
        try db.execute(schema)
        let changes = try db.main.recordingChanges { try $0.execute("INSERT INTO note VALUES (3, 'x')") }
        var options = Changeset.Options()
        options.triggers = .except(["nothing"])
        let error = #expect(throws: DatabaseError.self) { try changes.inverted().apply(to: db, options: options) }
        #expect(error?.reason == .invalidArgument)
        #expect(try db.settings.isEnabled(.triggers))
    }

    /// No row is kept of which no changeset tells.
    @Test func recordingChangesThatThrowsRollsBack() throws {
        struct Mine: Error {}
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
        #expect(throws: Mine.self) {
            _ = try db.main.recordingChanges { db in
                try db.execute("INSERT INTO t VALUES (1)")
                try db.transaction { db in try db.execute("INSERT INTO t VALUES (2)") }
                throw Mine()
            }
        }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0 && !db.isInTransaction)
        // Inside of a transaction, earlier changes stay.
        try db.transaction { db in
            try db.execute("INSERT INTO t VALUES (3)")
            _ = try? db.main.recordingChanges { db in
                try db.execute("INSERT INTO t VALUES (4)")
                throw Mine()
            }
        }
        #expect(try db.fetchAll(Int.self, "SELECT id FROM t") == [3])
        // Nor where the changes cannot be had.
        let before = try Contents.of(db)
        #expect(throws: DatabaseError.self) {
            _ = try db.main.recordingChanges { db in
                try db.execute("INSERT INTO t VALUES (5)")
                try db.execute("ALTER TABLE t DROP COLUMN id")
            }
        }
        #expect(try Contents.of(db) == before)
    }
}

import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Synchronization
import Testing
import TestSupport

/// Rows that move from one database to another. `KillSweepTests` kills the process in the middle.
@Suite struct MoveRowsTests {
    let folder: TemporaryFolder
    let db: Connection, target: Schema

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        target = try db.attach(.file(folder.path("b.db")), as: "O'Brien", key: .passphrase("two").quick)
    }

    private func make(_ sql: String, values: String) throws {
        for schema in ["main", "\"O'Brien\""] { try db.execute(SQL(raw: "CREATE TABLE \(schema).t\(sql)")) }
        try db.execute(SQL(raw: "INSERT INTO main.t VALUES \(values)"))
    }

    private func rows(_ schema: Schema) throws -> [[SQLValue]] {
        try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(schema.name.quotedSQLIdentifier).t ORDER BY 1")).map(\.values)
    }

    /// Nothing is left but the identity of the target.
    private func expectFinished() throws {
        let left = try db.fetchAll(String.self, "SELECT name FROM main.sqlite_schema WHERE name LIKE 'sqlcipherkit#_move#_%' ESCAPE '#'")
        #expect(left == [])
        #expect(try db.fetchAll(Int.self, "SELECT number FROM main.sqlcipherkit_move") == [0])
        #expect(try db.fetchAll(Int.self, "SELECT number FROM \"O'Brien\".sqlcipherkit_arrival") == [0])
    }

    @Test(arguments: [
        ("(id INTEGER PRIMARY KEY, a, \"b c\" TEXT)", "(1, 1.5, 'x'), (2, x'00', NULL), (3, NULL, 'z')"),
        ("(id TEXT, a, \"b c\" TEXT)", "(1, 1.5, 'x'), (2, x'00', NULL), (3, NULL, 'z')"),
        ("(id TEXT, a, \"b c\", PRIMARY KEY(id, a)) WITHOUT ROWID", "(1, 1.5, 'x'), (2, x'00', NULL), (3, 'a', 'z')"),
        ("(id REAL PRIMARY KEY, rowid, oid AS (id * 2))", "(1, 1.5), (2, x'00'), (3, NULL)"),
    ])
    func moveRowsMovesMatchingRows(table: (sql: String, values: String)) throws {
        try make(table.sql, values: table.values)
        let before = try rows(db.main)
        #expect(try db.main.moveRows(of: "T", to: target, where: "t.id <= \(2)") == 2)
        #expect(try rows(db.main) == [before[2]])
        #expect(try rows(target) == Array(before[..<2]))
        try expectFinished()
        #expect(try db.main.moveRows(of: "t", to: target, where: "id = 10") == 0)
        #expect(try db.main.moveRows(of: "t", to: target, where: "true") == 1)
        #expect(try rows(target) == before)
        // And back.
        #expect(try target.moveRows(of: "t", to: db.main, where: "random() IS NOT NULL") == 3)
        #expect(try rows(db.main) == before)
    }

    /// Rows that the target refuses stay where they were, with their row ids.
    @Test func refusedMoveRowsChangesNothing() throws {
        try make("(a UNIQUE ON CONFLICT FAIL, b)", values: "(1, 'x'), (2, 'y'), (3, 'z')")
        try db.execute("DELETE FROM main.t WHERE a = 1")
        try db.execute("INSERT INTO \"O'Brien\".t VALUES (3, 'taken')")
        let before = try db.fetchAll(OwnedRow.self, "SELECT rowid, * FROM main.t").map(\.values)
        let error = #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "true") }
        #expect(error?.code.primary == .constraint)
        #expect(try db.fetchAll(OwnedRow.self, "SELECT rowid, * FROM main.t").map(\.values) == before)
        #expect(try rows(target) == [[3, "taken"]])
        try expectFinished()
        // Triggers that keep rows where they are, on either side.
        try db.execute("CREATE TRIGGER main.kept BEFORE DELETE ON t WHEN old.a = 2 BEGIN SELECT RAISE(IGNORE); END")
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "true") }
        try db.execute("DROP TRIGGER main.kept")
        try db.execute("CREATE TRIGGER \"O'Brien\".refused BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END")
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "a = 2") }
        #expect(try db.fetchAll(OwnedRow.self, "SELECT rowid, * FROM main.t").map(\.values) == before)
        try expectFinished()
    }

    /// A constraint of the target that would delete or leave out rows does not.
    @Test(arguments: ["REPLACE", "IGNORE"]) func moveRowsIgnoresConflictClausesOfTarget(clause: String) throws {
        try make("(a UNIQUE ON CONFLICT \(clause), b)", values: "(1, 'x'), (2, 'y')")
        try db.execute("INSERT INTO \"O'Brien\".t VALUES (2, 'taken')")
        let error = #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "true") }
        #expect(error?.code == .constraintUnique)
        #expect(try rows(db.main) == [[1, "x"], [2, "y"]] && rows(target) == [[2, "taken"]])
        try expectFinished()
    }

    /// Rows that refer to a moved one are neither deleted nor cut: the call says which they are, and moves nothing.
    @Test(arguments: SQLForeignKey.Action.allCases, [true, false])
    func moveRowsRefusesRowsThatOthersReferTo(action: SQLForeignKey.Action, isEnforced: Bool) throws {
        try make("(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES t ON DELETE \(action.rawValue))", values: "(1, NULL), (2, NULL), (3, 3)")
        try db.execute("CREATE TABLE child(x INTEGER DEFAULT 2 REFERENCES t(id) ON DELETE \(raw: action.rawValue))")
        try db.execute("INSERT INTO child VALUES (1)")
        _ = try db.settings.setEnabled(.foreignKeys, to: isEnforced)
        let before = try rows(db.main)
        if isEnforced {
            let error = #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "t.id = 1") }
            #expect(error?.reason == .invalidArgument, "\(String(describing: error))")
            #expect(error?.message.contains("rows of child refer to rows of t") == true, "\(String(describing: error))")
            #expect(try rows(db.main) == before && rows(target) == [])
            #expect(try db.fetchAll(Int.self, "SELECT x FROM child") == [1])
            #expect(try db.main.moveRows(of: "t", to: target, where: "id = 2") == 1)
            try db.execute("DELETE FROM child")
        }
        #expect(try db.main.moveRows(of: "t", to: target, where: "id = 1") == 1)
        #expect(try rows(db.main).count == (isEnforced ? 1 : 2))
        try expectFinished()
    }

    /// The check for referring rows and the deletion are one transaction: no row that another connection adds in between is lost.
    @Test func moveRowsKeepsReferringRowsAddedMeanwhile() throws {
        try make("(id INTEGER PRIMARY KEY)", values: "(1), (2)")
        try db.execute("CREATE TABLE child(x INTEGER REFERENCES t(id) ON DELETE CASCADE)")
        try db.execute("INSERT INTO child VALUES (2)")
        try db.main.setJournalMode(.wal)
        _ = try db.settings.setEnabled(.foreignKeys, to: true)
        let other = try impatient()[0], added = Mutex(0), calls = Mutex(0)
        try db.register(
            .function("adds") { () -> Bool in
                calls.withLock { $0 += 1 }
                if (try? other.execute("INSERT INTO child VALUES (1)")) != nil { added.withLock { $0 += 1 } }
                return true
            })
        #expect(try db.main.moveRows(of: "t", to: target, where: "id = 1 AND adds()") == 1)
        #expect(calls.withLock { $0 } > 1)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM child WHERE x = 1") == added.withLock { $0 })
    }

    @Test func invalidMoveRowsCallsThrow() throws {
        try make("(a)", values: "(1)")
        try db.execute(SQLScript("CREATE TABLE main.wide(a, b); CREATE TABLE \"O'Brien\".wide(a); CREATE VIEW main.v AS SELECT 1 AS a"))
        for table in ["wide", "v", "none"] {
            let error = #expect(throws: DatabaseError.self) { try db.main.moveRows(of: table, to: target, where: "true") }
            #expect(error?.reason == .invalidArgument, "\(table)")
        }
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: db.main, where: "true") }
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: Connection(.memory).main, where: "true") }
        #expect(throws: DatabaseError.self) { try db.transaction { _ in try db.main.moveRows(of: "t", to: target, where: "true") } }
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "nonsense(a)") }
        #expect(try rows(db.main) == [[1]])
    }

    /// A move that was interrupted goes on with the database that it was meant for, and with no other.
    @Test func interruptedMoveRowsIsFinishedLater() throws {
        try make("(a)", values: "(1), (2)")
        try db.execute("CREATE TEMP TRIGGER cut BEFORE INSERT ON \"O'Brien\".t BEGIN SELECT RAISE(ABORT, 'cut'); END")
        // Rows that can neither arrive nor go back.
        try db.execute("CREATE TEMP TRIGGER also BEFORE INSERT ON main.t BEGIN SELECT RAISE(ABORT, 'cut'); END")
        #expect(throws: DatabaseError.self) { try db.main.moveRows(of: "t", to: target, where: "a = 1") }
        try db.execute(SQLScript("DROP TRIGGER cut; DROP TRIGGER also"))
        #expect(try rows(db.main) == [[2]])
        let other = try db.attach(.file(folder.path("c.db")), as: "c", key: nil)
        try db.execute("CREATE TABLE c.t(a)")
        #expect(try db.main.finishMoves(to: other) == 0)
        #expect(try db.main.moveRows(of: "t", to: other, where: "a = 2") == 1)
        #expect(try rows(other) == [[2]])
        #expect(try db.main.finishMoves(to: target) == 1)
        #expect(try rows(target) == [[1]])
        #expect(try db.main.finishMoves(to: target) == 0)
        try expectFinished()
    }

    /// Connections that move rows to and fro at once, and finish each other's moves: each row stays in one of the two files.
    @Test(arguments: ["delete", "wal"]) func concurrentMoveRowsKeepEachRowOnce(mode: String) throws {
        try make("(id INTEGER PRIMARY KEY, x)", values: (1...200).map { "(\($0), 'x')" }.joined(separator: ", "))
        for schema in [db.main, target] { _ = try schema.setPragma("journal_mode", to: mode) }
        let folder = folder
        let errors = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                let db = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
                let other = try db.attach(.file(folder.path("b.db")), as: "b", key: .passphrase("two").quick)
                for round in 0..<10 {
                    let isBack = (thread + round) % 2 == 1
                    let (from, to) = isBack ? (other, db.main) : (db.main, other)
                    try from.moveRows(of: "t", to: to, where: "id % 4 = \((thread + round) % 4)")
                    try to.finishMoves(to: from)
                }
            } catch { errors.withLock { $0.append("\(error)") } }
        }
        #expect(errors.withLock { $0 } == [])
        let all = try (rows(db.main) + rows(target)).map(\.[0])
        #expect(all.count == 200 && Set(all).count == 200)
    }

    /// A connection to each of the two files, which gives up at once if it is locked.
    private func impatient() throws -> [Connection] {
        try [("a.db", "one"), ("b.db", "two")].map { name, passphrase in
            let db = try Connection(.file(folder.path(name)), key: .passphrase(passphrase).quick)
            try db.settings.setBusyTimeout(.zero)
            return db
        }
    }

    private static func isLocked(_ file: Connection) -> Bool {
        guard (try? file.begin()) != nil else { return true }
        return (try? file.rollback()) == nil
    }

    /// Two programs, each with the other's file attached, that wait for one of the files: one of them has locked nothing by then.
    /// If each had locked its own file, each would wait for the other one.
    @Test(arguments: ["delete", "wal"]) func moveRowsBothWaysLocksFilesInOneOrder(mode: String) throws {
        try make("(id INTEGER PRIMARY KEY, x)", values: "(1, 'x'), (2, 'y')")
        for schema in [db.main, target] { _ = try schema.setPragma("journal_mode", to: mode) }
        // The notes of both directions are there, so that the calls below wait where rows move.
        try db.main.moveRows(of: "t", to: target, where: "id = 2")
        try target.moveRows(of: "t", to: db.main, where: "false")
        var isLocked: [Bool] = []
        for own in 0...1 {
            let holders = try impatient(), movers = try impatient(), probe = try impatient()[own]
            let mover = movers[own], path = folder.path(own == 0 ? "b.db" : "a.db")
            let other = try mover.attach(.file(path), as: "other", key: .passphrase(own == 0 ? "two" : "one").quick)
            try mover.settings.setBusyHandler { _ in
                isLocked.append(Self.isLocked(probe))
                return false
            }
            try holders[1 - own].begin()
            let error = #expect(throws: DatabaseError.self) { try mover.main.moveRows(of: "t", to: other, where: "true") }
            #expect(error?.reason == .busy)
        }
        #expect(isLocked == [true, false] || isLocked == [false, true])
        #expect(try rows(db.main) == [[1, "x"]] && rows(target) == [[2, "y"]])
        try expectFinished()
    }

    /// A step that reads one file and writes the other has both locked: with a rollback journal, it waits for readers when it
    /// commits, and the opposite step of another program would be such a reader, and wait for this one.
    @Test(arguments: ["delete", "wal"]) func moveRowsLocksBothFilesWhereItReadsBoth(mode: String) throws {
        try make("(id INTEGER PRIMARY KEY, x)", values: "(1, 'x'), (2, 'y')")
        for schema in [db.main, target] { _ = try schema.setPragma("journal_mode", to: mode) }
        let probes = try impatient(), seen = Mutex<[String: [[Bool]]]>([:])
        try db.register(
            .function("seen") { (place: String) -> Bool in
                let locked = probes.map { Self.isLocked($0) }
                seen.withLock { $0[place, default: []].append(locked) }
                return true
            })
        try db.execute("CREATE TEMP TRIGGER arrives AFTER INSERT ON \"O'Brien\".t BEGIN SELECT seen('insert'); END")
        #expect(try db.main.moveRows(of: "t", to: target, where: "id = 1 AND seen('condition')") == 1)
        #expect(seen.withLock { $0 } == ["condition": [[true, true]], "insert": [[true, true]]])
    }

    /// The atomicity of a transaction over several files, for each combination of journal modes.
    @Test func atomicityAcrossFilesFollowsFromTheJournals() throws {
        let modes: [DatabaseConfiguration.JournalMode] = [.delete, .truncate, .persist, .memory, .off, .wal]
        #expect(try Connection(.file(folder.path("alone.db"))).settings.isAtomicAcrossFiles)
        for first in modes {
            for second in modes {
                try db.main.setJournalMode(first)
                try target.setJournalMode(second)
                let isAtomic = ![first, second].contains { [.memory, .off, .wal].contains($0) }
                #expect(try db.settings.isAtomicAcrossFiles == isAtomic, "\(first), \(second)")
            }
        }
        try db.main.setJournalMode(.delete)
        try target.setJournalMode(.delete)
        try target.setSynchronous(.off)
        #expect(try !db.settings.isAtomicAcrossFiles)
        let memory = try Connection(.memory)
        for name in ["x", "y"] { try memory.attach(.file(folder.path(name)), as: name, key: nil) }
        #expect(try !memory.settings.isAtomicAcrossFiles)
    }
}

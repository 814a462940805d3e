import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Pruned entries are merged like everything else.
@Suite struct ChangeLogPruningTests {
    private func peer(_ name: String, _ location: DatabaseLocation = .memory) throws -> ChangeLog {
        try ChangeLogPeers.peer(name, location)
    }
    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws { try ChangeLogPeers.exchange(a, b) }
    private func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] { try ChangeLogPeers.rows(log, table) }

    private func write(_ log: ChangeLog, at seconds: TimeInterval, _ sql: SQL) throws {
        log.now = { Date(timeIntervalSince1970: 1_700_000_000 + seconds) }
        try log.write { try $0.execute(sql) }
    }

    /// A copy that has not waited for another copy takes that copy's rows and deletes from all rows of a third copy.
    @Test func wholeStateKeepsRowsChangedBySilentPeer() throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try write(a, at: 0, "INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1), ('both', 1, 1)")
        for (first, second) in [(a, b), (b, c), (a, c)] { try exchange(first, second) }
        try write(c, at: 10, "INSERT INTO note VALUES ('own', 'c', 'c')")
        try write(c, at: 11, "DELETE FROM note WHERE id = 'm'")
        try write(c, at: 12, "UPDATE note SET title = 'c', body = 'c' WHERE id = 'both'")
        try write(a, at: 20, "UPDATE note SET title = 'a' WHERE id = 'both'")
        try write(a, at: 21, "UPDATE note SET body = 'a' WHERE id = 'n'")
        #expect(try a.prune(gracePeriod: .zero) == 3)
        try exchange(b, c)
        #expect(try b.prune(gracePeriod: .zero) == 4)
        let outcome = try a.receive(try b.snapshot())
        #expect(outcome["note"]?.applied == 3 && outcome.renewed == 0)
        for log in [b, c] { try log.receive(try a.snapshot()) }
        for log in [a, b, c] { #expect(try rows(log) == [["both", "a", "c"], ["n", 1, "a"], ["own", "c", "c"]]) }
    }

    /// A row that another copy has not seen is not taken for one that it has deleted.
    @Test func wholeStateKeepsRowsUnseenByTheSender() throws {
        let a = try peer("a"), b = try peer("b")
        try write(a, at: 0, "INSERT INTO note VALUES ('both', 1, 1)")
        try exchange(a, b)
        try write(a, at: 10, "INSERT INTO note VALUES ('own', 1, 1)")
        try write(b, at: 20, "INSERT INTO note VALUES ('other', 1, 1)")
        try a.receive(try b.snapshot())
        #expect(try rows(a) == [["both", 1, 1], ["other", 1, 1], ["own", 1, 1]])
        try exchange(a, b)
        #expect(try rows(b) == rows(a))
    }

    /// A row that is older than the deletes that a copy has forgotten is logged again there: another copy may know that it was
    /// deleted.
    @Test(arguments: [false, true]) func oldRowsOfUnknownPeerConvergeAfterPruning(isWhole: Bool) throws {
        let a = try peer("a"), b = try peer("b"), d = try peer("d")
        try write(d, at: 0, "INSERT INTO note VALUES ('n', 'd', 'd')")
        try write(a, at: 10, "INSERT INTO note VALUES ('n', 'a', 'a')")
        try write(a, at: 11, "DELETE FROM note")
        try exchange(a, b)
        #expect(try a.prune() == 2)
        // One peer has forgotten the delete, and the other peer knows of it.
        for log in [a, b] { try log.receive(isWhole ? try d.snapshot() : try d.changes()) }
        #expect(try rows(a).count == 1 && rows(b).isEmpty)
        for _ in 0..<2 {
            for (from, to) in [(a, b), (b, d), (d, a), (a, d), (b, a)] {
                let position = try to.position
                let message = try? from.changes(since: position)
                try to.receive(try message ?? from.snapshot())
            }
        }
        for log in [a, b, d] { #expect(try rows(log) == [["n", "d", "d"]]) }
    }

    /// A row is written as a whole by a copy that has not got a new column yet: by entries and by all rows it means the same.
    @Test(arguments: [false, true]) func wholeRowWithoutNewColumnTakesItsDefault(isWhole: Bool) throws {
        func open(_ name: String) throws -> ChangeLog {
            let db = try Connection(.memory)
            try db.execute(ChangeLogPeers.schema)
            return try ChangeLog(db, tables: ["note"], localPeer: name, mergePolicies: ["note": .row])
        }
        let a = try open("a"), b = try open("b")
        try write(a, at: 0, "INSERT INTO note VALUES ('n', 1, 1)")
        try exchange(a, b)
        try a.connection.execute("ALTER TABLE note ADD COLUMN stars DEFAULT 5")
        try write(a, at: 10, "UPDATE note SET stars = 9 WHERE id = 'n'")
        try write(b, at: 20, "UPDATE note SET title = 2 WHERE id = 'n'")
        try a.receive(isWhole ? try b.snapshot() : try b.changes(since: try a.position))
        #expect(try rows(a) == [["n", 2, 1, 5]])
    }

    /// A copy that is restored from a backup logs a change again whose row was deleted and forgotten meanwhile.
    @Test(arguments: [ChangeLog.MergePolicy.column, .row]) func restoredPeerRenewsChangeOfDeletedRow(_ rule: ChangeLog.MergePolicy) throws {
        func open(_ db: Connection, _ name: String) throws -> ChangeLog {
            try ChangeLog(db, tables: ["note", "pair"], localPeer: name, mergePolicies: ["note": rule])
        }
        let a = try open(try peer("a").connection, "a"), b = try open(try peer("b").connection, "b")
        let copy = try Connection(.memory, key: .passphrase("x").quick)
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        try exchange(a, b)
        try a.connection.main.backup(to: copy.main)
        try a.write { try $0.execute("UPDATE note SET title = 2 WHERE id = 'n'") }
        try exchange(a, b)
        try b.write { try $0.execute("DELETE FROM note WHERE id = 'n'") }
        try exchange(a, b)
        try b.prune()
        #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM changelog_row") == 1)
        let restored = try open(copy, "a")
        try restored.write { try $0.execute("UPDATE note SET title = 3 WHERE id = 'n'") }
        try restored.resolveRestore(.takingOthers)
        #expect(try restored.receive(try b.snapshot()).renewed == 1)
        #expect(try rows(restored) == [["m", 1, 1]])
        try restored.write { try $0.execute("INSERT INTO note VALUES ('n', 4, 4)") }
        try b.receive(try restored.snapshot())
        #expect(try rows(b) == [["m", 1, 1], ["n", 4, 4]])
    }
}

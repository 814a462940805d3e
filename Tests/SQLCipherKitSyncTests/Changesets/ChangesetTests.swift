import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

@Suite struct ChangesetTests {
    private func make(_ sql: String = "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b UNIQUE); INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)") throws -> Connection {
        let db = try Connection(.memory, key: .passphrase("k").quick)
        try db.execute(SQLScript(sql))
        return db
    }

    private func rows(_ db: Connection, _ table: String = "t") throws -> [[SQLValue]] {
        try db.fetchAll(OwnedRow.self, "SELECT * FROM \(identifier: table) ORDER BY 1").map(\.values)
    }

    @Test func recordedChangesAreReadBack() throws {
        let db = try make()
        let recorder = try ChangeRecorder(db.main)
        #expect(try recorder.isEmpty && recorder.changeset().isEmpty)
        try db.execute(SQLScript("UPDATE t SET a = NULL WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, x'00ff', 1.5)"))
        try recorder.setRecording(false)
        try db.execute("INSERT INTO t VALUES (5, 'not seen', 5)")
        try recorder.setRecording(true)
        try recorder.setIndirect(true)
        try db.execute("UPDATE t SET b = 33 WHERE id = 3")
        #expect(try recorder.isIndirect && recorder.isRecording && !recorder.isEmpty)
        let changes = try recorder.changeset().changes().sorted { "\($0.kind)\($0.isIndirect)" < "\($1.kind)\($1.isIndirect)" }
        #expect(changes.map(\.kind) == [.delete, .insert, .update, .update] && changes.map(\.isIndirect) == [false, false, false, true])
        #expect(changes.allSatisfy { $0.table == "t" && $0.primaryKey == [0] })
        #expect(changes[0].old == [2, "two", 2] && changes[0].new == [nil, nil, nil])
        #expect(changes[1].old == [nil, nil, nil] && changes[1].new == [4, .blob(Data([0, 255])), 1.5])
        #expect(changes[2].old == [1, "one", nil] && changes[2].new == [nil, .some(.null), nil])
        #expect(changes[3].old == [3, nil, 3] && changes[3].new == [nil, nil, 33])
        let patchset = try recorder.patchset()
        #expect(try patchset.isPatchset && !recorder.changeset().isPatchset)
        #expect(try patchset.changes().first { $0.kind == .delete }?.old == [2, nil, nil])
        // Undone changes are none.
        let nothing = try db.main.recordingChanges { db in
            try db.execute(SQLScript("UPDATE t SET a = 'x'; DELETE FROM t WHERE id = 1"))
            try db.execute("UPDATE t SET a = 'two' WHERE id = 2")
            try db.transaction { db in
                try db.execute("INSERT INTO t VALUES (9, 9, 9)")
                return TransactionEnd.rollback(())
            }
        }
        #expect(try !nothing.changes().contains { $0.new.first == .some(9) })
    }

    @Test func changeRecorderTableNameWithNULThrows() throws {
        let error = #expect(throws: DatabaseError.self) { try ChangeRecorder(make().main, tables: ["t\0x"]) }
        #expect(error?.reason == .invalidArgument)
    }

    @Test func changesetsApplyInBothDirections() throws {
        let folder = try TemporaryFolder()
        func open(_ name: String) throws -> Connection {
            try Connection(.file(folder.path(name)), key: .passphrase(name).quick)
        }
        let a = try open("a.db")
        try a.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'x')"))
        try a.main.backup(toFileAt: folder.path("b.db"), key: .passphrase("b.db", cipher: .quick))
        let b = try open("b.db")
        let here = try a.main.recordingChanges { try $0.execute(SQLScript("UPDATE t SET x = 'a' WHERE id = 1; INSERT INTO t VALUES (10, 'a')")) }
        let there = try b.main.recordingChanges { try $0.execute(SQLScript("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (20, 'b')")) }
        #expect(try there.apply(to: a).rebase == nil && here.apply(to: b).rebase == nil)
        #expect(try rows(a) == [[1, "a"], [3, "x"], [10, "a"], [20, "b"]] && rows(b) == rows(a))
        try there.inverted().apply(to: a)
        try here.inverted().apply(to: a)
        #expect(try rows(a) == [[1, "x"], [2, "x"], [3, "x"]])
        try here.concatenated(with: there).apply(to: a)
        #expect(try rows(a) == rows(b))
        // Both change the same row: one gives in, and its own change is rebased.
        let first = try a.main.recordingChanges { try $0.execute("UPDATE t SET x = 'first' WHERE id = 3") }
        let second = try b.main.recordingChanges { try $0.execute("UPDATE t SET x = 'second' WHERE id = 3") }
        let rebase = try #require(try first.apply(to: b) { $0.kind == .different ? .replace : .abort }.rebase)
        #expect(try b.fetchOne(String.self, "SELECT x FROM t WHERE id = 3") == "first")
        try second.rebased(by: [rebase]).apply(to: a)
        #expect(try rows(a) == rows(b))
    }

    /// A whole number in a REAL column is the same value however it is written, in a key too.
    @Test(arguments: ["CREATE TABLE t(id REAL PRIMARY KEY, a)", "CREATE TABLE t(id REAL PRIMARY KEY, a) WITHOUT ROWID"])
    func integralRealKeyIdentifiesOneRow(table: String) throws {
        let db = try make(table)
        func recorded(_ sql: String) throws -> Changeset { try db.main.recordingChanges { try $0.execute(SQLScript(sql)) } }
        #expect(try recorded("INSERT INTO t VALUES (1700000000.0, 'x'); DELETE FROM t").isEmpty)
        let insert = try recorded("INSERT INTO t VALUES (1700000000, 'x'); UPDATE t SET a = 'y'")
        #expect(try insert.changes().map(\.kind) == [.insert])
        #expect(try insert.changes()[0].new == [1_700_000_000.0, "y"])
        let update = try recorded("UPDATE t SET a = 'z'; DELETE FROM t; INSERT INTO t VALUES (1.7e9, 'w')")
        #expect(try update.changes().map(\.kind) == [.update])
        try update.inverted().apply(to: db)
        #expect(try rows(db) == [[1_700_000_000.0, "y"]])
        try insert.inverted().apply(to: db)
        #expect(try rows(db) == [])
        let moved = try recorded("INSERT INTO t VALUES (1, 'a'); UPDATE t SET id = 2 WHERE id = 1")
        #expect(try moved.changes().map { $0.new } == [[2.0, "a"]])
    }

    /// A row that a constraint of the table would delete or leave out is a conflict, or waits until the changes that it needs are
    /// made.
    @Test func conflictClausesRaiseChangesetConflicts() throws {
        let db = try make("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        let before = try rows(db)
        let changes = try db.main.recordingChanges {
            try $0.execute(SQLScript("UPDATE t SET a = 'y' WHERE id = 1; INSERT INTO t VALUES (5, 'x')"))
        }
        #expect(try rows(db) == [[1, "y"], [5, "x"]])
        try changes.inverted().apply(to: db)
        #expect(try rows(db) == before)
        for clause in ["REPLACE", "IGNORE"] {
            let other = try make("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT \(clause)); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (9, 'z')")
            let insert = try other.main.recordingChanges { try $0.execute("INSERT INTO t VALUES (3, 'new')") }
            try other.execute(SQLScript("DELETE FROM t WHERE id = 3; UPDATE t SET a = 'new' WHERE id = 9"))
            var seen: [Changeset.Conflict.Kind] = []
            try insert.apply(to: other) { seen.append($0.kind); return .omit }
            #expect(try seen == [.constraint] && rows(other).last == [9, "new"], "\(clause)")
        }
    }

    /// Rows that are all key have nothing to update: a row that both sides have inserted needs no change after a rebase.
    @Test func rebaseHandlesTablesOfKeyColumnsOnly() throws {
        let sql = "CREATE TABLE t(a, b, PRIMARY KEY(a, b)); CREATE TABLE u(id INTEGER PRIMARY KEY, x)"
        let a = try make(sql), b = try make(sql)
        let first = try a.main.recordingChanges {
            try $0.execute(SQLScript("INSERT INTO t VALUES (1, 1), (2, 2); INSERT INTO u VALUES (1, 'a')"))
        }
        let second = try b.main.recordingChanges {
            try $0.execute(SQLScript("INSERT INTO t VALUES (1, 1), (3, 3); INSERT INTO u VALUES (1, 'b')"))
        }
        for resolution in [Changeset.Conflict.Resolution.replace, .omit] {
            let here = try make(sql), there = try make(sql)
            try first.apply(to: here)
            try second.apply(to: there)
            let rebase = try #require(try first.apply(to: there) { _ in resolution }.rebase)
            try second.rebased(by: [rebase]).apply(to: here)
            #expect(try rows(here) == [[1, 1], [2, 2], [3, 3]] && rows(there) == rows(here))
            #expect(try rows(here, "u") == rows(there, "u"))
        }
    }

    @Test func changesetConflictsFollowTheHandler() throws {
        let source = try make()
        let changes = try source.main.recordingChanges { db in
            try db.execute(SQLScript("""
                UPDATE t SET a = 'changed' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 'four', 4), (5, 'five', 7); UPDATE t SET a = 'gone' WHERE id = 3
                """))
        }
        let target = try make("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b UNIQUE); INSERT INTO t VALUES (1, 'other', 1), (2, 'other', 2), (4, 'there', 4), (6, 'six', 7)")
        var seen: [Changeset.Conflict] = []
        let before = try rows(target)
        let error = #expect(throws: DatabaseError.self) {
            try changes.apply(to: target) { conflict in
                seen.append(conflict)
                return seen.count == 5 ? .abort : .omit
            }
        }
        #expect(error?.code == .abort)
        #expect(try rows(target) == before && !target.isInTransaction)
        #expect(Set(seen.map { "\($0.kind)" }) == ["different", "missing", "exists", "constraint"])
        let different = try #require(seen.first { $0.kind == .different && $0.change?.kind == .update })
        #expect(different.current == [1, "other", 1] && different.change?.old == [1, "one", nil] && different.change?.new == [nil, "changed", nil])
        #expect(seen.first { $0.kind == .exists }?.current == [4, "there", 4])
        #expect(seen.first { $0.kind == .missing }?.current == nil)
        struct Mine: Error {}
        #expect(throws: Mine.self) { try changes.apply(to: target) { _ in throw Mine() } }
        let misuse = #expect(throws: DatabaseError.self) { try changes.apply(to: target) { _ in .replace } }
        #expect(misuse?.reason == .misuse)
        #expect(throws: DatabaseError.self) { try changes.apply(to: target) }
        #expect(try rows(target) == before)
        // The handler may look around in the database.
        try changes.apply(to: target) { conflict in
            let six: String? = try target.fetchOne("SELECT a FROM t WHERE id = 6")
            #expect(six == "six")
            return conflict.current == nil ? .omit : .replace
        }
        #expect(try rows(target) == [[1, "changed", 1], [4, "four", 4], [6, "six", 7]])
        // Closing in the handler is an error.
        try changes.inverted().apply(to: source)
        let closed = #expect(throws: DatabaseError.self) {
            try changes.apply(to: target) { _ in target.close(); return .omit }
        }
        #expect(closed?.reason == .closed)
    }

    @Test func changesetReportsForeignKeysAndFiltersTables() throws {
        let schema = "CREATE TABLE parent(id INTEGER PRIMARY KEY); CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(id)); CREATE TABLE bare(x)"
        let source = try make(schema), target = try make(schema)
        let changes = try source.main.recordingChanges { db in
            try db.execute(SQLScript("INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1, 1); INSERT INTO bare VALUES (1)"))
        }
        // A table without a key is not recorded.
        #expect(try Set(changes.changes().map(\.table)) == ["parent", "child"])
        var kinds: [Changeset.Conflict.Kind] = []
        #expect(throws: DatabaseError.self) {
            try changes.apply(to: target, tables: ["child"]) { kinds.append($0.kind); return .abort }
        }
        #expect(kinds == [.foreignKeys(1)])
        #expect(try rows(target, "child") == [])
        try changes.apply(to: target)
        #expect(try rows(target, "child") == [[1, 1]])
        let some = try source.main.recordingChanges(tables: ["parent"]) { try $0.execute(SQLScript("INSERT INTO parent VALUES (2); DELETE FROM child")) }
        #expect(try some.changes().map(\.table) == ["parent"])
    }

    /// A full-text index is written by triggers on both sides, not by the changes.
    @Test func changesetApplyUpdatesFTS5ByTriggers() throws {
        let schema = """
            CREATE TABLE note(id INTEGER PRIMARY KEY, t); CREATE VIRTUAL TABLE f USING fts5(t, content='note', content_rowid='id');
            CREATE TRIGGER i AFTER INSERT ON note BEGIN INSERT INTO f(rowid, t) VALUES (new.id, new.t); END
            """
        let source = try make(schema), target = try make(schema)
        let changes = try source.main.recordingChanges { try $0.execute("INSERT INTO note VALUES (7, 'quick brown')") }
        #expect(try changes.changes().map(\.table) == ["note"])
        try changes.apply(to: target)
        #expect(try target.fetchAll(Int.self, "SELECT rowid FROM f WHERE f MATCH 'brown'") == [7])
        let error = #expect(throws: DatabaseError.self) { try ChangeRecorder(source.schema("none")) }
        #expect(error?.reason == .schemaName)
    }

    @Test func closedChangeRecorderThrows() throws {
        let db = try make()
        let recorder = try ChangeRecorder(db.main), other = try ChangeRecorder(db.main)
        other.close()
        other.close()
        for call in [{ _ = try other.changeset() }, { _ = try other.isEmpty }, { try other.setRecording(true) }] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try call() }
            #expect(error?.reason == .closed)
        }
        try db.execute("DELETE FROM t")
        #expect(try recorder.changeset().changes().count == 3)
        db.close()
        let error = #expect(throws: DatabaseError.self) { try recorder.changeset() }
        #expect(error?.reason == .closed)
    }

    /// Bytes that are no changeset, or one that was damaged: an error or other changes, never a crash.
    @Test func malformedChangesetThrows() throws {
        let db = try make()
        var random = SeededGenerator(state: 42)
        let good = try db.main.recordingChanges { db in
            for number in 0..<20 { try db.execute("INSERT INTO t VALUES (\(100 + number), \(OddTables.value(&random)), \(String(repeating: "x", count: number * 20)))") }
            try db.execute(SQLScript("UPDATE t SET a = 'u' WHERE id < 3; DELETE FROM t WHERE id = 3"))
        }
        let errors = (0..<300).filter { _ in
            (try? Changeset(data: Data((0..<Int.random(in: 1..<60, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })).changes()) == nil
        }
        #expect(errors.count > 250)
        var failures = 0
        let rounds = LongTests.areOn ? 100_000 : 1_500
        for round in 0..<rounds {
            var bytes = good.data
            switch round % 3 {
            case 0: bytes = bytes.prefix(Int.random(in: 1..<bytes.count, using: &random))
            case 1: bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            default:
                for _ in 0..<4 { bytes[Int.random(in: 0..<min(80, bytes.count), using: &random)] = UInt8.random(in: 0...255, using: &random) }
            }
            let bad = Changeset(data: Data(bytes))
            do {
                _ = try bad.changes()
                _ = try bad.inverted()
                _ = try bad.concatenated(with: good)
                _ = try db.transaction { db in
                    try bad.apply(to: db) { _ in .omit }
                    return TransactionEnd.rollback(())
                }
            } catch is DatabaseError {
                failures += 1
            }
            _ = try? good.rebased(by: [Changeset.Rebase(data: Data(bytes))])
        }
        #expect(failures > rounds / 3)
        #expect(try db.main.verify().problems.isEmpty && rows(db).count == 22)
    }
}

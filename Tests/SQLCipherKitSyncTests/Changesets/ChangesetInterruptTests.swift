import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing

/// A changeset that a progress handler ends within a transaction, at each step of SQLite's machine.
@Suite struct ChangesetInterruptTests {
    private func database() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"))
        return db
    }

    /// - Parameter lasts: whether every later step is ended too, as by a deadline that has passed.
    @Test(arguments: [true, false]) func interruptedChangesetApplyLeavesNoChange(lasts: Bool) throws {
        let changes = try database().main.recordingChanges { db in
            try db.execute("UPDATE t SET x = x || 'y'")
            try db.execute("INSERT INTO t VALUES (4, 'd')")
            try db.execute("DELETE FROM t WHERE id = 2")
        }
        let rows = "SELECT group_concat(id || x, ' ') FROM (SELECT * FROM t ORDER BY id)"
        var thrown = 0, kept = 0
        for step in 1... {
            let db = try database()
            defer { db.close() }
            try db.begin()
            try db.execute("UPDATE t SET x = 'own' WHERE id = 3")
            // The change is a conflict, which the handler overwrites.
            let before = try db.fetchOne(String.self, SQL(raw: rows))
            var count = 0
            try db.settings.setProgressHandler(every: 1) {
                count += 1
                return lasts ? count < step : count != step
            }
            let result = Result { try changes.apply(to: db) { _ in .replace } }
            try db.settings.setProgressHandler(nil)
            guard case .failure = result else {
                #expect(thrown > 20)
                break
            }
            thrown += 1
            // A statement that writes takes the whole transaction along.
            guard db.isInTransaction else { continue }
            kept += 1
            #expect(try db.fetchOne(String.self, SQL(raw: rows)) == before, "step \(step)")
            #expect(throws: DatabaseError.self, "step \(step)") { try db.execute("RELEASE changeset_apply") }
            #expect(throws: DatabaseError.self, "step \(step)") { try db.execute("RELEASE sqlcipherkit") }
        }
        #expect(kept > 0)
    }
}

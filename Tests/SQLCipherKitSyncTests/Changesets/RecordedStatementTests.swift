import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing

/// Statements that were compiled before changes were recorded.
@Suite struct RecordedStatementTests {
    private let db: Connection

    init() throws { db = try Connection(.memory) }

    private func fill() throws { try db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')") }

    @Test(arguments: ["", "WITHOUT ROWID", "STRICT"], [false, true])
    func statementsPreparedBeforeRecordingAreRecorded(options: String, isHeld: Bool) throws {
        try db.execute(SQL(raw: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT) \(options)"))
        let held = try db.prepare("DELETE FROM t")
        func deleteAll() throws { if isHeld { try held.execute() } else { try db.execute("DELETE FROM t") } }
        try fill()
        try deleteAll()
        for _ in 0..<3 {
            try fill()
            let recorder = try ChangeRecorder(db.main)
            try deleteAll()
            let changes = try recorder.changeset()
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
            try changes.inverted().apply(to: db)
            #expect(try db.fetchAll(Int.self, "SELECT id FROM t ORDER BY id") == [1, 2])
            recorder.close()
            try deleteAll()
        }
    }
}

import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Prepared statements: what they tell of themselves, and stepping by hand.
@Suite struct StatementTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, size REAL)")
        try db.execute("INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', NULL), (3, 'c', 2.5)")
    }

    @Test func statementReportsColumnsAndParameters() throws {
        let statement = try db.prepare("SELECT id, name AS title, size * 2 FROM t WHERE id > :low AND name != @name AND ?")
        #expect(statement.sql == "SELECT id, name AS title, size * 2 FROM t WHERE id > :low AND name != @name AND ?")
        #expect(statement.parameterCount == 3)
        #expect(statement.parameterNames == [":low", "@name", nil])
        #expect(statement.parameterIndex(":low") == 1 && statement.parameterIndex("@name") == 2 && statement.parameterIndex("low") == nil)
        #expect(statement.parameterIndex(":low\0x") == nil)
        #expect(statement.columnCount == 3)
        #expect(statement.columnNames == ["id", "title", "size * 2"])
        #expect(statement.declaredTypes == ["INTEGER", "TEXT", nil])
        #expect(statement.isReadOnly)
        try statement.bind([1, "x'y", true])
        #expect(statement.expandedSQL == "SELECT id, name AS title, size * 2 FROM t WHERE id > 1 AND name != 'x''y' AND 1")
        let write = try db.prepare("DELETE FROM t")
        #expect(!write.isReadOnly && write.columnCount == 0 && write.columnNames == [] && write.parameterCount == 0)
    }

    @Test func statementIsBoundAndSteppedManually() throws {
        let statement = try db.prepare("SELECT id, name FROM t WHERE id >= ? ORDER BY id")
        try statement.bind([2])
        #expect(try statement.step())
        #expect(try statement[0] == 2)
        #expect(try statement["name"] == "b")
        // On a row there is nothing to bind.
        for call in [{ try statement.bind([1]) }, { try statement.bind(1, at: 1) }, { try statement.clearBindings() }] {
            #expect(#expect(throws: DatabaseError.self) { try call() }?.reason == .misuse)
        }
        #expect(try statement.step())
        #expect(try statement.step() == false)
        #expect(throws: DatabaseError.self) { let _: Int = try statement[0] }
        // Begins again, with the same values.
        #expect(try statement.step())
        #expect(try statement[0] == 2)
        try statement.reset()
        try statement.bind(3, at: 1)
        #expect(try statement.fetchOne(Int.self, [1]) == 1)
        try statement.clearBindings()
        #expect(try statement.step() == false)
        #expect(throws: DatabaseError.self) { try statement.bind(1, at: 2) }
        #expect(throws: DatabaseError.self) { try statement.bind(1, at: 0) }
        #expect(throws: DatabaseError.self) { let _: Int = try statement["nothing"] }
    }

    @Test func resetStatementReleasesItsLock() throws {
        let folder = try TemporaryFolder()
        let a = try Connection(.file(folder.path("a.db"))), b = try Connection(.file(folder.path("a.db")))
        try a.execute("CREATE TABLE t(x)")
        try a.execute("INSERT INTO t VALUES (1), (2)")
        try b.settings.setBusyTimeout(.zero)
        let statement = try a.prepare("SELECT x FROM t")
        try statement.step()
        #expect(throws: DatabaseError.self) { try b.execute("INSERT INTO t VALUES (3)") }
        try statement.reset()
        try b.execute("INSERT INTO t VALUES (3)")
        try statement.step()
        #expect(throws: DatabaseError.self) { try statement.execute([1]) }
        try b.execute("INSERT INTO t VALUES (4)")
    }

    @Test func preparedStatementIsReused() throws {
        let insert = try db.prepare("INSERT INTO t(name, size) VALUES (?, ?)")
        for i in 0..<10 { try insert.execute(binding: "n\(i)", Double?.none) }
        try insert.execute(["list", 5.0])
        #expect(db.lastInsertedRowID == 14)
        #expect(throws: DatabaseError.self) { try insert.execute(binding: "one") }
        #expect(throws: DatabaseError.self) { try insert.execute(binding: "one", 2.0, 3) }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 14)
        let query = try db.prepare("SELECT name FROM t WHERE id = ?")
        #expect(try query.fetchOne(String.self, binding: 14) == "list")
        #expect(try query.fetchOne(String.self, binding: 15) == nil)
        let all = try db.prepare("SELECT id, name FROM t WHERE id <= ?")
        let rows: [(Int, String)] = try all.fetchAll((Int, String).self, [2])
        #expect(rows.map(\.0) == [1, 2])
        #expect(try all.fetchOne((Int, String).self, [0]) == nil)
    }

    @Test func preparingInvalidSQLThrows() throws {
        for text in ["SELEC 1", "SELECT 1 FROM", "SELECT * FROM nowhere", "SELECT \"no column\""] {
            let error = #expect(throws: DatabaseError.self) { try db.prepare(SQL(raw: text)) }
            #expect(error?.code == .error && error?.sql == text)
        }
    }

    @Test func statementOfClosedConnectionThrows() throws {
        let statement = try db.prepare("SELECT 1")
        let insert = try db.prepare("INSERT INTO t(name) VALUES (?)")
        try statement.step()
        db.close()
        for call: () throws -> Void in [
            { try statement.step() }, { try statement.reset() }, { try statement.execute() }, { _ = try statement.fetchAll(Int.self) },
            { let _: Int = try statement[0] }, { try insert.execute(["x"]) }, { try insert.execute(binding: "x") }, { try insert.bind(["x"]) },
            { try insert.clearBindings() }, { try statement.forEach { _ in } },
        ] { #expect(#expect(throws: DatabaseError.self) { try call() }?.reason == .closed) }
        #expect(statement.sql == "" && statement.columnNames == [] && statement.parameterNames == [])
    }

    @Test func statementRetainsItsConnection() throws {
        var other: Connection? = try Connection(.memory)
        let statement = try #require(try other?.prepare("SELECT 5"))
        other = nil
        #expect(try statement.fetchOne(Int.self) == 5)
    }

    @Test func statementRunInsideItselfThrowsMisuse() throws {
        let outer = try db.prepare("SELECT id FROM t")
        let error = #expect(throws: DatabaseError.self) { try outer.forEach { _ in try outer.execute() } }
        #expect(error?.reason == .misuse)
        // The same text from the connection is another statement.
        var pairs = 0
        try db.forEach("SELECT id FROM t") { _ in try db.forEach("SELECT id FROM t") { _ in pairs += 1 } }
        #expect(pairs == 9)
    }

    @Test func executeStepsThroughAllRows() throws {
        try db.execute("CREATE TABLE log(x)")
        try db.register(.function("note") { (x: Int) in
            try db.execute("INSERT INTO log VALUES (\(x))")
            return x
        })
        try db.execute("SELECT note(id) FROM t")
        #expect(try db.fetchAll(Int.self, "SELECT x FROM log") == [1, 2, 3])
        try db.prepare("SELECT note(id) FROM t").execute()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM log") == 6)
    }

    /// A statement that stands on a row and is run again begins from the first row; only `step` goes on.
    @Test func eachRunStartsAtFirstRow() throws {
        let select = try db.prepare("SELECT id FROM t ORDER BY id")
        let runs: [() throws -> [Int]] = [
            { try select.fetchAll(Int.self) }, { try select.fetchOne(Int.self, []).map { [$0] } ?? [] },
            {
                var ids: [Int] = []
                try select.forEach { row in ids.append(try row[0]) }
                return ids
            },
            { try select.fetchAll(Int.self, []) },
        ]
        for (run, expected) in zip(runs, [[1, 2, 3], [1], [1, 2, 3], [1, 2, 3]]) {
            try select.step()
            try select.step()
            #expect(try run() == expected)
            #expect(try select.step() && select[0] == 1)
            #expect(try select.step() && select[0] == 2)
            try select.reset()
        }
        let insert = try db.prepare("INSERT INTO t(name) VALUES (?) RETURNING id")
        try insert.bind(["d"])
        #expect(try insert.step() && insert[0] == 4)
        try insert.execute(["e"])
        #expect(try insert.step() && insert[0] == 6)
        try insert.execute(binding: "f")
        #expect(try db.fetchAll(String.self, "SELECT name FROM t WHERE id > 3 ORDER BY id") == ["d", "e", "e", "f"])
        // The reader of the row's columns still needs the row.
        #expect(try select.step())
        #expect(throws: DatabaseError.self) { try select.bind([]) }
    }

    @Test func changesAndLastInsertedRowIDAreReported() throws {
        let new = try Connection(.memory)
        #expect(new.lastInsertedRowID == 0)
        try db.execute("CREATE TRIGGER tr AFTER UPDATE ON t BEGIN UPDATE t SET size = 0 WHERE id = new.id AND size IS NOT 0; END")
        let before = db.totalChanges
        try db.execute("UPDATE t SET name = 'x'")
        #expect(db.changes == 3)
        #expect(db.totalChanges - before >= 6)
        try db.execute("INSERT INTO t(id) VALUES (77)")
        #expect(db.lastInsertedRowID == 77)
        db.close()
        #expect(db.changes == 0 && db.lastInsertedRowID == 0 && db.totalChanges == 0)
    }
}

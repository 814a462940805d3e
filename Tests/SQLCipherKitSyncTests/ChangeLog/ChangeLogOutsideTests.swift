import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import SQLCipherKitSearch
import Testing
import TestSupport

/// Changes that are made outside of a log are noticed, and the triggers that full-text indexes need run on receipt.
@Suite struct ChangeLogOutsideTests {
    private func peer(_ name: String, _ location: DatabaseLocation = .memory) throws -> ChangeLog {
        try ChangeLogPeers.peer(name, location)
    }
    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws { try ChangeLogPeers.exchange(a, b) }
    private func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] { try ChangeLogPeers.rows(log, table) }
    private func error(_ body: () throws -> Void) -> DatabaseError? { ChangeLogPeers.error(body) }

    private static let outside: [(SQLScript, Int)] = [
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1)"), 1), (SQLScript("UPDATE note SET title = 2 WHERE id = 'n'"), 1),
        (SQLScript("DELETE FROM note"), 2), (SQLScript("UPDATE note SET id = 'z' WHERE id = 'n'"), 2),
        (SQLScript("UPDATE note SET id = 'N' WHERE id = 'n'"), 1), (SQLScript("INSERT OR REPLACE INTO note VALUES ('n', 9, 9)"), 1),
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1); DELETE FROM note WHERE id = 'x'"), 0),
        (SQLScript("DELETE FROM note WHERE id = 'n'; INSERT INTO note VALUES ('n', 5, 5)"), 1),
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1); CREATE UNIQUE INDEX i ON note(body, id); INSERT OR REPLACE INTO pair VALUES (1, 'p', 2)"), 2),
        (SQLScript("INSERT INTO pair VALUES (1, 'p', 2), (1, 'q', 2); UPDATE pair SET a = 2 WHERE b = 'q'"), 2),
    ]

    /// Each way to change a row, on the log's connection and on another connection.
    @Test(arguments: outside.indices, [false, true])
    func outsideChangesAreDetected(_ index: Int, isOther: Bool) throws {
        let folder = try TemporaryFolder()
        let location = DatabaseLocation.file(folder.path("a.db"))
        let a = try peer("a", location), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        try exchange(a, b)
        let (script, count) = Self.outside[index]
        let other = isOther ? try Connection(location, key: .passphrase("x").quick) : a.connection
        try other.execute(script)
        a.outsideChanges = .refused
        if count > 0 {
            for use in [{ _ = try a.changes() }, { try a.write { _ in } }, { _ = try a.receive(try b.changes()) }] as [() throws -> Void] {
                #expect(error(use)?.reason == .misuse)
            }
        }
        #expect(try a.logOutsideChanges() == count)
        #expect(try a.logOutsideChanges() == 0)
        try exchange(a, b)
        #expect(try rows(a) == rows(b) && rows(a, "pair") == rows(b, "pair"), "\(index)")
        // As a matter of course.
        a.outsideChanges = .logged
        try other.execute("UPDATE note SET body = 'outside'")
        try exchange(a, b)
        #expect(try rows(a) == rows(b))
    }

    /// The log's own writes are no changes outside, whatever runs.
    @Test func changeLogWritesAreNotOutsideChanges() throws {
        let a = try peer("a"), b = try peer("b")
        a.outsideChanges = .refused
        b.outsideChanges = .refused
        b.triggers = .all
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        _ = try? a.write { db in
            try db.execute("UPDATE note SET title = 2")
            throw CancellationError()
        }
        try exchange(a, b)
        #expect(try a.logOutsideChanges() == 0 && b.logOutsideChanges() == 0)
        try a.connection.execute("ALTER TABLE note RENAME TO paper")
        let again = try ChangeLog(a.connection, tables: ["paper", "pair"], localPeer: "a")
        try again.connection.execute("UPDATE paper SET title = 7")
        #expect(try again.logOutsideChanges() == 1)
        try ChangeLog.delete(from: a.connection)
        #expect(try a.connection.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'changelog%'") == 0)
    }

    /// A statement that was compiled while the log wrote, and triggers that were made then.
    @Test func statementsPreparedInLogAreDetectedOutside() throws {
        let a = try peer("a"), sql: SQL = "INSERT OR REPLACE INTO note VALUES ('n', 1, 1)"
        let statement = try a.connection.prepare("UPDATE note SET title = title + 1")
        try a.connection.execute("CREATE TABLE seen(id)")
        try a.write { db in
            try db.execute(sql)
            try db.execute("CREATE TRIGGER see AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (new.id); END")
            try db.execute(sql)
            try statement.execute()
        }
        #expect(try a.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 1)
        #expect(try a.logOutsideChanges() == 0)
        try a.connection.execute(sql)
        #expect(try a.logOutsideChanges() == 1)
        try statement.execute()
        #expect(try a.logOutsideChanges() == 1)
        _ = try? a.write { _ in
            try statement.execute()
            throw CancellationError()
        }
        try statement.execute()
        #expect(try a.logOutsideChanges() == 1)
    }

    private static let writers = [
        "INSERT INTO child VALUES (7, 1, 7)", "INSERT INTO child SELECT * FROM spare", "REPLACE INTO child VALUES (1, 1, 8)",
        "INSERT INTO child VALUES (1, 1, 1) ON CONFLICT DO UPDATE SET x = x + 1", "UPDATE child SET x = x + 1", "DELETE FROM child",
        "DELETE FROM child WHERE id = 1", "DELETE FROM parent", "UPDATE parent SET id = id + 10", "INSERT INTO source VALUES (9)",
        "WITH new(x) AS (SELECT 5) UPDATE child SET x = new.x FROM new RETURNING id", "INSERT INTO view_of_child VALUES (9)",
        "UPDATE OR REPLACE child SET id = 2 WHERE id = 1",
    ]

    /// Each kind of statement that writes to a logged table, compiled while the log wrote or not: the triggers run only outside.
    @Test(arguments: writers, [false, true]) func everyWriteStatementIsDetectedOutsideTheLog(_ sql: String, isMadeInside: Bool) throws {
        for isWithoutRowID in [false, true] {
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE parent(id INTEGER PRIMARY KEY)")
            let columns = "(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, x)"
            for name in ["child", "spare"] {
                try db.execute("CREATE TABLE \(raw: name)\(raw: columns) \(raw: isWithoutRowID ? "WITHOUT ROWID" : "")")
            }
            try db.execute(SQLScript("""
                CREATE TABLE source(x); CREATE TRIGGER spread AFTER INSERT ON source BEGIN UPDATE child SET x = new.x; END;
                CREATE VIEW view_of_child AS SELECT x FROM child;
                CREATE TRIGGER view_insert INSTEAD OF INSERT ON view_of_child BEGIN DELETE FROM child WHERE id = 1; END;
                """))
            let log = try ChangeLog(db, tables: ["parent", "child"], localPeer: "a")
            func begin() throws {
                try db.execute(SQLScript("""
                    DELETE FROM spare; DELETE FROM child; DELETE FROM parent; INSERT INTO parent VALUES (1);
                    INSERT INTO child VALUES (1, 1, 1), (2, 1, 2); INSERT INTO spare VALUES (5, 1, 5);
                    """))
                try log.logOutsideChanges()
            }
            try begin()
            var made: Statement?
            if isMadeInside { try log.write { made = try $0.prepare(SQL(raw: sql)) } } else { made = try db.prepare(SQL(raw: sql)) }
            let statement = try #require(made)
            for _ in 0..<2 {
                try statement.execute()
                #expect(try log.logOutsideChanges() > 0, "\(sql)")
                try begin()
                try log.write { _ in try statement.execute() }
                #expect(try log.logOutsideChanges() == 0, "\(sql)")
                try begin()
            }
        }
    }

    /// A trigger that is newer than the log's triggers, or temporary, and ends with RAISE(IGNORE), keeps none of them from running.
    @Test(arguments: ["", "TEMP"]) func raiseIgnoreHidesNoChange(_ kind: String) throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        for event in ["INSERT", "UPDATE", "DELETE"] {
            try a.connection.execute(
                "CREATE \(raw: kind) TRIGGER t\(raw: event) AFTER \(raw: event) ON main.note BEGIN SELECT RAISE(IGNORE); END")
        }
        try a.connection.execute(SQLScript("""
            INSERT INTO note VALUES ('x', 1, 1); UPDATE note SET title = 2 WHERE id = 'n'; DELETE FROM note WHERE id = 'm';
            """))
        #expect(try a.logOutsideChanges() == 3)
        try exchange(a, b)
        #expect(try rows(b) == [["n", 2, 1], ["x", 1, 1]] && rows(a) == rows(b))
    }

    /// Temporary triggers do not run on receipt either, and stay.
    @Test func receiveRunsNoTemporaryTrigger() throws {
        let a = try peer("a"), b = try peer("b")
        try b.connection.execute(
            "CREATE TEMP TRIGGER t AFTER INSERT ON main.note BEGIN UPDATE note SET title = 't' WHERE id = new.id; END")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try exchange(a, b)
        #expect(try rows(b) == [["n", 1, 1]])
        try b.connection.execute("INSERT INTO note VALUES ('m', 1, 1)")
        try exchange(a, b)
        #expect(try rows(a) == [["m", "t", 1], ["n", 1, 1]] && rows(b) == rows(a))
    }

    // MARK: Blob handles

    /// No trigger runs for a write by a blob handle: outside of the log's write, inside of it, in a transaction, on another
    /// connection, and at a row to which it was moved.
    @Test func blobWritesAreLogged() throws {
        let folder = try TemporaryFolder()
        let a = try peer("a", .file(folder.path("a.db"))), b = try peer("b"), db = a.connection
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("x").quick)
        for number in 1...4 { try a.write { try $0.execute("INSERT INTO note VALUES (\("n\(number)"), x'0000', x'0000')") } }
        try exchange(a, b)
        func open(_ id: Int64, _ db: Connection) throws -> Blob {
            try db.main.openBlob(table: "NOTE", column: "Body", rowID: id, forWriting: true)
        }
        let blob = try open(1, db)
        try blob.write(Data([1]))
        try blob.write(Data([1]))
        try blob.reopen(rowID: 2)
        try blob.write(Data([2]))
        blob.close()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM changelog_outside_note") == 2)
        try exchange(a, b)
        #expect(try rows(b)[0] == ["n1", .blob(Data([0, 0])), .blob(Data([1, 1]))] && rows(a) == rows(b))
        let third = try open(3, other)
        try third.write(Data([3]))
        third.close()
        try exchange(a, b)
        #expect(try rows(a) == rows(b) && rows(b)[2][2] == .blob(Data([3, 0])))
        try db.transaction { db in
            let blob = try open(4, db)
            try blob.write(Data([4]))
            try blob.write(Data([5]), at: 1)
            blob.close()
        }
        try exchange(a, b)
        #expect(try rows(a) == rows(b))
        try a.write { db in
            let blob = try open(4, db)
            try blob.write(Data([9]))
            blob.close()
        }
        #expect(try a.logOutsideChanges() == 0)
        try exchange(a, b)
        #expect(try rows(a) == rows(b) && rows(b)[3][2] == .blob(Data([9, 5])))
        // A write that is undone is none.
        _ = try? db.transaction { db in
            let blob = try open(1, db)
            try blob.write(Data([7]))
            blob.close()
            throw CancellationError()
        }
        #expect(try a.logOutsideChanges() == 0)
    }

    /// An index that triggers keep up to date would not hear of a blob handle either.
    @Test func blobHandlesForIndexedColumnsAreRefused() throws {
        func open(_ db: Connection, _ column: String, forWriting: Bool = true) throws {
            try db.main.openBlob(table: "note", column: column, rowID: 1, forWriting: forWriting).close()
        }
        for (columns, refused, allowed) in [
            ([FTS5Table.Column("title")], ["title", "TITLE"], ["body"]),
            ([FTS5Table.Column("body", expression: "upper(body)")], ["body"], ["title"]),
        ] as [([FTS5Table.Column], [String], [String])] {
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title, body)")
            try db.create(FTS5Table("note_fts", columns: columns, content: .external(table: "note")))
            try db.execute("INSERT INTO note VALUES (1, 'fox', 'hen')")
            for column in refused {
                #expect(error { try open(db, column) }?.message.contains("note_fts") == true, "\(column)")
                try open(db, column, forWriting: false)
            }
            for column in allowed { try open(db, column) }
            #expect(try db.fullText("note_fts").passesIntegrityCheck())
        }
        // Triggers as SQLite's manual has them.
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title, body);
            CREATE VIRTUAL TABLE words USING fts5(title, content=note, content_rowid=id);
            CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
                INSERT INTO words(words, rowid, title) VALUES ('delete', old.id, old.title);
                INSERT INTO words(rowid, title) VALUES (new.id, new.title);
            END;
            INSERT INTO note VALUES (1, 'fox', 'hen');
            """))
        #expect(error { try open(db, "title") }?.message.contains("words") == true)
        try open(db, "body")
        // The tables and triggers of a table of vectors.
        try db.execute(SQLScript("""
            CREATE TABLE v_chunks(chunk INTEGER PRIMARY KEY); CREATE TABLE v_missing(id INTEGER PRIMARY KEY);
            CREATE TRIGGER v_updated AFTER UPDATE ON note WHEN CAST(old.body AS BLOB) IS NOT CAST(new.body AS BLOB) BEGIN
                INSERT INTO v_missing VALUES (new.id);
            END;
            """))
        #expect(error { try open(db, "body") }?.message.contains("past v,") == true)
    }

    // MARK: Tables that are made again

    private static let remakes = [
        "CREATE TABLE new(id TEXT PRIMARY KEY COLLATE NOCASE, title, body, stars); INSERT INTO new(id, title, body) SELECT id, title, 'r' FROM note WHERE id <> 'm'; DROP TABLE note; ALTER TABLE new RENAME TO note",
        "ALTER TABLE note RENAME TO old; CREATE TABLE note(id TEXT PRIMARY KEY COLLATE NOCASE, title, body, stars); INSERT INTO note(id, title) SELECT id, 'r' FROM old WHERE id <> 'old'; DROP TABLE old",
        "DROP TABLE note; CREATE TABLE note(id TEXT PRIMARY KEY COLLATE NOCASE, title, body, stars); INSERT INTO note(id) VALUES ('n'), ('new')",
        "ALTER TABLE note ADD COLUMN stars; DROP TRIGGER changelog_outside_note_insert; INSERT INTO note(id) VALUES ('new'); DELETE FROM note WHERE id = 'm'",
    ]

    /// A logged table that is dropped and created again: rows that it no longer has are deleted everywhere, even rows that are
    /// older than the log, and new rows arrive.
    @Test(arguments: remakes.indices, [false, true]) func remadeTableIsLogged(_ index: Int, isOpenedAgain: Bool) throws {
        var logs: [ChangeLog] = []
        for name in ["a", "b"] {
            let db = try Connection(.memory)
            try db.execute(ChangeLogPeers.schema)
            try db.execute("INSERT INTO note VALUES ('old', 0, 0), ('older', 0, 0)")
            logs.append(try ChangeLog(db, tables: ["note", "pair"], localPeer: name))
        }
        let (a, b) = (logs[0], logs[1])
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1), ('gone', 1, 1)") }
        try a.write { try $0.execute("DELETE FROM note WHERE id = 'gone'") }
        try exchange(a, b)
        try b.connection.execute("ALTER TABLE note ADD COLUMN stars")
        let before = try Contents.of(a.connection)
        let script = SQLScript(Self.remakes[index])
        #expect(error { try a.write { try $0.execute(script) } }?.code == .schema)
        #expect(try Contents.of(a.connection) == before)
        try a.connection.execute("UPDATE note SET title = 5 WHERE id = 'older'")
        try a.connection.execute(script)
        let again = isOpenedAgain ? try ChangeLog(a.connection, tables: ["note", "pair"], localPeer: "a") : a
        try exchange(again, b)
        #expect(try rows(again) == rows(b) && !rows(b).isEmpty)
        try again.connection.execute("INSERT INTO note(id) VALUES ('last')")
        try exchange(again, b)
        #expect(try rows(again) == rows(b) && rows(b).contains { $0[0] == "last" })
        #expect(try again.logOutsideChanges() == 0)
    }

    /// Changes noted before a table is renamed are logged under its new name.
    @Test func notesOfRenamedTableAreKept() throws {
        let a = try peer("a"), b = try peer("b")
        try a.connection.execute("INSERT INTO note VALUES ('n', 1, 1)")
        for log in [a, b] { try log.connection.execute("ALTER TABLE note RENAME TO paper") }
        let logs = try [a, b].map { try ChangeLog($0.connection, tables: ["paper", "pair"], localPeer: $0.localPeer) }
        try exchange(logs[0], logs[1])
        #expect(try rows(logs[1], "paper") == [["n", 1, 1]])
    }

    /// `SELECT *` also gives the generated columns, which no row takes. SQLite transfers whole rows then, but not beside a trigger.
    @Test(arguments: ["AS (n || a)", "AS (n + 1) STORED"], [false, true])
    func transferWithGeneratedColumnsIsLogged(_ generated: String, isInside: Bool) throws {
        func item(_ name: String) -> SQL { SQL(raw: "CREATE TABLE \(name)(id INTEGER PRIMARY KEY, n, g \(generated), a DEFAULT 0)") }
        let logs = try ["a", "b"].map { name in
            let db = try Connection(.memory)
            try db.execute(item("item"))
            return try ChangeLog(db, tables: ["item"], localPeer: name)
        }
        let db = logs[0].connection, insert: SQL = "INSERT INTO item SELECT * FROM source"
        try db.execute(item("source"))
        try db.execute("INSERT INTO source(id, n, a) VALUES (1, 2, 'x'), (2, 3, 'y')")
        if isInside { try logs[0].write { try $0.execute(insert) } } else { try db.execute(insert) }
        try exchange(logs[0], logs[1])
        let all = SQL("SELECT * FROM source ORDER BY id"), expected = try db.fetchAll(OwnedRow.self, all).map(\.values)
        #expect(expected.count == 2)
        for log in logs {
            #expect(try log.connection.fetchAll(OwnedRow.self, "SELECT * FROM item ORDER BY id").map(\.values) == expected)
        }
        // As without a log: other expressions, and triggers of the user, transfer no rows.
        try db.execute("CREATE TABLE other(id INTEGER PRIMARY KEY, n, g AS (n + 7), a)")
        #expect(error { try db.execute("INSERT INTO item SELECT * FROM other") }?.message.contains("4 values were supplied") == true)
        try db.execute("DELETE FROM item")
        try db.execute("CREATE TRIGGER user_item AFTER INSERT ON item BEGIN SELECT 1; END")
        #expect(error { try db.execute(insert) }?.message.contains("4 values were supplied") == true)
    }

    /// A column that is added in a savepoint that is undone is in no row that the write logs, before it or after it.
    @Test func columnAddedInUndoneSavepointIsNotLogged() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { db in
            try db.execute("INSERT INTO note VALUES ('before', 1, 1)")
            do {
                try db.savepoint { db -> Void in
                    try db.execute("ALTER TABLE note ADD COLUMN stars DEFAULT 3")
                    try db.execute("INSERT INTO note VALUES ('within', 1, 1, 5)")
                    throw CancellationError()
                }
            } catch is CancellationError {}
            try db.execute("INSERT INTO note VALUES ('after', 2, 2)")
            try db.execute("UPDATE note SET body = 4 WHERE id = 'before'")
        }
        try exchange(a, b)
        #expect(try rows(a) == rows(b) && Set(rows(b)) == [["before", 1, 4], ["after", 2, 2]])
    }

    // MARK: Triggers

    /// The triggers of a full-text index run, and the user's triggers do not, with or without the others.
    @Test(arguments: [false, true], [false, true])
    func receiveRunsFTS5TriggersAndNotUserTriggers(hasIndex: Bool, hasOwn: Bool) throws {
        let a = try peer("a"), b = try peer("b")
        if hasIndex {
            try b.connection.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
        }
        if hasOwn {
            try b.connection.execute(SQLScript("""
                CREATE TABLE seen(id);
                CREATE TRIGGER see AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (new.id); END;
                """))
        }
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 'fox', 'hen'), ('m', 'owl', 'bat')") }
        try exchange(a, b)
        try a.write { try $0.execute(SQLScript("UPDATE note SET title = 'elk' WHERE id = 'n'; DELETE FROM note WHERE id = 'm'")) }
        try exchange(a, b)
        if hasIndex {
            let index = try b.connection.fullText("note_fts")
            #expect(try index.passesIntegrityCheck())
            #expect(try index.search("elk").hits.count == 1 && index.search("fox").hits.isEmpty && index.search("owl").hits.isEmpty)
        }
        if hasOwn {
            #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 0)
            try b.connection.execute("INSERT INTO note VALUES ('p', 1, 1)")
            #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 1)
        }
        #expect(try rows(a) == rows(b).filter { $0[0] != "p" })
    }
}

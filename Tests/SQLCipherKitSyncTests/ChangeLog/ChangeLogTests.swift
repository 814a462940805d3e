import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Each promise of the log of changes.
@Suite struct ChangeLogTests {
    private static let schema = SQLScript("""
        CREATE TABLE note(id TEXT PRIMARY KEY, title, body);
        CREATE TABLE point(id INTEGER PRIMARY KEY, x, y);
        """)

    private func peer(_ name: String, _ schema: SQLScript = schema, tables: [String] = ["note", "point"]) throws -> ChangeLog {
        let db = try Connection(.memory, key: .passphrase("x").quick)
        try db.execute(schema)
        return try ChangeLog(db, tables: tables, localPeer: name, mergePolicies: tables.contains("point") ? ["point": .row] : [:])
    }

    private func bare() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(Self.schema)
        return db
    }

    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws {
        for _ in 0..<3 {
            try b.receive(try a.changes(since: try b.position))
            try a.receive(try b.changes(since: try a.position))
        }
    }

    private func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] {
        try log.connection.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table) ORDER BY 1")).map(\.values)
    }

    private func error(_ body: () throws -> Void) -> DatabaseError? { #expect(throws: DatabaseError.self, performing: body) }

    @Test func concurrentUpdatesMergeByColumnOrRow() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try a.write { try $0.execute("INSERT INTO point VALUES (1, 1, 1)") }
        try exchange(a, b)
        a.now = { Date(timeIntervalSinceNow: 10) }
        b.now = { Date(timeIntervalSinceNow: 20) }
        try a.write { try $0.execute(SQLScript("UPDATE note SET title = 2; UPDATE point SET x = 2")) }
        try b.write { try $0.execute(SQLScript("UPDATE note SET body = 3; UPDATE point SET y = 3")) }
        let outcome = try a.receive(try b.changes(since: try a.position))
        #expect(outcome["NOTE"]?.applied == 1 && outcome["point"]?.applied == 1 && outcome.received == 1 && !outcome.hasRepairs)
        let back = try b.receive(try a.changes(since: try b.position))
        #expect(back["note"]?.applied == 1 && back["point"]?.outdated == 1)
        for log in [a, b] {
            #expect(try rows(log) == [["n", 2, 3]])
            #expect(try rows(log, "point") == [[1, 1, 3]])
        }
        #expect(try b.receive(try a.changes()).repeated == 4)
    }

    @Test func deleteBeatsUpdatesAndLaterInsertBeatsBoth() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try exchange(a, b)
        try a.write { try $0.execute("DELETE FROM note") }
        b.now = { Date(timeIntervalSinceNow: 99) }
        try b.write { try $0.execute("UPDATE note SET title = 2") }
        try exchange(a, b)
        #expect(try rows(a) == [] && rows(b) == [])
        // Of two rows with one key, the later row stays, and a change of the earlier row does not touch it.
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 'a', 'a')") }
        try b.write { try $0.execute("INSERT INTO note VALUES ('n', 'b', 'b')") }
        a.now = { Date(timeIntervalSinceNow: 200) }
        try a.write { try $0.execute("UPDATE note SET body = 'late'") }
        try exchange(a, b)
        #expect(try rows(a) == [["n", "b", "b"]] && rows(b) == [["n", "b", "b"]])
    }

    @Test func constraintViolationsAreRepairedAlikeForAllPeers() throws {
        let schema = SQLScript("""
            CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE item(id INTEGER PRIMARY KEY, folder REFERENCES folder, last REFERENCES folder ON DELETE SET NULL, low, high, CHECK (low <= high));
            """)
        let a = try peer("a", schema, tables: ["folder", "item"]), b = try peer("b", schema, tables: ["folder", "item"])
        try a.write { try $0.execute(SQLScript("INSERT INTO folder VALUES (1, 'x'), (2, 'y'); INSERT INTO item VALUES (1, 2, 2, 1, 9)")) }
        try exchange(a, b)
        b.now = { Date(timeIntervalSinceNow: 50) }
        try a.write { try $0.execute(SQLScript("DELETE FROM folder WHERE id = 1; INSERT INTO folder VALUES (3, 'z'); UPDATE item SET low = 8")) }
        try b.write { try $0.execute(SQLScript("INSERT INTO item VALUES (2, 1, NULL, 0, 0), (3, 2, 1, 0, 0); INSERT INTO folder VALUES (4, 'z'); UPDATE item SET high = 5 WHERE id = 1")) }
        let outcome = try a.receive(try b.changes(since: try a.position))
        #expect(outcome.hasRepairs)
        #expect(outcome["folder"]?.deleted == 1, "of two with one name, the later one stays")
        #expect(outcome["item"]?.deleted == 1 && outcome["item"]?.detached == 1 && outcome["item"]?.kept == 1)
        try exchange(a, b)
        for log in [a, b] {
            #expect(try rows(log, "folder") == [[2, "y"], [4, "z"]])
            #expect(try rows(log, "item") == [[1, 2, 2, 8, 9], [3, 2, nil, 0, 0]])
        }
    }

    /// Whichever of two rows comes first, the one that was written last stays.
    @Test(arguments: [true, false]) func laterRowWinsUniqueConflict(isFirstLater: Bool) throws {
        let schema = SQLScript("CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        let a = try peer("a", schema, tables: ["tag"]), b = try peer("b", schema, tables: ["tag"])
        let later = isFirstLater ? a : b
        later.now = { Date(timeIntervalSinceNow: 60) }
        try a.write { try $0.execute("INSERT INTO tag VALUES (1, 'x')") }
        try b.write { try $0.execute("INSERT INTO tag VALUES (2, 'x')") }
        let outcome = try a.receive(try b.changes())
        #expect(outcome["tag"]?.deleted == 1 && outcome.hasRepairs)
        #expect(try rows(a, "tag") == [[isFirstLater ? 1 : 2, "x"]])
        #expect(try !b.receive(try a.changes()).hasRepairs)
        #expect(try rows(b, "tag") == rows(a, "tag"))
    }

    /// A row that another program's schema refuses is not lost: it stays with the sender until the receiver can take it.
    @Test func rowRefusedBySchemaAbortsTheMessage() throws {
        let a = try peer("a"), b = try peer("b", SQLScript("CREATE TABLE note(id TEXT PRIMARY KEY, title CHECK (title <> 'no')); CREATE TABLE point(id INTEGER PRIMARY KEY, x, y)"))
        try a.write { try $0.execute("INSERT INTO point VALUES (7, 1, 1)") }
        let first = try a.changes()
        try a.write { try $0.execute("INSERT INTO note(id, title) VALUES ('n', 'no')") }
        let second = try a.changes()
        let before = try Contents.of(b.connection)
        var found = error { try b.receive(second) }
        #expect(found?.code == .schema && found?.message == "the table note has no column body here: migrate this database first")
        #expect(try Contents.of(b.connection) == before)
        try b.connection.execute("ALTER TABLE note ADD COLUMN body")
        found = error { try b.receive(second) }
        #expect(found?.code == .abort && found?.message.hasPrefix("a row of note cannot be written here: ") == true)
        #expect(try b.receive(first).received == 1)
        try b.connection.execute(SQLScript("ALTER TABLE note RENAME TO old; CREATE TABLE note(id TEXT PRIMARY KEY, title, body, more DEFAULT 5)"))
        #expect(try b.receive(second).repeated == 1)
        #expect(try rows(b) == [["n", "no", nil, 5]])
        let c = try ChangeLog(try bare(), tables: ["note", "point"], localPeer: "c")
        found = error { try c.receive(first) }
        #expect(found?.code == .schema && found?.message == "the rule for the table point is column here, and row there")
        let d = try peer("d", SQLScript("""
            CREATE TABLE note(id TEXT PRIMARY KEY, title, body);
            CREATE TABLE point(id INTEGER PRIMARY KEY, x CHECK (x <> 1), y);
            """))
        found = error { try d.receive(first) }
        #expect(found?.code == .abort && found?.message.hasPrefix("row 7 of point cannot be written here: ") == true)
    }

    @Test func missingOrForeignMessagesThrow() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note(id) VALUES (1)") }
        let start = try a.position
        try a.write { try $0.execute("INSERT INTO note(id) VALUES (2)") }
        let late = try a.changes(since: start)
        var found = error { try b.receive(late) }
        #expect(found?.reason == .changesMissing)
        #expect(try b.receive(try a.changes(since: try b.position)).received == 2)
        #expect(try b.receive(late).repeated == 1)
        // Two copies with one name.
        let twin = try peer("a")
        try twin.write { try $0.execute("INSERT INTO note(id) VALUES (3)") }
        try twin.write { try $0.execute("INSERT INTO note(id) VALUES (4)") }
        found = error { try b.receive(try twin.changes(since: ChangeLog.Position())) }
        #expect(found?.reason == .misuse)
        found = error { _ = try twin.changes(since: try b.position) }
        #expect(found?.reason == .copyRestored)
        found = error { try a.receive(try twin.changes()) }
        #expect(found?.reason == .copyRestored)
        found = error { try a.receive(try a.changes()) }
        #expect(found?.reason == .misuse)
        #expect(try rows(b).count == 2)
        found = error { try b.connection.transaction { (_: Connection) -> Void in try b.receive(late) } }
        #expect(found?.reason == .misuse)
    }

    /// The content of a message could be rolled back after it has left.
    @Test func messagesInsideTransactionsAreRefused() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note(id) VALUES (1)") }
        let makers: [() throws -> ChangeLog.Message] = [{ try a.changes() }, { try a.snapshot() }]
        for make in makers {
            func work(_ db: Connection) throws {
                try db.execute("INSERT INTO note(id) VALUES (2)")
                _ = try make()
            }
            let found = [
                error { try a.write(work) }, error { try a.connection.transaction { db in try work(db) } },
                error { try a.connection.savepoint { db in try work(db) } },
            ]
            for found in found { #expect(found?.reason == .misuse && found?.message.contains("inside a transaction") == true) }
            #expect(try rows(a).count == 1 && !a.connection.isInTransaction)
            #expect(try make().until == a.position)
        }
        try b.receive(try a.changes())
        #expect(try rows(b) == rows(a))
    }

    @Test func removedPeerDoesNotBlockPruning() throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try a.write { try $0.execute("INSERT INTO note(id) VALUES (1)") }
        #expect(try a.prune() == 0, "no other peer is known")
        try a.add(peer: "c")
        try exchange(a, b)
        #expect(try a.peers == ["b", "c"] && b.peers == ["a", "c"])
        #expect(try a.prune() == 0 && b.prune() == 0)
        try a.remove(peer: "c")
        #expect(try a.prune() == 1)
        try exchange(a, b)
        #expect(try b.peers == ["a"] && b.prune() == 1)
        #expect(try a.position(of: "c") == nil && a.position(of: "b") == b.position)
        try c.write { try $0.execute("INSERT INTO note(id) VALUES (3)") }
        var found = error { try b.receive(try c.changes()) }
        #expect(found?.reason == .misuse)
        found = error { try c.receive(try b.changes(since: try b.position)) }
        #expect(found?.reason == .misuse)
        // A peer that was not known cannot have the entries that are gone.
        let d = try peer("d")
        found = error { try d.receive(try a.changes(since: try d.position)) }
        #expect(found?.reason == .changesMissing)
        d.now = { Date(timeIntervalSinceNow: -1000) }
        try d.write { try $0.execute("INSERT INTO note(id) VALUES (4)") }
        // The peer's row is older than the entries that the others have forgotten: it is logged again.
        #expect(try a.receive(try d.changes()).renewed == 1)
        #expect(try a.changes(since: try b.position).count == 2)
    }

    /// A copy of the file, at each of the instants when a process could have been killed, opens as it was before or after.
    @Test func killedReceiverAppliesEachMessageOnce() throws {
        let folder = try TemporaryFolder()
        let key = try DatabaseKey.passphrase("x").quick
        for mode in ["delete", "wal"] {
            let a = try peer("a")
            try a.write { try $0.execute("INSERT INTO note VALUES ('1', 1, 1), ('2', 2, 2)") }
            let message = try a.changes()
            let path = folder.path("\(mode).db")
            let db = try Connection(.file(path), key: key)
            try db.execute(SQL(raw: "PRAGMA journal_mode = \(mode)"))
            try db.execute(Self.schema)
            let b = try ChangeLog(db, tables: ["note", "point"], localPeer: "b", mergePolicies: ["point": .row])
            try b.write { try $0.execute("INSERT INTO note VALUES ('2', 'b', 'b')") }
            let before = try rows(b)
            var copies: [String] = []
            func copy() throws {
                let copy = folder.path("\(mode)-\(copies.count).db")
                for suffix in ["", "-journal", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
                }
                copies.append(copy)
            }
            let update = try db.addUpdateHook { _ in try? copy() }
            let commit = try db.addCommitHook { try copy() }
            try b.receive(message)
            update.remove()
            commit.remove()
            try copy()
            let after = try rows(b)
            #expect(copies.count > 3 && after.count == 2)
            for (index, copy) in copies.enumerated() {
                let again = try Connection(.file(copy), key: key)
                let log = try ChangeLog(again, tables: ["note", "point"], localPeer: "b", mergePolicies: ["point": .row])
                #expect(try rows(log) == (index == copies.count - 1 ? after : before))
                let outcome = try log.receive(message)
                #expect(outcome.received + outcome.repeated == 1)
                #expect(try rows(log) == after)
                try a.receive(try log.changes(since: try a.position))
                #expect(try rows(a) == after)
            }
        }
    }

    @Test func editsAreLoggedOnlyIfTheirTransactionCommits() throws {
        struct Mine: Error {}
        let a = try peer("a")
        let before = try Contents.of(a.connection)
        #expect(throws: Mine.self) {
            try a.write { db in
                try db.execute("INSERT INTO note(id) VALUES (1)")
                throw Mine()
            }
        }
        #expect(try Contents.of(a.connection) == before)
        #expect(try a.write { db in try a.write { db in try db.execute("INSERT INTO note(id) VALUES (1)") }; return 5 } == 5)
        #expect(try a.changes().count == 1)
        // Undone with the transaction around it.
        _ = try? a.connection.transaction { db in
            try a.write { try $0.execute("INSERT INTO note(id) VALUES (2)") }
            #expect(try a.changes().count == 2)
            throw Mine()
        }
        #expect(try a.changes().count == 1 && rows(a).count == 1)
        // A write that changes nothing is no entry.
        try a.write { db in try db.execute("UPDATE note SET title = title") }
        #expect(try a.changes().count == 1)
        try a.connection.execute("INSERT INTO note(id) VALUES ('old')")
        #expect(try a.addExistingRows() == 1 && a.addExistingRows() == 0)
        let b = try peer("b")
        try exchange(a, b)
        #expect(try rows(b) == [["1", nil, nil], ["old", nil, nil]])
        try ChangeLog.delete(from: b.connection)
        #expect(try b.connection.main.tables().map(\.name) == ["note", "point"])
    }

    @Test func invalidChangeLogTablesThrow() throws {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE a(id INTEGER PRIMARY KEY, b REFERENCES b); CREATE TABLE b(id INTEGER PRIMARY KEY); CREATE TABLE bare(x);
            CREATE VIEW v AS SELECT 1;
            """))
        let before = try Contents.of(db)
        for tables in [["a"], ["bare"], ["v"], ["b", "B"], ["nothing"], ["sqlite_schema"]] {
            #expect(error { _ = try ChangeLog(db, tables: tables, localPeer: "x") }?.reason == .invalidArgument, "\(tables)")
        }
        for name in ["", "a b", "é", String(repeating: "x", count: 129)] {
            #expect(error { _ = try ChangeLog(db, tables: ["b"], localPeer: name) }?.reason == .invalidArgument)
        }
        #expect(error { _ = try ChangeLog(db, tables: ["b"], localPeer: "x", mergePolicies: ["a": .row]) }?.reason == .invalidArgument)
        #expect(try Contents.of(db) == before)
        let log = try ChangeLog(db, tables: ["a", "b"], localPeer: "x")
        #expect(error { _ = try ChangeLog(db, tables: ["a", "b"], localPeer: "y") }?.reason == .misuse)
        try log.add(peer: "y")
        #expect(try ChangeLog(db, tables: ["a", "b"], localPeer: "y").peers == ["x"])
    }

    /// No bytes make a message that traps or that is half applied.
    @Test func damagedMessagesThrowAndApplyNothing() throws {
        var random = SeededGenerator(state: 5)
        let a = try peer("a"), b = try peer("b")
        try b.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1.5)") }
        try exchange(a, b)
        try a.write { try $0.execute(SQLScript("INSERT INTO note VALUES ('é', x'00ff', -1); UPDATE note SET body = NULL WHERE id = 'n'; INSERT INTO point VALUES (9223372036854775807, 0.5, 1)")) }
        let data = try a.changes(since: try b.position).data
        #expect(try ChangeLog.Message(data: data).data == data)
        #expect(try JSONDecoder().decode(ChangeLog.Message.self, from: JSONEncoder().encode(ChangeLog.Message(data: data))).data == data)
        var read = 0, refused = 0
        for round in 0..<3000 {
            var bytes = [UInt8](data)
            if round % 3 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                guard let place = bytes.indices.randomElement(using: &random) else { continue }
                bytes[place] = Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : bytes[place] ^ 1
            }
            guard let message = try? ChangeLog.Message(data: Data(bytes)) else { continue }
            read += 1
            let before = round % 20 == 0 ? try Contents.of(b.connection) : []
            do {
                // Undone at once, so that the next change meets the same rows.
                let token = try b.connection.addCommitHook { throw CancellationError() }
                defer { token.remove() }
                try b.receive(message)
            } catch { refused += 1 }
            if round % 20 == 0 { #expect(try Contents.of(b.connection) == before) }
        }
        #expect(read > 200 && refused > 200)
        #expect(try b.receive(ChangeLog.Message(data: data)).received == 1)
    }
}

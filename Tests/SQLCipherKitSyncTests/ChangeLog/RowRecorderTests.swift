import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// A change log's record of a write, against the record of SQLite's session: they use nothing of each other.
@Suite struct RowRecorderTests {
    private static let tables = ["note", "plain", "wide", "loose", "pair", "folder", "tag", "late", "made"] + KeyedTables.names

    private static let schema = KeyedTables.schema + """
        CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE note(
            id INTEGER PRIMARY KEY, folder INTEGER REFERENCES folder ON DELETE CASCADE ON UPDATE CASCADE, x, y REAL, z TEXT UNIQUE);
        CREATE TABLE tag(name TEXT PRIMARY KEY, note INTEGER REFERENCES note ON DELETE SET NULL, n INTEGER);
        CREATE TABLE plain(id TEXT PRIMARY KEY, x, y REAL);
        CREATE TABLE loose(id ANY PRIMARY KEY, x INTEGER, y ANY) STRICT;
        CREATE TABLE pair(v BLOB, a INTEGER, w, b TEXT COLLATE NOCASE, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
        CREATE TABLE late(id TEXT PRIMARY KEY, a);
        INSERT INTO late VALUES ('old 0', 1), ('old 1', 2), ('old 2', 3);
        ALTER TABLE late ADD COLUMN b TEXT NOT NULL DEFAULT 'ä';
        ALTER TABLE late ADD COLUMN c REAL DEFAULT 7.5;
        ALTER TABLE late ADD COLUMN d;
        CREATE TABLE made(
            v AS (x || 'v'), id INTEGER PRIMARY KEY, s AS (x || 's') STORED, x, w AS (x || 'w') VIRTUAL, y);
        CREATE TRIGGER note_new AFTER INSERT ON note BEGIN
            INSERT OR IGNORE INTO tag VALUES ('n' || new.id % 5, new.id, 0);
            UPDATE tag SET n = n + 1 WHERE name = 'n' || new.id % 5;
        END;
        CREATE TRIGGER plain_change BEFORE UPDATE ON plain WHEN new.x = 3 BEGIN DELETE FROM loose WHERE x = 3; END;
        CREATE TRIGGER plain_fail AFTER UPDATE ON plain WHEN new.x = 8 BEGIN SELECT RAISE(FAIL, 'eight'); END;
        CREATE TRIGGER pair_ignore BEFORE DELETE ON pair WHEN old.a = 2 BEGIN SELECT RAISE(IGNORE); END;

        """

    /// Text and bytes of any length, up to several pages, with a value that is easily drawn twice.
    private static func value(_ random: inout SeededGenerator) -> SQLValue {
        func one<T>(_ values: [T]) -> T? { values.randomElement(using: &random) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return .null
        case 1, 2: return .integer(Int64.random(in: 0..<9, using: &random))
        case 3: return .integer(one([.min, .max, -1, 1 << 40, -(1 << 31), 127, 128, -129]) ?? 0)
        case 4: return .real(one([0, 1, 1.5, -2.25, 1e300, .infinity, 1_700_000_000]) ?? 0)
        case 5: return .text(one(["", "a", "A", "é", "a\0b", "8", "8.5", " "]) ?? "")
        case 6: return .text(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, one([1, 2]) ?? 0)).uuidString)
        case 7: return .text("d9428888-122b-11e1-b85c-61cd3cbb321\(one(["0", "A", "g"]) ?? "")")
        case 8: return .blob(Data(repeating: one([0, 7, 255]) ?? 0, count: Int.random(in: 0...300, using: &random)))
        case 9: return .text(String(repeating: one(["x", "ü"]) ?? "x", count: Int.random(in: 0...12_000, using: &random)))
        default: return .integer(Int64.random(in: 0..<3, using: &random))
        }
    }

    private static func statement(_ random: inout SeededGenerator) -> SQL {
        let key = Int64.random(in: -3..<12, using: &random), other = Int64.random(in: -3..<12, using: &random)
        let x = value(&random), y = value(&random), n = Int.random(in: 0..<4, using: &random)
        let how = ["OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT", ""].randomElement(using: &random) ?? ""
        let text = ["a", "b", "B", "c"].randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<36, using: &random) {
        case 0...2: return "INSERT \(raw: how) INTO note VALUES (\(key), \(n), \(x), \(y), \("z\(n)\(other)"))"
        case 3: return "INSERT INTO note(id, x) VALUES (\(key), \(x)) ON CONFLICT(id) DO UPDATE SET x = excluded.x, y = \(y)"
        case 4: return "UPDATE \(raw: how) note SET id = \(other), x = \(x) WHERE id = \(key)"
        case 5: return "UPDATE \(raw: how) note SET id = id + 1 WHERE id > \(key)"
        case 6: return "UPDATE note SET y = \(y), folder = \(n) WHERE id > \(key)"
        case 7: return "DELETE FROM note WHERE id = \(key)"
        case 8: return "INSERT \(raw: how) INTO folder VALUES (\(n), \("f\(other % 3)"))"
        case 9: return "UPDATE \(raw: how) folder SET id = \(n + 1) WHERE id = \(n)"
        case 10: return "DELETE FROM folder WHERE id = \(n)"
        case 11...13: return "INSERT \(raw: how) INTO plain VALUES (\("k\(key)"), \(x), \(y))"
        case 14: return "UPDATE \(raw: how) plain SET id = \("k\(other)") WHERE id = \("k\(key)")"
        case 15: return "UPDATE plain SET x = \(x), y = y WHERE id <> \("k\(key)")"
        case 16: return "UPDATE \(raw: how) plain SET x = rowid % 9"
        case 17: return n == 0 ? "DELETE FROM plain" : "DELETE FROM plain WHERE x = \(x)"
        case 18: return "UPDATE plain SET rowid = \(key + 100) WHERE rowid = \(other)"
        case 19, 20: return "INSERT \(raw: how) INTO loose VALUES (\(x), \(n), \(y))"
        case 21: return "UPDATE \(raw: how) loose SET id = \(y) WHERE x = \(n)"
        case 22: return n == 0 ? "DELETE FROM loose" : "UPDATE loose SET y = id"
        case 23...25: return "INSERT \(raw: how) INTO pair VALUES (\(x), \(n), \(y), \(text))"
        case 26: return "UPDATE \(raw: how) pair SET a = \(n), b = \(text) WHERE a = \(other)"
        case 27: return "UPDATE pair SET w = \(x) WHERE b = \(text)"
        case 28: return "DELETE FROM pair WHERE a = \(n)"
        case 29: return "INSERT \(raw: how) INTO late(id, a) VALUES (\("old \(n)"), \(x))"
        case 30: return "UPDATE late SET \(raw: ["a", "d"][n % 2]) = \(x) WHERE id >= \("old \(n)")"
        case 31: return "UPDATE late SET b = 'ä', c = 7.5"
        case 32: return "INSERT \(raw: how) INTO made(id, x, y) VALUES (\(key), \(x), \(y))"
        case 33: return "UPDATE made SET x = \(x) WHERE id > \(key)"
        default: return KeyedTables.statement(&random)
        }
    }

    private static func run(_ db: Connection, _ random: inout SeededGenerator, _ count: Int, depth: Int = 0) {
        for _ in 0..<count {
            switch Int.random(in: 0..<12, using: &random) {
            case 0 where depth < 3:
                _ = try? db.savepoint { db in
                    run(db, &random, Int.random(in: 1...5, using: &random), depth: depth + 1)
                    return Bool.random(using: &random) ? TransactionEnd<Void>.rollback(()) : .commit(())
                }
            default:
                // The changes that it has made remain, if it fails half way and is to go on.
                _ = try? db.execute(statement(&random))
            }
        }
    }

    /// One change of a row, in the same form for both.
    private struct Change: Hashable {
        let kind: RowChange.Kind, table: String, key: [SQLValue], values: [String: SQLValue]

        var text: String {
            let pairs: [String] = values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return "\(kind) \(table) \(key): \(pairs)"
        }
    }

    private static func columns(_ db: Connection) throws -> [String: [String]] {
        var columns: [String: [String]] = [:]
        for table in tables where try db.main.hasTable(table) {
            columns[table] = try db.fetchAll(String.self, "SELECT name FROM pragma_table_xinfo(\(table)) WHERE hidden = 0")
        }
        return columns
    }

    /// - Parameter body: changes rows in a transaction.
    private static func compare(
        _ db: Connection, _ what: String, _ names: [String] = tables, _ body: (Connection) throws -> Void
    ) throws -> (changes: Int, kinds: Set<RowChange.Kind>) {
        let session = try ChangeRecorder(db.main, tables: names)
        defer { session.close() }
        let recorded = try ChangeLog.recording(db, names) { db in try body(db) }
        let columns = try columns(db)
        let expected = try session.patchset().changes().map { change in
            let names = columns[change.table] ?? []
            let values = change.kind == .insert ? change.new : change.kind == .delete ? [] : change.new
            let pairs = zip(names, values).enumerated().filter { !change.primaryKey.contains($0.offset) }.map(\.element)
            return Change(
                kind: change.kind, table: change.table,
                key: change.primaryKey.map { (change.kind == .insert ? change.new : change.old)[$0] ?? .null },
                values: Dictionary(uniqueKeysWithValues: pairs.compactMap { pair in pair.1.map { (pair.0, $0) } }))
        }
        let found = recorded.map { change in
            Change(
                kind: change.kind, table: change.table, key: change.key,
                values: Dictionary(uniqueKeysWithValues: zip(change.columns, change.values)))
        }
        let more = Set(found).subtracting(expected).map(\.text), less = Set(expected).subtracting(found).map(\.text)
        #expect(more == [] && less == [], "\(what): more \(more), less \(less)")
        #expect(found.count == expected.count, "\(what)")
        for change in recorded { #expect(change.keyBytes == change.expected, "\(what): \(change)") }
        // Of two spellings of a key, the one that goes is first.
        for (place, change) in recorded.enumerated() where change.kind == .insert {
            #expect(!recorded[place...].contains { $0.kind != .insert && $0.table == change.table }, "\(what)")
        }
        return (found.count, Set(found.map(\.kind)))
    }

    private static func open(_ encoding: String = "UTF-8") throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("PRAGMA encoding = '\(raw: encoding)'")
        let columns: [String] = (0..<130).map { number in "c\(number)" }
        let wide: String = "CREATE TABLE wide(" + columns.joined(separator: ", ") + ", PRIMARY KEY (c77));"
        try db.execute(SQLScript(schema + wide))
        try db.execute("PRAGMA foreign_keys = ON")
        return db
    }

    @Test func rowRecorderMatchesSQLiteSession() throws {
        var kinds: Set<RowChange.Kind> = [], changes = 0
        for seed in LongTests.seeds(60, of: 3000) {
            var random = SeededGenerator(state: seed)
            let db = try Self.open(seed % 5 == 4 ? "UTF-16le" : "UTF-8")
            if seed % 3 == 0 { try db.execute("PRAGMA recursive_triggers = ON") }
            try db.transaction { db in Self.run(db, &random, 40) }
            for round in 0..<3 {
                let found = try Self.compare(db, "seed \(seed), round \(round)") { db in
                    Self.run(db, &random, Int.random(in: 1...30, using: &random))
                    for _ in 0..<Int.random(in: 0...3, using: &random) {
                        let column = Int.random(in: 0..<130, using: &random), key = Int.random(in: 0..<3, using: &random)
                        try db.execute("INSERT OR IGNORE INTO wide(c77, c0) VALUES (\(key), \(column))")
                        try db.execute("UPDATE wide SET \(raw: column == 77 ? "c78" : "c\(column)") = \(Self.value(&random)) WHERE c77 = \(key)")
                    }
                }
                changes += found.changes
                kinds.formUnion(found.kinds)
            }
        }
        #expect(kinds.count == 3 && changes > 100)
    }

    /// Writes that a savepoint undoes, however deep, are no changes; the writes of a statement that fails later are changes.
    @Test func rowRecorderFollowsSavepointsAndFailedStatements() throws {
        let db = try Self.open()
        try db.execute("INSERT INTO plain VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3)")
        let undone = try Self.compare(db, "undone") { db in
            try db.execute("UPDATE plain SET x = 5")
            _ = try db.savepoint { db -> TransactionEnd<Void> in
                try db.execute("DELETE FROM plain")
                try db.execute("INSERT INTO plain VALUES ('d', 1, 1)")
                return .rollback(())
            }
            try db.execute("UPDATE plain SET x = rowid")
        }
        #expect(undone.changes == 0)
        let half = try Self.compare(db, "half") { db in
            #expect(throws: DatabaseError.self) { try db.execute("UPDATE OR FAIL plain SET id = 'a' || (id > 'a') || (id > 'c')") }
            #expect(throws: DatabaseError.self) { try db.execute("UPDATE plain SET x = 6 + rowid") }
        }
        #expect(half.changes > 0)
    }

    /// A change of the schema between two changes of rows.
    @Test func rowRecorderFollowsSchemaChanges() throws {
        let steps: [(name: String, sql: String, isRefused: Bool)] = [
            ("a column more", "ALTER TABLE plain ADD COLUMN q DEFAULT 4", false),
            ("another name of a column", "ALTER TABLE plain RENAME COLUMN y TO why", false),
            ("a column less", "ALTER TABLE plain DROP COLUMN y", true),
            ("no table", "DROP TABLE plain", true),
            ("another table", "CREATE TABLE plainer(id)", false),
            (
                "a table in its place, with other row ids",
                """
                CREATE TABLE new(id TEXT PRIMARY KEY, x, y REAL); INSERT INTO new SELECT * FROM plain ORDER BY id DESC;
                DROP TABLE plain; ALTER TABLE new RENAME TO plain
                """, false
            ),
            (
                "a table without row ids in its place",
                """
                CREATE TABLE new(y REAL, id TEXT PRIMARY KEY, x) WITHOUT ROWID; INSERT INTO new(id, x, y) SELECT * FROM plain;
                DROP TABLE plain; ALTER TABLE new RENAME TO plain
                """, true
            ),
            (
                "the same columns without row ids",
                """
                CREATE TABLE new(id TEXT PRIMARY KEY, x, y REAL) WITHOUT ROWID; INSERT INTO new SELECT * FROM plain;
                DROP TABLE plain; ALTER TABLE new RENAME TO plain
                """, false
            ),
            ("a key that is the row id", "DROP TABLE plain; CREATE TABLE plain(id INTEGER PRIMARY KEY, x, y REAL)", false),
        ]
        for (name, sql, isRefused) in steps {
            for isAgain in [false, true] {
                let db = try Self.open()
                try db.execute("PRAGMA foreign_keys = OFF")
                try db.execute("DROP TRIGGER plain_fail")
                try db.execute("DROP TRIGGER plain_change")
                try db.execute("INSERT INTO plain VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3), ('d', 4, 4)")
                func change() throws {
                    _ = try Self.compare(db, name, ["plain"]) { db in
                        try db.execute("UPDATE plain SET x = 9 WHERE id = 'a'")
                        try db.execute("DELETE FROM plain WHERE id = 'b'")
                        try db.execute("INSERT INTO plain(id, x) VALUES ('e', 5)")
                        try db.execute(SQLScript(sql))
                        if !isAgain { return }
                        _ = try? db.execute("UPDATE plain SET x = 11 WHERE id <> 'a'")
                        _ = try? db.execute("INSERT INTO plain(id, x) VALUES ('f', 6)")
                        _ = try? db.execute("INSERT INTO plain(id, x) VALUES (6, 6)")
                    }
                }
                if isRefused { #expect(throws: DatabaseError.self, "\(name)") { try change() } } else { try change() }
            }
        }
    }

    /// A row with NULL in its key ends the recording, whether it is the first change or comes after others, and stays or goes.
    @Test(arguments: ["", "INSERT INTO plain VALUES ('b', 1, 1);", "INSERT INTO note(id) VALUES (1);"])
    func nullInPrimaryKeyEndsRowRecording(_ before: String) throws {
        for sql in [
            "INSERT INTO plain VALUES (NULL, 1, 1)", "UPDATE plain SET id = NULL WHERE id = 'a'",
            "INSERT INTO plain VALUES (NULL, 1, 1); DELETE FROM plain WHERE id IS NULL", "INSERT INTO word VALUES (NULL, 1)",
            "INSERT INTO both VALUES (NULL, 'p')", "UPDATE OR REPLACE wide SET c77 = NULL",
        ] {
            let db = try Self.open()
            try db.execute("INSERT INTO plain VALUES ('a', 1, 1)")
            try db.execute("INSERT INTO wide(c77) VALUES (1)")
            let error = #expect(throws: DatabaseError.self, "\(sql)") {
                try ChangeLog.recording(db, Self.tables) { db in try db.execute(SQLScript(before + sql)) }
            }
            #expect(error?.reason == .invalidArgument && error?.message.contains("NULL") == true, "\(sql): \(String(describing: error))")
            #expect(try db.fetchAll(String.self, "SELECT id FROM plain") == ["a"])
        }
    }

    /// A schema that a savepoint brings back is not in memory.
    @Test func rowRecorderSurvivesSchemaRollback() throws {
        let db = try Self.open()
        try db.execute("INSERT INTO plain VALUES ('a', 1, 1)")
        let found = try Self.compare(db, "rolled back") { db in
            try db.execute("INSERT INTO plain VALUES ('b', 1, 1)")
            _ = try db.savepoint { db -> TransactionEnd<Void> in
                try db.execute("ALTER TABLE plain ADD COLUMN q")
                try db.execute("CREATE TABLE plainer(q)")
                return .rollback(())
            }
        }
        #expect(found.changes == 1)
    }

    /// DU6: a row that changed while there was a column more once ended the recording.
    @Test(arguments: [false, true]) func rowRecorderSurvivesUndoneColumn(hasEarlierChange: Bool) throws {
        let db = try Self.open()
        for trigger in ["plain_fail", "plain_change"] { try db.execute("DROP TRIGGER \(raw: trigger)") }
        try db.execute("INSERT INTO plain VALUES ('a', 1, 1), ('b', 1, 1)")
        let found = try ChangeLog.recording(db, ["plain"]) { db in
            if hasEarlierChange { try db.execute("UPDATE plain SET x = 2 WHERE id = 'a'") }
            _ = try db.savepoint { db -> TransactionEnd<Void> in
                try db.execute("ALTER TABLE plain ADD COLUMN q DEFAULT 4")
                try db.execute("UPDATE plain SET x = 3, q = 5")
                try db.execute("INSERT INTO plain VALUES ('c', 1, 1, 1)")
                return .rollback(())
            }
            try db.execute("UPDATE plain SET x = 6 WHERE id = 'b'")
            try db.execute("INSERT INTO plain VALUES ('d', 7, 1)")
        }
        let keys: [[SQLValue]] = [["a"], ["b"], ["d"]], columns = [["x"], ["x"], ["x", "y"]], first = hasEarlierChange ? 0 : 1
        #expect(found.map(\.key) == Array(keys[first...]) && found.map(\.columns) == Array(columns[first...]))
        #expect(found.last?.values == [7, 1.0])
        // A dropped column is refused as before.
        #expect(throws: DatabaseError.self) {
            try ChangeLog.recording(db, ["plain"]) { db in
                _ = try db.savepoint { db -> TransactionEnd<Void> in
                    try db.execute("ALTER TABLE plain ADD COLUMN q")
                    return .rollback(())
                }
                try db.execute("UPDATE plain SET x = 8 WHERE id = 'b'")
                try db.execute("ALTER TABLE plain DROP COLUMN y")
            }
        }
    }

    /// A session that begins or ends meanwhile takes the hook, and gives it back.
    @Test func rowRecorderCoexistsWithSessions() throws {
        let db = try Self.open()
        let found = try ChangeLog.recording(db, ["plain"]) { db in
            try db.execute("INSERT INTO plain VALUES ('a', 1, 1)")
            let other = try ChangeRecorder(db.main)
            try db.execute("INSERT INTO plain VALUES ('b', 1, 1)")
            other.close()
            try db.execute("INSERT INTO plain VALUES ('c', 1, 1)")
        }
        #expect(found.map(\.key) == [["a"], ["b"], ["c"]])
    }

    /// Rows that are changed through a handle of incremental input.
    @Test func rowRecorderRecordsBlobWrites() throws {
        let db = try Self.open()
        try db.execute("INSERT INTO plain VALUES ('a', zeroblob(9000), 1)")
        try db.execute("INSERT INTO note(id, x) VALUES (1, zeroblob(10))")
        let found = try Self.compare(db, "blobs") { db in
            for (table, column) in [("plain", "x"), ("note", "x")] {
                let blob = try db.main.openBlob(table: table, column: column, rowID: 1, forWriting: true)
                try blob.write([1, 2, 3] as [UInt8], at: 4)
                blob.close()
            }
        }
        #expect(found.changes == 2)
    }
}

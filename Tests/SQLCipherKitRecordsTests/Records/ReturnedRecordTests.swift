import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Calls that write a record and read it back do the same as inside a savepoint, and change nothing if they throw.
@Suite struct ReturnedRecordTests {
    /// A text that can be written, but not always read.
    struct Name: SQLValueConvertible, Codable, Equatable {
        let text: String
        init(_ text: String) { self.text = text }
        init?(sqlValue: SQLValue) {
            guard case .text(let text) = sqlValue, text != "unreadable" else { return nil }
            self.text = text
        }
        var sqlValue: SQLValue { .text(text) }
    }

    protocol Entry: SQLRecord, Equatable {
        init(id: Int64?, name: Name, stars: Int)
    }
    struct Plain: Entry {
        static let tableName = "entry"
        var id: Int64?
        var name: Name
        var stars: Int
    }
    struct Described: Entry {
        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey()
            $0.name
            $0.stars
        }
        static let tableName = "entry"
        var id: Int64?
        var name: Name
        var stars: Int
    }
    struct ByPosition: Entry, SQLPositionalRecord {
        static let tableName = "entry"
        static let recordColumns = SQLRecordColumns(of: ByPosition.self, ["id": \.id, "name": \.name, "stars": \.stars])
        var id: Int64?
        var name: Name
        var stars: Int
        init(id: Int64?, name: Name, stars: Int) { (self.id, self.name, self.stars) = (id, name, stars) }
        init(columns: inout SQLColumnReader) throws {
            (id, name, stars) = (try columns.next(), try columns.next(), try columns.next())
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(name)
            try columns.put(stars)
        }
    }

    /// The parts of a database, of which each one is drawn.
    private static let parts: [[String]] = [
        ["id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT", "id INT PRIMARY KEY", "id INT UNIQUE", "id INT"],
        ["", "UNIQUE"] + ["IGNORE", "REPLACE", "FAIL", "ROLLBACK"].map { "UNIQUE ON CONFLICT \($0)" },
        [
            "INT", "INT NOT NULL DEFAULT 7", "TEXT", "REAL", "INT REFERENCES parent DEFERRABLE INITIALLY DEFERRED",
            "INT REFERENCES parent",
        ],
        ["", ", twice INT AS (stars * 2)", ", kept TEXT NOT NULL DEFAULT 'kept'"],
        ["", "STRICT", "WITHOUT ROWID", "STRICT, WITHOUT ROWID"],
    ]
    private static let triggers =
        ["SELECT 1"]
        + [
            "TRIGGER t AFTER INSERT ON main.entry BEGIN INSERT INTO log VALUES (new.name)",
            "TRIGGER t AFTER UPDATE ON main.entry BEGIN INSERT INTO log VALUES (new.name)",
            leavesOut,
            "TEMP \(leavesOut)",
            "TRIGGER t UPDATE ON main.entry BEGIN INSERT INTO log VALUES (new.name); DELETE FROM entry WHERE id = old.id",
            "TRIGGER t AFTER INSERT ON main.entry BEGIN SELECT RAISE(FAIL, 'no') WHERE new.name = 'left out'",
            "TRIGGER t AFTER INSERT ON main.entry BEGIN UPDATE entry SET stars = 3 WHERE id = new.id",
        ].map { "CREATE \($0); END" }
    private static let leavesOut =
        "TRIGGER t INSERT ON main.entry BEGIN INSERT INTO log VALUES (1); SELECT RAISE(IGNORE) WHERE new.name = 'left out'"

    private enum Call: CaseIterable {
        case insert, replace, ignore, upsert, update, save
    }

    private func make(_ creation: String, _ trigger: String) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE parent(id INTEGER PRIMARY KEY)")
        try db.execute("CREATE TABLE log(name)")
        try db.execute("INSERT INTO parent VALUES (1), (2)")
        try db.execute(SQL(raw: creation))
        try db.execute("INSERT INTO entry(id, name, stars) VALUES (1, 'a', 1), (2, 'b', 2)")
        try db.execute(SQL(raw: trigger))
        return db
    }

    private func content(_ db: Connection) throws -> [String] {
        try ["entry", "log", "parent", "sqlite_sequence"].flatMap { table -> [String] in
            guard try db.main.has(table) else { return [] }
            let columns = try db.main.columns(of: table).map { "quote(\($0.name.quotedSQLIdentifier))" }
            let row = columns.joined(separator: " || ', ' || ")
            return try db.fetchAll(String.self, SQL(raw: "SELECT '\(table): ' || \(row) FROM \(table) ORDER BY 1"))
        }
    }

    private func write<E: Entry>(_ call: Call, _ record: inout E, _ db: Connection) throws -> Bool {
        switch call {
        case .insert: try db.insert(&record)
        case .replace: return try db.insert(&record, onConflict: .replace)
        case .ignore: return try db.insert(&record, onConflict: .ignore)
        case .upsert: try db.upsert(&record)
        case .update: try db.update(&record)
        case .save: try db.save(&record)
        }
        return true
    }

    /// The state that a call leaves behind, and whether it threw.
    private func run<E: Entry>(
        _ call: Call, _ given: E, _ db: Connection, inTransaction: Bool, inSavepoint: Bool
    ) throws -> (said: [String], threw: Bool) {
        var record = given, said: [String] = [], threw = false
        if inTransaction {
            try db.begin()
            try db.execute("INSERT INTO log VALUES ('before')")
        }
        let before = try content(db)
        do {
            var isWritten = false
            if inSavepoint {
                var copy = record
                try db.savepoint { db -> Void in isWritten = try write(call, &copy, db) }
                record = copy
            } else {
                isWritten = try write(call, &record, db)
            }
            said.append("\(isWritten), \(db.changes)")
        } catch let error as DatabaseError {
            threw = true
            said.append("\(error.code) \(error.reason)")
            // ON CONFLICT ROLLBACK ends the transaction.
            if db.isInTransaction == inTransaction { #expect(try content(db) == before) }
            #expect(record == given)
        }
        said += ["\(record)", "\(db.lastInsertedRowID)", "\(db.isInTransaction)"] + (try content(db))
        if db.isInTransaction {
            do { try db.commit() } catch let error as DatabaseError {
                said.append("\(error.code)")
                try db.rollback()
            }
        }
        return (said + (try content(db)), threw)
    }

    private func check<E: Entry>(_ type: E.Type, _ generator: inout SeededGenerator) throws -> (written: Int, failed: Int) {
        let drawn = Self.parts.map { $0.randomElement(using: &generator) ?? "" }
        let creation = "CREATE TABLE entry(\(drawn[0]), name TEXT \(drawn[1]), stars \(drawn[2])\(drawn[3])) \(drawn[4])"
        let trigger = Self.triggers.randomElement(using: &generator) ?? ""
        // Some parts do not go together.
        guard (try? make(creation, trigger)) != nil else { return (0, 0) }
        var written = 0, failed = 0
        for call in Call.allCases {
            let name = ["a", "c", "unreadable", "left out"].randomElement(using: &generator) ?? ""
            let record = E(
                id: [nil, 1, 2, 7].randomElement(using: &generator) ?? nil, name: Name(name),
                stars: Int.random(in: 1...3, using: &generator))
            let inTransaction = Bool.random(using: &generator)
            let direct = try run(call, record, make(creation, trigger), inTransaction: inTransaction, inSavepoint: false)
            let careful = try run(call, record, make(creation, trigger), inTransaction: inTransaction, inSavepoint: true)
            #expect(direct.said == careful.said, "\(call) \(record) \(creation); \(trigger); in a transaction: \(inTransaction)")
            if direct.threw { failed += 1 } else { written += 1 }
        }
        return (written, failed)
    }

    @Test func callsDoTheSameAsInSavepoints() throws {
        var generator = SeededGenerator(), written = 0, failed = 0
        for _ in 0..<(LongTests.areOn ? 3000 : 60) {
            for counts in [
                try check(Plain.self, &generator), try check(Described.self, &generator), try check(ByPosition.self, &generator),
            ] {
                written += counts.written
                failed += counts.failed
            }
        }
        #expect(written > 100 && failed > 100)
    }

    /// The statement of before, which needed no savepoint, does not run with the new trigger.
    @Test func laterTriggerIsUndone() throws {
        try check(Plain.self)
        try check(Described.self)
        try check(ByPosition.self)
    }

    private func check<E: Entry>(_ type: E.Type) throws {
        let db = try make("CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT, stars INT)", "SELECT 1")
        var first = E(id: nil, name: Name("c"), stars: 1)
        try db.insert(&first)
        try db.execute(SQL(raw: "CREATE \(Self.leavesOut); END"))
        var second = E(id: nil, name: Name("left out"), stars: 1)
        #expect(throws: DatabaseError.self) { try db.insert(&second) }
        #expect(try db.fetchAll(String.self, "SELECT name FROM log") == [])
    }

    /// In a transaction, one savepoint for each record would cost about as much as the record.
    @Test func recordsNeedNoSavepoints() throws {
        let db = try make("CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT, stars INT)", Self.triggers[1])
        var seen: [String] = []
        let token = try db.addTraceHook { event in if event.kind == .started { seen.append(event.sql) } }
        defer { token.remove() }
        var record = Plain(id: nil, name: Name("c"), stars: 1)
        try db.transaction { db in
            try db.insert(&record)
            try db.insert(&record, onConflict: .replace)
        }
        #expect(seen.contains { $0.hasPrefix("INSERT") } && !seen.contains { $0.hasPrefix("SAVEPOINT") })
    }
}

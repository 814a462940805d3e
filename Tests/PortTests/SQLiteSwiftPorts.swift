import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A program for each row of the article "From SQLite.swift".
@Suite struct SQLiteSwiftPorts {
    static let programs: [Port] = Port.list(Self.init, [
        "Q1": q1, "Q2": q2, "Q3": q3, "Q4": q4, "Q5": q5, "Q6": q6, "Q7": q7, "Q8": q8, "Q9": q9, "Q10": q10,
        "Q11": q11, "Q12": q12, "Q13": q13, "Q14": q14, "Q15": q15, "Q16": q16, "Q17": q17, "Q18": q18,
        "Q19": q19, "Q20": q20, "Q21": q21, "Q22": q22, "Q23": q23, "Q24": q24, "Q25": q25, "Q26": q26,
        "Q27": q27, "Q28": q28, "Q29": q29, "Q30": q30, "Q31": q31, "Q32": q32, "Q33": q33, "Q34": q34,
        "Q35": q35, "Q36": q36, "Q37": q37,
    ], async: [
        "Q38": q38, "Q39": q39,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws { desk = try ExampleDesk() }

    struct Note: SQLRecord, Codable, Equatable {
        var id: Int64?
        var title: String
        var stars: Int?
        static let table = SQLTable(of: Note.self) {
            $0.id.primaryKey()
            $0.title
            $0.stars
        }
    }

    // MARK: Opening

    /// Q1 places
    func q1() throws {
        #expect(try Connection(.file(desk.path), key: desk.key).main.path == desk.path)
        #expect(try Connection(.memory).location == .memory && Connection(.temporary).isOpen)
    }

    /// Q2 to read only
    func q2() throws {
        let reader = try desk.open { $0.access = .readOnly }
        let error = #expect(throws: DatabaseError.self) { try reader.execute("DELETE FROM note") }
        #expect(error?.code == .readOnly)
    }

    /// Q3 a key
    func q3() throws {
        #expect(try Connection(.file(desk.path), key: desk.key).fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
        #expect(desk.reason { _ = try Connection(.file(desk.path), key: .passphrase("wrong").quick) } == .wrongKeyOrNotADatabase)
    }

    /// Q4 another key
    func q4() throws {
        let key = try DatabaseKey.passphrase("battery staple").quick
        try db.changeKey(to: key)
        #expect(try Connection(.file(desk.path), key: key).isOpen)
    }

    /// Q5 the engine and its settings
    func q5() throws {
        #expect(SQLCipherEngine.cipherVersion.hasPrefix("4.") && SQLCipherEngine.sqliteVersion.hasPrefix("3."))
        #expect(try db.main.cipher?.settings.pageSize == 4096)
    }

    /// Q6 waiting for a lock
    func q6() throws {
        #expect(try db.settings.setBusyTimeout(.milliseconds(20)) == .milliseconds(20))
        let other = try desk.open { $0.busyTimeout = .zero }
        try db.begin()
        #expect(desk.reason { try other.begin() } == .busy)
    }

    // MARK: Statements

    /// Q7 statements without values
    func q7() throws {
        try db.execute(SQLScript("CREATE TABLE a(x); INSERT INTO a VALUES (1);"))
        #expect(try db.fetchOne(Int.self, "SELECT x FROM a") == 1)
    }

    /// Q8 running with values
    func q8() throws {
        let title = "New"
        try db.execute("INSERT INTO note(title) VALUES (\(title))")
        try db.execute("UPDATE note SET stars = ? WHERE title = ?", [1, title])
        #expect(db.lastInsertedRowID == 4 && db.changes == 1)
    }

    /// Q9 one value
    func q9() throws {
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
        #expect(try db.fetchOne(Int?.self, "SELECT stars FROM note WHERE id = 2") == .some(nil))
    }

    /// Q10 statements to keep
    func q10() throws {
        let insert = try db.prepare("INSERT INTO note(title) VALUES (?)")
        for title in ["a", "b"] { try insert.execute(binding: title) }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 5)
    }

    /// Q11 a loop over rows
    func q11() throws {
        var titles: [String] = []
        try db.forEach("SELECT title, stars FROM note ORDER BY id") { row in titles.append(try row["title"]) }
        #expect(titles == ["Bakery", "Mill", "Well"])
    }

    /// Q12 a row iterator that can fail
    func q12() throws {
        let rows = try db.cursor(String.self, "SELECT title FROM note ORDER BY id")
        var titles: [String] = []
        while let title = try rows.next() { titles.append(title) }
        #expect(titles.count == 3)
    }

    // MARK: Tables and expressions

    /// Q13 creating a table
    func q13() throws {
        struct User: SQLRecord {
            var id: Int64?
            var email: String
            static let table = SQLTable(of: User.self) {
                $0.id.primaryKey(autoincrement: true)
                $0.email.unique().check("email LIKE '%@%'")
            }
        }
        try db.create(User.table, ifNotExists: true)
        let error = #expect(throws: DatabaseError.self) { try db.insert(User(email: "none")) }
        #expect(error?.code == .constraintCheck)
    }

    /// Q14 inserting
    func q14() throws {
        var note = Note(title: "New")
        try db.insert(&note)
        #expect(note.id == 4)
        try db.insertAll([Note(title: "a"), Note(title: "b")])
        #expect(try db.count(Note.all) == 6)
    }

    /// Q15 inserting or replacing, upserting
    func q15() throws {
        try db.execute("INSERT OR REPLACE INTO note(id, title) VALUES (1, 'Baker')")
        try db.upsert(Note(id: 2, title: "Miller"), onConflict: ["id"])
        #expect(try db.fetchAll(Note.order { $0.id }).map(\.title) == ["Baker", "Miller", "Well"])
    }

    /// Q16 selecting
    func q16() throws {
        let notes = try db.fetchAll(Note.filter { $0.stars > 3 }.order { $0.title.descending }.limit(5, offset: 0))
        #expect(notes.map(\.title) == ["Well"])
    }

    /// Q17 some columns
    func q17() throws {
        let pairs: [(String, Int?)] = try db.fetchAll(Note.order { $0.id }.select { ($0.title, $0.stars) })
        #expect(pairs.map(\.1) == [3, nil, 5])
    }

    /// Q18 optional columns
    func q18() throws {
        #expect(try db.fetchAll(Note.filter { $0.stars == nil }).map(\.title) == ["Mill"])
    }

    /// Q19 operators and functions in SQL
    func q19() throws {
        #expect(try db.count(Note.filter { $0.title.like("%ll") && !($0.stars == 5) }) == 1)
        #expect(try db.count(Note.filter { SQLPredicate("lower(\($0.title)) = 'mill'") }) == 1)
    }

    /// Q20 aggregates
    func q20() throws {
        #expect(try db.count(Note.all) == 3 && db.fetchOne(Note.select { $0.stars.max() }) == 5)
        #expect(try db.fetchOne(Double.self, "SELECT avg(stars) FROM note") == 4)
    }

    /// Q21 joins
    func q21() throws {
        struct Tag: SQLRecord {
            var id: Int64?
            var note: Int64
            var name: String
            static let table = SQLTable(of: Tag.self) {
                $0.id.primaryKey()
                $0.note.references(Note.self)
                $0.name
            }
        }
        try db.create(Tag.table)
        try db.insert(Tag(note: 3, name: "deep"))
        #expect(try db.fetchAll(Tag.join(Note.self)).map(\.1.title) == ["Well"])
    }

    /// Q39 recursive queries
    func q39() throws {
        struct Step: SQLRecord {
            var id: Int64?
            var place: Int
        }
        let steps = Note.filter { $0.id == 1 }.select { ($0.id, SQLExpression<Int>("0")) }
            .unionAll(Note.join(Step.self) { $0.id == $1.id + 1 }.select { ($0.id, $1.place + 1) })
        #expect(try db.fetchAll(Step.with(Step.self, as: steps).order { $0.place }).map(\.id) == [1, 2, 3])
    }

    /// Q22 updating and deleting
    func q22() throws {
        #expect(try db.updateAll(Note.filter { $0.id == 1 }) { _, set in set(\.stars, to: 4) } == 1)
        #expect(try db.deleteAll(Note.filter { $0.stars == nil }) == 1)
    }

    /// Q23 codable types
    func q23() throws {
        struct Row: Codable, Equatable {
            var title: String
            var stars: Int?
        }
        try db.insert(Row(title: "Codable", stars: 2), into: "note")
        #expect(try db.fetchAll(Row.self, "SELECT title, stars FROM note WHERE stars = 2") == [Row(title: "Codable", stars: 2)])
    }

    /// Q24 types of your own
    func q24() throws {
        struct Rating: SQLValueConvertible {
            var stars: Int
            var sqlValue: SQLValue { .integer(Int64(stars)) }
            init?(sqlValue: SQLValue) {
                guard case .integer(let stars) = sqlValue else { return nil }
                self.stars = Int(stars)
            }
        }
        #expect(try db.fetchOne(Rating.self, "SELECT stars FROM note WHERE id = 3")?.stars == 5)
    }

    /// Q25 dates, UUIDs and bytes as they are stored
    func q25() throws {
        let store = try desk.open { $0.valueProfile = .sqliteSwift }, id = UUID()
        #expect(try store.fetchOne(String.self, "SELECT \(id)") == id.uuidString)
        #expect(try store.fetchOne(String.self, "SELECT \(Date(timeIntervalSince1970: 0.25))") == "1970-01-01T00:00:00.250")
        #expect(try store.fetchOne(Data.self, "SELECT \(Data([1, 0]))") == Data([1, 0]))
    }

    // MARK: The schema

    /// Q26 transactions and savepoints
    func q26() throws {
        let left = try db.transaction { db in
            try db.savepoint { db in try db.execute("DELETE FROM note WHERE id = 1") }
            return try db.count(Note.all)
        }
        #expect(left == 2)
    }

    /// Q27 altering tables
    func q27() throws {
        try db.main.addColumn(SQLColumn("body", .text), to: "note")
        try db.main.renameColumn("body", to: "text", of: "note")
        try db.main.renameTable("note", to: "memo")
        try db.main.dropColumn("text", from: "memo")
        #expect(try db.main.columns(of: "memo").map(\.name) == ["id", "title", "stars"])
    }

    /// Q28 indexes
    func q28() throws {
        try db.execute("CREATE UNIQUE INDEX note_title ON note(title)")
        #expect(try db.main.table("note")?.indexes.map(\.isUnique) == [true])
        try db.main.dropIndex("note_title")
        #expect(try db.main.table("note")?.indexes == [])
    }

    /// Q29 migrations
    func q29() throws {
        try db.main.setUserVersion(1)
        var migrator = Migrator()
        migrator.add("notes") { db in try db.create(Note.table) }
        migrator.add("tags") { db in try db.execute("CREATE TABLE tag(name TEXT)") }
        migrator.adopt(userVersions: [1: "notes"])
        try migrator.migrate(db)
        #expect(try db.main.hasTable("tag") && db.count(Note.all) == 3)
    }

    /// Q30 attaching
    func q30() throws {
        let archive = try db.attach(.file(desk.file("archive.db")), as: "archive", key: desk.key)
        try db.execute("CREATE TABLE archive.note AS SELECT * FROM main.note")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM archive.note") == 3)
        try archive.detach()
    }

    /// Q31 pragmas
    func q31() throws {
        #expect(try db.main.setUserVersion(2) == 2 && db.settings.isEnabled(.foreignKeys))
    }

    // MARK: More

    /// Q32 full-text tables
    func q32() throws {
        try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        #expect(try db.fullText("note_fts").search("wel").hits.map(\.rowID) == [3])
    }

    /// Q33 functions, aggregates, collations
    func q33() throws {
        struct Longest: SQLAggregate {
            var text = ""
            mutating func step(_ arguments: borrowing FunctionArguments) throws {
                let next: String = try arguments.get(0)
                if next.count > text.count { text = next }
            }
            func finish() -> String { text }
        }
        try db.register(.function("shout", .deterministic) { (text: String) in text.uppercased() })
        try db.register(.aggregate("longest", arguments: 1, .deterministic) { Longest() })
        #expect(try db.fetchOne(String.self, "SELECT shout(longest(title)) FROM note") == "BAKERY")
    }

    /// Q34 hooks
    func q34() throws {
        var seen: [String] = []
        let token = try db.addUpdateHook { change in seen.append("\(change.table) \(change.rowID)") }
        try db.execute("UPDATE note SET stars = 0 WHERE id = 3")
        token.remove()
        #expect(seen == ["note 3"])
    }

    /// Q35 a trace
    func q35() throws {
        var seen: [String] = []
        let token = try db.addTraceHook(showingValues: true) { event in seen.append(event.sql) }
        try db.execute("UPDATE note SET stars = \(4)")
        token.remove()
        #expect(seen.contains("UPDATE note SET stars = 4"))
    }

    /// Q36 a backup
    func q36() throws {
        let copy = try Connection(.memory, key: desk.key)
        try db.main.backup(to: copy.main)
        #expect(try copy.count(Note.all) == 3)
    }

    /// Q37 interrupting
    func q37() throws {
        let handle = try db.interruptHandle
        try db.register(.function("stop") { () -> Int in
            handle.interrupt()
            return 1
        })
        let error = #expect(throws: DatabaseError.self) {
            try db.fetchOne(Int.self, "WITH RECURSIVE n(i) AS (SELECT stop() UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n LIMIT 1")
        }
        #expect(error?.code == .interrupted)
    }

    /// Q38 several threads
    func q38() async throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        #expect(try await queue.read { db in try db.count(Note.all) } == 3)
    }
}

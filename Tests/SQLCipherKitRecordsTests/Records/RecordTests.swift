import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Writing records, and reading them by their key.
@Suite struct RecordTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.execute(Note.creation)
    }

    /// The statements that `body` runs, apart from savepoints and looks at the schema.
    private func statements(_ body: () throws -> Void) throws -> [String] {
        var seen: [String] = []
        let token = try db.addTraceHook { event in if event.kind == .started { seen.append(event.sql) } }
        defer { token.remove() }
        try body()
        return seen.filter { sql in !["PRAGMA", "SAVEPOINT", "RELEASE", "SELECT type, name"].contains { sql.hasPrefix($0) } }
    }

    @Test func insertFillsInTheNewID() throws {
        var note = Note(title: "Plan", tags: ["a", "b"])
        try db.insert(&note)
        #expect(note == Note(id: 1, title: "Plan", stars: nil, tags: ["a", "b"]))
        var other = Note(id: 7, title: "Other", stars: 5)
        try db.insert(&other)
        #expect(other.id == 7 && other.stars == 5)
        try db.insert(Note(title: "Third"))
        #expect(db.lastInsertedRowID == 8)
        #expect(try db.fetchAll(Note.all.select { $0.stars }) == [nil, 5, nil])
    }

    private struct Misspelt: SQLRecord {
        var id: Int
        var created = Date(timeIntervalSince1970: 1)
        static let tableName = "event"
        static let columnProfiles: [String: ValueProfile] = ["Created": .sap]
    }

    @Test func valueProfileOfUnknownColumnIsRefused() throws {
        try db.execute("CREATE TABLE event(id INTEGER PRIMARY KEY, created)")
        let error = #expect(throws: DatabaseError.self) { try db.insert(Misspelt(id: 1)) }
        #expect(error?.reason == .invalidArgument && error?.message.contains("Created") == true)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM event") == 0)
    }

    /// A statement for the key of before would change the wrong rows.
    @Test func recreatedTableUsesItsNewKey() throws {
        struct Pair: SQLRecord {
            var a = 1, b: Int, text: String
            static let tableName = "pair"
        }
        try db.execute("CREATE TABLE pair(a INTEGER PRIMARY KEY, b, text)")
        try db.insert(Pair(b: 2, text: "old"))
        try db.update(Pair(b: 2, text: "changed"))
        try db.execute(SQLScript("DROP TABLE pair; CREATE TABLE pair(a, b INTEGER PRIMARY KEY, text)"))
        for b in 1...3 { try db.insert(Pair(b: b, text: "new")) }
        try db.update(Pair(b: 2, text: "changed"))
        try db.delete(Pair(b: 3, text: ""))
        #expect(try db.fetchAll(String.self, "SELECT b || text FROM pair ORDER BY b") == ["1new", "2changed"])
    }

    @Test func recordCallsRunTheExpectedSQL() throws {
        var note = Note(title: "Plan")
        try db.insert(&note)
        let columns = #"("id", "title", "stars", "tags") VALUES (?, ?, ?, ?)"#
        #expect(try statements { try db.insert(Note(title: "x")) } == [#"INSERT INTO "note""# + columns])
        var second = Note(title: "y")
        #expect(try statements { try db.insert(&second) } == [#"INSERT INTO "note""# + columns + " RETURNING *"])
        #expect(try statements { try db.upsert(&note) } == [
            #"INSERT INTO "note""# + columns
                + #" ON CONFLICT("id") DO UPDATE SET "title" = excluded."title", "stars" = excluded."stars", "tags" = excluded."tags" RETURNING *"#
        ])
        #expect(try statements { try db.update(note) } == [
            #"UPDATE "note" SET "title" = ?2, "stars" = ?3, "tags" = ?4 WHERE "id" = ?1"#
        ])
        #expect(try statements { try db.delete(note) } == [#"DELETE FROM "note" WHERE "id" = ?1"#])
    }

    @Test func insertIgnoresOrReplacesOnConflict() throws {
        try db.insert(Note(id: 1, title: "Plan"))
        let error = #expect(throws: DatabaseError.self) { try db.insert(Note(id: 2, title: "Plan")) }
        #expect(error?.code == .constraintUnique)
        var ignored = Note(id: 2, title: "Plan", stars: 9)
        try db.insert(&ignored, onConflict: .ignore)
        #expect(ignored.stars == 9)
        #expect(try db.count(Note.all) == 1)
        try db.insert(Note(id: 2, title: "Plan"), onConflict: .replace)
        #expect(try db.fetchAll(Note.all.select { $0.id }) == [2])
    }

    @Test func upsertKeepsTheRow() throws {
        try db.execute("CREATE TABLE child(note INTEGER REFERENCES note(id) ON DELETE CASCADE)")
        var note = Note(title: "Plan", stars: 1)
        try db.upsert(&note)
        try db.execute("INSERT INTO child VALUES (1)")
        note.stars = 4
        try db.upsert(note)
        #expect(try db.fetchOne(Note.self, id: 1)?.stars == 4)
        var same = Note(title: "Plan", stars: 5)
        try db.upsert(&same, onConflict: ["title"])
        #expect(same.id == 1 && same.stars == 5)
        #expect(try db.count(Note.all) == 1)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM child") == 1)
    }

    @Test func updateRefreshAndDeleteFindRecordByKey() throws {
        var note = Note(title: "Plan")
        try db.insert(&note)
        note.title = "Better plan"
        note.stars = nil
        try db.update(note)
        #expect(try db.fetchOne(Note.self, id: note.id) == note)
        try db.execute("UPDATE note SET stars = 2")
        try db.refresh(&note)
        #expect(note.stars == 2)
        #expect(try db.exists(Note.self, id: 1))
        #expect(try db.delete(note))
        #expect(try !db.delete(note))
        #expect(try !db.exists(Note.self, id: 1))
        #expect(throws: DatabaseError.self) { try db.update(note) }
        let error = #expect(throws: DatabaseError.self) { try db.refresh(&note) }
        #expect(error?.reason == .recordNotFound)
        #expect(note.title == "Better plan")
        #expect(try db.fetchOne(Note.self, id: 1) == nil)
        #expect(try !db.delete(Note.self, id: 1))
    }

    @Test func updateFromWritesOnlyChangedColumns() throws {
        var note = Note(title: "Plan", stars: 1)
        try db.insert(&note)
        let before = note
        // Another connection changes another column meanwhile.
        try db.execute("UPDATE note SET title = 'Theirs'")
        note.stars = 5
        note.tags = ["x"]
        #expect(try db.updateChanges(note, from: before) == ["stars", "tags"])
        #expect(try db.fetchOne(Note.self, id: 1) == Note(id: 1, title: "Theirs", stars: 5, tags: ["x"]))
        #expect(try db.updateChanges(note, from: note) == [])
        // A row with a changed key is found by its former key.
        var moved = note
        moved.id = 10
        #expect(try db.updateChanges(moved, from: note) == ["id"])
        #expect(try db.fetchAll(Note.all.select { $0.id }) == [10])
        let error = #expect(throws: DatabaseError.self) { try db.updateChanges(moved, from: note) }
        #expect(error?.reason == .recordNotFound)
    }

    @Test func insertAllIsAllOrNothing() throws {
        try db.insertAll((0..<10).map { Note(title: "\($0)") })
        #expect(try db.count(Note.all) == 10)
        #expect(throws: DatabaseError.self) { try db.insertAll([Note(title: "new"), Note(title: "3")]) }
        #expect(try db.count(Note.all) == 10)
        var more = [Note(title: "a"), Note(title: "b")]
        try db.insertAll(&more)
        #expect(more.map(\.id) == [11, 12])
        #expect(more.map(\.stars) == [nil, nil])
        var failing = [Note(title: "c"), Note(title: "a")]
        #expect(throws: DatabaseError.self) { try db.insertAll(&failing) }
        #expect(failing.map(\.id) == [nil, nil])
        #expect(try db.count(Note.all) == 12)
        // Inside of a transaction it is a savepoint.
        try db.transaction { db in
            try db.insert(Note(title: "before"))
            #expect(throws: DatabaseError.self) { try db.insertAll([Note(title: "c"), Note(title: "a")]) }
        }
        #expect(try db.count(Note.all) == 13)
    }

    struct Odd: SQLRecord {
        var id: Int64?
        var value: Int
        static let tableName = "odd"
    }

    @Test func unreadableReturningRowUndoesInsert() throws {
        try db.execute("CREATE TABLE odd(id INTEGER PRIMARY KEY, value TEXT)")
        // The column's affinity makes text of the number, which is no Int.
        var odd = Odd(value: 3)
        #expect(throws: DatabaseError.self) { try db.insert(&odd) }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM odd") == 0)
        #expect(!db.isInTransaction)
    }

    struct Enrolment: SQLRecord, Equatable {
        var student: Int64
        var course: String
        var grade: Int?

        static let table = SQLTable(of: Enrolment.self, options: [.withoutRowID, .strict]) {
            $0.student
            $0.course
            $0.grade
            SQLConstraint.primaryKey($0.student, $0.course)
        }
    }

    @Test func compositePrimaryKeysFindRecords() throws {
        try db.create(Enrolment.table)
        var one = Enrolment(student: 1, course: "algebra")
        try db.insert(&one)
        try db.insert(Enrolment(student: 1, course: "music", grade: 2))
        one.grade = 3
        try db.update(one)
        #expect(try db.fetchOne(Enrolment.self, id: 1, "algebra") == one)
        #expect(try db.fetchOne(Enrolment.self, id: 2, "algebra") == nil)
        try db.upsert(Enrolment(student: 1, course: "music", grade: 1))
        #expect(try db.fetchOne(Enrolment.self, id: 1, "music")?.grade == 1)
        #expect(try db.exists(Enrolment.self, id: 1, "music"))
        #expect(try db.delete(Enrolment.self, id: 1, "music"))
        #expect(try db.fetchAll(Enrolment.all) == [one])
        for wrong in [1, 3] {
            let error = #expect(throws: DatabaseError.self) {
                switch wrong {
                case 1: _ = try db.fetchOne(Enrolment.self, id: 1)
                default: _ = try db.delete(Enrolment.self, id: 1, "music", 3)
                }
            }
            #expect(error?.reason == .invalidArgument)
        }
    }

    struct Link: SQLRecord, Equatable {
        var a: Int
        var b: Int
        static let table = SQLTable(of: Link.self) {
            $0.a
            $0.b
            SQLConstraint.primaryKey($0.a, $0.b)
        }
    }

    @Test func recordOfKeyColumnsUpsertsAndRefusesUpdate() throws {
        try db.create(Link.table)
        var link = Link(a: 1, b: 2)
        try db.upsert(&link)
        try db.upsert(&link)
        #expect(try db.fetchAll(Link.all) == [link])
        let error = #expect(throws: DatabaseError.self) { try db.update(link) }
        #expect(error?.reason == .misuse)
    }

    struct Person: SQLRecord, Equatable {
        var id: Int64?
        var first: String
        var last: String
        var full: String?
        static let table = SQLTable(of: Person.self) {
            $0.id.primaryKey()
            $0.first.named("first_name")
            $0.last.named("last_name")
            $0.full.generated(as: "first_name || ' ' || last_name", .stored)
        }
        enum CodingKeys: String, CodingKey { case id, first = "first_name", last = "last_name", full }
    }

    @Test func generatedColumnsAreReadAndNotWritten() throws {
        try db.create(Person.table)
        var person = Person(first: "Ada", last: "Lovelace")
        try db.insert(&person)
        #expect(person.full == "Ada Lovelace")
        person.last = "King"
        person.full = "nonsense"
        try db.update(person)
        try db.refresh(&person)
        #expect(person.full == "Ada King")
        let before = person
        person.first = "A."
        person.full = "nonsense"
        #expect(try db.updateChanges(person, from: before) == ["first_name"])
        try db.upsert(&person)
        #expect(person.full == "A. King")
        #expect(try db.fetchAll(Person.filter { $0.first == "A." && $0.full == "A. King" }).count == 1)
        // The same from the database, without a description.
        try db.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, a INT, b INT AS (a + 1))")
        var plain = Plain(a: 1)
        try db.insert(&plain)
        #expect(plain.b == 2)
    }

    struct Plain: SQLRecord {
        var id: Int64?
        var a: Int
        var b: Int?
    }

    @Test func changedPrimaryKeyIsNoticed() throws {
        try db.insertAll([Note(title: "a"), Note(title: "b")])
        // The same table, with another key.
        try db.execute("DROP TABLE note")
        try db.execute("CREATE TABLE note(id INTEGER, title TEXT PRIMARY KEY, stars INT, tags TEXT)")
        try db.insertAll([Note(id: 1, title: "a", stars: 0), Note(id: 1, title: "b", stars: 0)])
        try db.update(Note(id: 1, title: "a", stars: 5))
        #expect(try db.fetchAll(Note.order { $0.title }.select { $0.stars }) == [5, 0])
    }

    @Test func recordsWithoutTableOrPrimaryKeyThrow() throws {
        struct Missing: SQLRecord { var id = 1 }
        let missing = #expect(throws: DatabaseError.self) { try db.insert(Missing()) }
        #expect(missing?.message.contains("missing") == true)
        try db.execute("CREATE TABLE keyless(x)")
        struct Keyless: SQLRecord { var x = 1 }
        try db.insert(Keyless())
        for action in 0..<4 {
            let error = #expect(throws: DatabaseError.self) {
                var keyless = Keyless()
                switch action {
                case 0: try db.update(keyless)
                case 1: try db.delete(keyless)
                case 2: try db.refresh(&keyless)
                default: try db.upsert(keyless)
                }
            }
            #expect(error?.message == "the table keyless has no primary key")
        }
    }

    struct Odds: SQLRecord, Equatable {
        var id: Int64?
        @ColumnDefault var word: String?
        @ColumnDefault var text: String?
        @ColumnDefault var isTrue: Bool?
        @ColumnDefault var sum: Int?
        @ColumnDefault var day: String?
        @ColumnDefault var none: String?
    }

    @Test func insertFillsInEveryKindOfColumnDefault() throws {
        // As old files have them: SQLite takes a bare word for text.
        try db.execute(
            """
            CREATE TABLE odds(id INTEGER PRIMARY KEY, word DEFAULT hello, text DEFAULT 'it''s; --', isTrue DEFAULT true,
                sum DEFAULT (1 + max(2, 3)), day DEFAULT CURRENT_DATE, none DEFAULT NULL)
            """)
        var odds = Odds()
        try db.insert(&odds)
        try db.execute("INSERT INTO odds DEFAULT VALUES")
        var theirs = try #require(try db.fetchOne(Odds.self, id: 2))
        theirs.id = 1
        #expect(odds == theirs)
        #expect(odds.word == "hello" && odds.text == "it's; --" && odds.isTrue == true && odds.sum == 4 && odds.day?.count == 10)
        // The same where it is the key's.
        try db.execute("CREATE TABLE keyed(id TEXT PRIMARY KEY DEFAULT made, x INT DEFAULT 7)")
        var keyed = Keyed()
        try db.insert(&keyed)
        #expect(keyed == Keyed(id: "made", x: nil))
    }

    struct Keyed: SQLRecord, Equatable {
        var id: String?
        var x: Int?
    }

    struct Stamp: SQLRecord, Equatable {
        var id: Int64?
        var at: Date
        var kind: Kind
        var data: Data
        var uuid: UUID
        enum Kind: String, Codable, SQLValueConvertible { case start, end }
        static let table = SQLTable(of: Stamp.self, options: .strict) {
            $0.id.primaryKey()
            $0.at
            $0.kind
            $0.data
            $0.uuid
        }
    }

    @Test(arguments: [DateStrategy.iso8601, .realSeconds]) func dateStrategiesRoundTripInRecords(strategy: DateStrategy) throws {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile.dates = strategy
        let db = try Connection(.file(folder.path("b.db")), key: .passphrase("secret").quick, configuration: configuration)
        try db.create(Stamp.table)
        #expect(try Stamp.table.createStatements()[0].text == """
            CREATE TABLE "stamp"("id" INTEGER PRIMARY KEY, "at" ANY NOT NULL, "kind" ANY NOT NULL, "data" BLOB NOT NULL, \
            "uuid" ANY NOT NULL) STRICT
            """)
        let date = Date(timeIntervalSince1970: 1_000_000.25)
        var stamp = Stamp(at: date, kind: .end, data: Data([0, 1]), uuid: UUID())
        try db.insert(&stamp)
        #expect(try db.fetchAll(Stamp.filter { $0.at == date && $0.kind == .end && $0.data == Data([0, 1]) && $0.uuid == stamp.uuid }) == [stamp])
        var later = stamp
        later.at += 0.0001
        // Less than ISO 8601 can tell.
        #expect(try db.updateChanges(later, from: stamp) == (strategy == .iso8601 ? [] : ["at"]))
    }

    @Test func killedInsertAllLeavesNoRows() throws {
        // Nothing of insertAll stays where the process dies before its end.
        let path = folder.path("c.db")
        do {
            let made = try Connection(.file(path), key: .passphrase("secret").quick)
            try made.execute(Note.creation)
        }
        let driver = try BuildProducts.executable("FaultDriver")
        let process = try Command(driver, ["records-insert", path, "secret"])
        try process.waitForOutput("half")
        kill(process.process.processIdentifier, SIGKILL)
        _ = try process.end()
        let again = try Connection(.file(path), key: .passphrase("secret").quick)
        #expect(try again.count(Note.all) == 0)
        #expect(try again.main.integrityCheck() == [])
    }
}

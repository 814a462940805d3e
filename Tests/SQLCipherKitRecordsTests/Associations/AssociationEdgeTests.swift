import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private typealias Folder = Library.Folder

/// Associations in rare cases: no description, keys of several kinds or columns, attached databases, changes from elsewhere.
@Suite struct AssociationEdgeTests {
    struct Maker: SQLRecord, Equatable {
        var land: String
        var code: String
        static let wares = hasMany(Ware.self)
    }

    struct Ware: SQLRecord, Equatable {
        var id: Int64?
        var land: String?
        var code: String?
        static let maker = belongsTo(Maker.self)
        static let byCode = belongsTo(Maker.self, by: \.code, to: \.code)
    }

    @Test func associationsReadForeignKeysOfUndescribedTables() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.execute("CREATE TABLE maker(land TEXT, code TEXT, PRIMARY KEY(land, code))")
        try db.execute(
            "CREATE TABLE ware(id INTEGER PRIMARY KEY, land TEXT, code TEXT, FOREIGN KEY(land, code) REFERENCES maker(land, code))")
        try db.insertAll([Maker(land: "IT", code: "x"), Maker(land: "PL", code: "y")])
        try db.insertAll([Ware(land: "PL", code: "y"), Ware()])
        #expect(try db.fetchAll(Ware.order { $0.id }.including(Ware.maker)).map { $0.1?.land } == ["PL", nil])
        #expect(try db.fetchAll(Maker.order { $0.land }.including(Maker.wares)).map { $0.1.map(\.id) } == [[], [1]])
        #expect(try db.fetchAll(Ware.order { $0.id }.including(Ware.byCode)).map { $0.1?.land } == ["PL", nil])
        #expect(try db.fetchOne(Ware.byCode.of(Ware(code: "x")))?.land == "IT")
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Ware.filter { Ware.maker.of($0).exists }) }
        #expect(error?.message.contains("name both properties of an association (by: and to:)") == true)
    }

    struct Person: SQLRecord, Equatable {
        var id: Int64?
        static let table = SQLTable(of: Person.self) { $0.id.primaryKey() }
        static let letters = hasMany(Letter.self)
        static let received = hasMany(Letter.self, by: \.receiver)
        static let hidden = hasMany(Letter.self, by: \.shown)
        static let books = hasMany(Ware.self)
        static let friends = hasMany(Person.self, through: Letter.self, from: \.sender, to: \.receiver)
    }

    struct Letter: SQLRecord, Equatable {
        var id: Int64?
        var sender: Int64
        var receiver: Int64
        var shown: Bool { sender == receiver }
        static let table = SQLTable(of: Letter.self) {
            $0.id.primaryKey()
            $0.sender.references(Person.self)
            $0.receiver.references(Person.self)
        }
    }

    @Test func ambiguousForeignKeyMustBeNamed() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.create(Person.table)
        try db.create(Letter.table)
        try db.insertAll([Person(), Person(), Person()])
        try db.insertAll([Letter(sender: 1, receiver: 2), Letter(sender: 3, receiver: 2), Letter(sender: 1, receiver: 3)])
        let several = #expect(throws: DatabaseError.self) { try db.fetchAll(Person.including(Person.letters)) }
        #expect(several?.message == """
            several foreign keys link person with letter: name the property that refers \
            (letter(sender) to person; letter(receiver) to person)
            """)
        #expect(throws: DatabaseError.self) { try db.fetchAll(Person.including(Person.hidden)) }
        let none = #expect(throws: DatabaseError.self) { try db.fetchAll(Person.filter { Person.books.of($0).exists }) }
        #expect(none?.reason == .misuse)
        let rows = try db.fetchAll(Person.order { $0.id }.including(Person.received.order { $0.id }, Person.friends.order { $0.id }))
        #expect(rows.map { $0.1.map(\.id) } == [[], [1, 2], [3]])
        #expect(rows.map { $0.2.map(\.id) } == [[2, 3], [], [2]])
    }

    struct Value: SQLRecord {
        var id: Int64
        var key: SQLValue
        init(from decoder: any Decoder) throws { (id, key) = (try decoder.container(keyedBy: Keys.self).decode(Int64.self, forKey: .id), .null) }
        func encode(to encoder: any Encoder) throws {}
        enum Keys: CodingKey { case id, key }
        static let table = SQLTable(of: Value.self) {
            $0.id.named("id").primaryKey()
            $0.key.named("key")
        }
        static let others = belongsTo(Other.self, by: \.key, to: \.mark)
    }

    struct Other: SQLRecord {
        var place: Int64
        var mark: Int { 0 }
        static let table = SQLTable(of: Other.self) {
            $0.place.primaryKey()
            $0.mark.named("mark")
        }
    }

    @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"]) func associationKeysOfAnyTypeMatchSQLEquality(encoding: String) throws {
        let db = try Connection(.memory)
        try db.execute(SQL(raw: "PRAGMA encoding = '\(encoding)'"))
        try db.execute("CREATE TABLE value(id INTEGER PRIMARY KEY, key)")
        try db.execute("CREATE TABLE other(place INTEGER PRIMARY KEY, mark)")
        let keys = ["1", "2", "1.5", "-0.0", "9e999", "'1'", "''", "'a' || char(0) || 'b'", "char(1, 0, 1, 3, 0, 2)", "'é😀'", "x''", "x'00'", "x'31'", "NULL", "9223372036854775807"]
        for key in keys {
            try db.execute(SQL(raw: "INSERT INTO value(key) VALUES (\(key))"))
            try db.execute(SQL(raw: "INSERT INTO other(mark) VALUES (\(key))"))
        }
        let expected: [Int64?] = try db.fetchAll("SELECT place FROM value LEFT JOIN other ON mark = key ORDER BY id")
        let found = try db.fetchAll(Value.order { $0[column: "id", as: Int64.self] }.including(Value.others))
        #expect(found.map { $0.1?.place } == expected && expected.compactMap { $0 }.count == keys.count - 1)
    }

    @Test func associationStaysInItsAttachedDatabase() throws {
        let made = try EncryptedDatabase(), db = made.db
        let main = Library.Content(seed: 1)
        var other = Library.Content(seed: 2)
        other.notes = other.notes.filter { $0.stars > 3 }
        other.links = other.links.filter { link in other.notes.contains { $0.id == link.note } }
        other.comments = []
        try main.insert(into: db)
        let archive = try db.attach(.memory, as: "archive", key: .plaintext)
        for table in Library.tables { try archive.create(table) }
        try db.insertAll(other.folders.map { Folder(id: $0.id, parent: nil, name: $0.name) }, in: archive)
        try db.insertAll(other.tags, in: archive)
        try db.insertAll(other.notes, in: archive)
        try db.insertAll(other.links, in: archive)
        let rows = try db.fetchAll(Folder.in(archive).order { $0.id }.including(Folder.notes.order { $0.id }.including(Library.Note.tags)))
        #expect(rows.map { $0.1.map(\.0) } == other.folders.map { other.notes(of: $0) })
        #expect(rows.flatMap { $0.1 }.map(\.1.count) == rows.flatMap { $0.1 }.map { other.tags(of: $0.0).count })
        let counts = try db.fetchAll(Folder.in(archive).order { $0.id }.annotated { Folder.notes.of($0).count })
        #expect(counts.map(\.1) == other.folders.map { other.notes(of: $0).count })
    }

    @Test func associationOfManyKeysIsOneStatement() throws {
        let made = try EncryptedDatabase(), db = made.db
        for table in Library.tables { try db.create(table) }
        try db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 33000) INSERT INTO folder SELECT i, NULL, '' FROM n")
        try db.insert(Library.Note(id: 1, folder: 32_999, stars: 1))
        let query = Library.QuickFolder.including(Library.QuickFolder.notes)
        let one = try db.statements { _ = try db.fetchAll(query.filter { $0.id == 1 }) }
        var rows: [(Library.QuickFolder, [Library.QuickNote])] = []
        let all = try db.statements { rows = try db.fetchAll(query) }
        #expect(all.count == 2 && all.last == one.last)
        #expect(rows.count == 33_000 && rows.first { !$0.1.isEmpty }?.0.id == 32_999)
    }

    @Test func observationTracksAllTablesOfAnAssociation() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("secret").quick)
        try await pool.write { db in for table in Library.tables { try db.create(table) } }
        let query = Folder.order { $0.id }.including(Folder.notes.order { $0.id }.including(Library.Note.tags))
        var elements = pool.observe { db in
            try db.fetchAll(query).map { folder, notes in "\(folder.name): \(notes.map { "\($0.0.stars)\($0.1.map(\.name))" })" }
        }.makeAsyncIterator()
        #expect(try await elements.next() == [])
        try await pool.write { db in try db.insert(Folder(id: 1, name: "a")) }
        #expect(try await elements.next() == ["a: []"])
        try await pool.write { db in try db.insert(Library.Note(id: 1, folder: 1, stars: 3)) }
        #expect(try await elements.next() == ["a: [\"3[]\"]"])
        try await pool.write { db in
            try db.insert(Library.Tag(name: "t", color: 1))
            try db.insert(Library.Link(note: 1, tag: "t"))
        }
        #expect(try await elements.next() == ["a: [\"3[\\\"t\\\"]\"]"])
        // The region of one reading includes all tables, even where there was nothing to ask them for.
        let empty = Folder.filter { $0.id == -1 }.including(Folder.notes.including(Library.Note.tags))
        let tables = try await pool.read { db in try db.recordingReads { db in _ = try db.fetchAll(empty) }.1.tables.map(\.name) }
        #expect(Set(tables) == ["folder", "note", "link", "tag"])
    }
}

import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A program for each row of the article "From DataLiteCore".
@Suite struct DataLiteCorePorts {
    static let programs: [Port] = Port.list(Self.init, [
        "D1": d1, "D2": d2, "D3": d3, "D4": d4, "D5": d5, "D6": d6, "D7": d7, "D8": d8, "D9": d9, "D10": d10,
        "D11": d11, "D12": d12, "D13": d13, "D14": d14, "D15": d15, "D16": d16, "D17": d17, "D18": d18,
        "D20": d20, "D21": d21, "D22": d22, "D23": d23, "D24": d24, "D25": d25, "D26": d26, "D27": d27,
        "D28": d28, "D29": d29, "D30": d30, "D31": d31, "D32": d32, "D33": d33, "D34": d34, "D35": d35,
        "D36": d36, "D37": d37, "D38": d38, "D39": d39, "D40": d40, "D41": d41, "D42": d42, "D43": d43,
        "D44": d44, "D45": d45, "D46": d46, "D47": d47, "D48": d48, "D49": d49, "D50": d50, "D51": d51,
        "E1": e1, "E2": e2, "E3": e3, "E4": e4, "E5": e5, "E6": e6, "E7": e7, "E8": e8, "E9": e9, "E10": e10,
        "E11": e11, "E12": e12, "E13": e13,
    ], async: [
        "D19": d19,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws { desk = try ExampleDesk() }

    struct Product: SQLAggregate {
        var product = 1
        mutating func step(_ arguments: borrowing FunctionArguments) throws { product *= try arguments.get(0) ?? 1 }
        func finish() -> Int { product }
    }

    enum Mood: String, SQLValueConvertible { case calm, loud }

    // MARK: The connection

    /// D1 places
    func d1() throws {
        #expect(try Connection(.memory).location == .memory)
        #expect(try Connection(.temporary).fetchOne(Int.self, "SELECT 1") == 1)
        #expect(try Connection(.file(desk.path), key: desk.key).main.path == desk.path)
    }

    /// D2 folders and permissions
    func d2() throws {
        var configuration = DatabaseConfiguration()
        configuration.createsFolders = true
        _ = try Connection(.file(desk.file("a/new.db")), key: desk.key, configuration: configuration)
        let attributes = try FileManager.default.attributesOfItem(atPath: desk.file("a/new.db"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// D3 options of opening
    func d3() throws {
        let reader = try desk.open { $0.access = .readOnly }
        #expect(try reader.main.isReadOnly)
        try FileManager.default.createSymbolicLink(atPath: desk.file("link.db"), withDestinationPath: desk.path)
        var configuration = DatabaseConfiguration()
        configuration.followsSymbolicLinks = false
        #expect(desk.reason { _ = try Connection(.file(desk.file("link.db")), key: desk.key, configuration: configuration) }
            == .cannotOpen)
    }

    /// D4 a missing file
    func d4() throws {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        let error = #expect(throws: DatabaseError.self) {
            try Connection(.file(desk.file("none.db")), key: desk.key, configuration: configuration)
        }
        #expect(error?.reason == .cannotOpen && error?.path == desk.file("none.db"))
    }

    /// D5 the last reference closes
    func d5() throws {
        do { try desk.open().begin(.exclusive) }
        try db.execute("DELETE FROM note")
        #expect(db.changes == 3)
    }

    /// D6 whether there is a transaction
    func d6() throws {
        try db.begin()
        #expect(db.isInTransaction)
        try db.rollback()
        #expect(!db.isInTransaction)
    }

    /// D7 whether it can only be read
    func d7() throws {
        #expect(try !db.main.isReadOnly && desk.open { $0.access = .readOnly }.main.isReadOnly)
    }

    /// D8 waiting for a lock
    func d8() throws {
        #expect(try db.settings.setBusyTimeout(.milliseconds(1)) == .milliseconds(1))
        let other = try desk.open()
        try other.begin()
        #expect(desk.reason { try db.begin() } == .busy)
        try db.settings.setBusyHandler { attempts in attempts < 2 }
        #expect(desk.reason { try db.begin() } == .busy)
    }

    /// D9 the application's number
    func d9() throws {
        #expect(try db.main.setApplicationID(77) == 77)
        #expect(try db.main.applicationID == 77)
    }

    /// D10 the schema's number
    func d10() throws {
        #expect(try db.main.setUserVersion(3) == 3)
        #expect(try db.main.userVersion == 3)
    }

    /// D11 foreign keys
    func d11() throws {
        #expect(try db.settings.isEnabled(.foreignKeys))
        let off = try desk.open { $0.enforcesForeignKeys = false }
        #expect(try !off.settings.isEnabled(.foreignKeys))
    }

    /// D12 the journal
    func d12() throws {
        #expect(try db.main.setJournalMode(.wal) == .wal)
        #expect(try db.main.journalMode == .wal)
    }

    /// D13 how safely it writes
    func d13() throws {
        var durable = DatabaseConfiguration()
        durable.durability = .nothing
        #expect(try Connection(.memory, configuration: durable).fetchOne(Int.self, "PRAGMA synchronous") == 0)
    }

    // MARK: Hooks

    /// D14 hearing of changes
    func d14() throws {
        var rows: [Int64] = []
        let token = try db.addUpdateHook { change in rows.append(change.rowID) }
        try db.execute("UPDATE note SET stars = 1 WHERE id > 1")
        #expect(rows == [2, 3])
        token.remove()
    }

    /// D15 refusing a commit
    func d15() throws {
        struct Full: Error {}
        let token = try db.addCommitHook { throw Full() }
        let error = #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM note") }
        #expect(error?.underlyingError is Full)
        token.remove()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// D16 hearing of a rollback
    func d16() throws {
        var count = 0
        let token = try db.addRollbackHook { count += 1 }
        try db.begin()
        try db.execute("DELETE FROM note")
        try db.rollback()
        token.remove()
        #expect(count == 1)
    }

    /// D17 several observers
    func d17() throws {
        var seen: [String] = []
        let first = try db.addUpdateHook { _ in seen.append("a") }, second = try db.addUpdateHook { _ in seen.append("b") }
        try db.execute("UPDATE note SET stars = 1 WHERE id = 1")
        first.remove()
        try db.execute("UPDATE note SET stars = 2 WHERE id = 1")
        second.remove()
        #expect(seen.sorted() == ["a", "b", "b"])
    }

    /// D18 a trace
    func d18() throws {
        var seen: [String] = []
        let token = try db.addTraceHook(showingValues: true) { event in seen.append(event.sql) }
        try db.execute("UPDATE note SET stars = \(4)")
        token.remove()
        #expect(seen.contains("UPDATE note SET stars = 4"))
    }

    /// D19 one connection for several threads
    func d19() async throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await queue.write { try $0.execute("UPDATE note SET stars = 1 + ifnull(stars, 0)") } } }
            try await group.waitForAll()
        }
        #expect(try db.fetchAll(Int.self, "SELECT stars FROM note ORDER BY id") == [7, 4, 9])
    }

    // MARK: Functions

    /// D20 a function
    func d20() throws {
        try db.register(.function("shout", .deterministic) { (text: String) in text.uppercased() + "!" })
        #expect(try db.fetchOne(String.self, "SELECT shout(title) FROM note") == "BAKERY!")
    }

    /// D21 a function of any number of arguments
    func d21() throws {
        try db.register(.function("how_many", arguments: nil) { arguments in arguments.count })
        #expect(try db.fetchOne(Int.self, "SELECT how_many(1, 2, 'x')") == 3)
    }

    /// D22 an aggregate
    func d22() throws {
        try db.register(.aggregate("product", arguments: 1, .deterministic) { Product() })
        #expect(try db.fetchOne(Int.self, "SELECT product(stars) FROM note") == 15)
        #expect(try db.fetchOne(Int.self, "SELECT product(stars) FROM note WHERE 0") == 1)
    }

    /// D23 flags of functions
    func d23() throws {
        try db.register(.function("secret", .directOnly) { () in 7 })
        try db.execute("CREATE VIEW leak AS SELECT secret() AS s")
        #expect(desk.reason { _ = try db.fetchOne(Int.self, "SELECT s FROM leak") } == .engine)
        #expect(try db.fetchOne(Int.self, "SELECT secret()") == 7)
    }

    /// D24 errors of functions
    func d24() throws {
        struct Odd: Error {}
        try db.register(.function("odd") { () throws -> Int in throw Odd() })
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT odd()") }
        #expect(error?.reason == .callback && error?.underlyingError is Odd)
    }

    /// D25 removing a function
    func d25() throws {
        try db.register(.function("seven") { () in 7 })
        try db.unregister(.function("seven", arguments: 0))
        #expect(desk.reason { _ = try db.fetchOne(Int.self, "SELECT seven()") } == .engine)
    }

    /// D26 regular expressions
    func d26() throws {
        try db.register(.regularExpressions())
        #expect(try db.fetchAll(String.self, "SELECT title FROM note WHERE title REGEXP \("l+$")") == ["Mill", "Well"])
    }

    // MARK: Statements

    /// D27 a statement to keep
    func d27() throws {
        let insert = try db.prepare("INSERT INTO note(title) VALUES (?)", isPersistent: true)
        for title in ["a", "b"] { try insert.execute(binding: title) }
        #expect(db.lastInsertedRowID == 5)
    }

    /// D28 a statement's text
    func d28() throws {
        let statement = try db.prepare("SELECT title FROM note WHERE id = ?")
        try statement.bind([3])
        #expect(statement.sql.hasSuffix("id = ?") && statement.expandedSQL.hasSuffix("id = 3") && statement.isReadOnly)
    }

    /// D29 values by name
    func d29() throws {
        let statement = try db.prepare("SELECT title FROM note WHERE id = :id OR stars = $stars")
        #expect(try statement.fetchAll(String.self, ["id": 1, "$stars": 5]) == ["Bakery", "Well"])
    }

    /// D30 the parameters of a statement
    func d30() throws {
        let statement = try db.prepare("SELECT :a, ?, @b")
        #expect(statement.parameterCount == 3 && statement.parameterNames == [":a", nil, "@b"])
        #expect(statement.parameterIndex("@b") == 3)
    }

    /// D31 values by position
    func d31() throws {
        let statement = try db.prepare("SELECT ?2 || ?1 || ?2")
        #expect(try statement.fetchOne(String.self, ["a", "b"]) == "bab")
    }

    /// D32 stepping and resetting
    func d32() throws {
        let statement = try db.prepare("SELECT title FROM note WHERE id > ? ORDER BY id")
        try statement.bind(1, at: 1)
        #expect(try statement.step() && statement[0] == "Mill")
        try statement.reset()
        #expect(try statement.step() && statement["title"] == "Mill" && statement.step() && !statement.step())
    }

    /// D33 clearing values
    func d33() throws {
        let statement = try db.prepare("SELECT ?")
        try statement.bind(1, at: 1)
        try statement.clearBindings()
        #expect(try statement.step() && statement[0] == Int?.none)
    }

    /// D34 the columns of a statement
    func d34() throws {
        let statement = try db.prepare("SELECT id, title AS name, 1 + 1 FROM note")
        #expect(statement.columnCount == 3 && statement.columnNames.prefix(2) == ["id", "name"])
        #expect(statement.declaredTypes == ["INTEGER", "TEXT", nil])
    }

    /// D35 a column's value by index
    func d35() throws {
        let stars = try db.fetchOne((String, Int?).self, "SELECT title, stars FROM note WHERE id = 2")
        #expect(stars?.0 == "Mill" && stars?.1 == nil)
    }

    /// D36 a column's value by name
    func d36() throws {
        try db.forEach("SELECT * FROM note WHERE id = 3") { row in
            let stars: Int = try row["stars"]
            #expect(stars == 5)
        }
    }

    /// D37 types of your own
    func d37() throws {
        try db.execute("UPDATE note SET title = \(Mood.calm) WHERE id = 1")
        #expect(try db.fetchOne(Mood.self, "SELECT title FROM note") == .calm)
        #expect(desk.reason { _ = try db.fetchOne(Mood.self, "SELECT title FROM note WHERE id = 2") } == .typeMismatch)
    }

    /// D38 a script
    func d38() throws {
        try db.execute(SQLScript("CREATE TABLE a(x); INSERT INTO a VALUES ('; no end')"))
        #expect(try db.fetchOne(String.self, "SELECT x FROM a") == "; no end")
    }

    /// D39 a script from a file or a bundle
    func d39() throws {
        try "CREATE TABLE a(x);".write(toFile: desk.file("setup.sql"), atomically: true, encoding: .utf8)
        try db.execute(SQLScript(contentsOf: URL(fileURLWithPath: desk.file("setup.sql"))))
        #expect(try db.main.hasTable("a"))
        #expect(desk.reason { _ = try SQLScript(resource: "nothing", in: .main) } == .cannotOpen)
    }

    /// D40 all of a script or nothing
    func d40() throws {
        #expect(throws: DatabaseError.self) { try db.transaction { try $0.execute(SQLScript("DELETE FROM note; DELETE FROM no;")) } }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// D41 reading a pragma
    func d41() throws {
        #expect(try db.main.pragma("encoding", as: String.self) == "UTF-8" && db.main.pageSize == 4096)
    }

    /// D42 setting a pragma
    func d42() throws {
        #expect(try db.main.setPragma("cache_size", to: 100) == 100)
    }

    /// D43 a pragma that is a table
    func d43() throws {
        let columns = try db.fetchAll(String.self, "SELECT name FROM pragma_table_info('note')")
        #expect(try columns == ["id", "title", "stars"] && db.main.columns(of: "note").map(\.name) == columns)
    }

    /// D44 beginning and committing
    func d44() throws {
        try db.begin(.deferred)
        try db.execute("DELETE FROM note WHERE id = 1")
        try db.commit()
        #expect(!db.isInTransaction)
    }

    /// D45 rolling back
    func d45() throws {
        try db.begin()
        try db.execute("DELETE FROM note")
        try db.rollback()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// D46 a transaction as a closure
    func d46() throws {
        let left = try db.transaction { db -> TransactionEnd<Int?> in
            try db.execute("DELETE FROM note WHERE id = 1")
            return .rollback(try db.fetchOne(Int.self, "SELECT count(*) FROM note"))
        }
        #expect(try left == 2 && db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    // MARK: Keys

    /// D47 a passphrase
    func d47() throws {
        _ = try Connection(.file(desk.file("new.db")), key: .passphrase("x'00'").quick)
        #expect(try Connection(.file(desk.file("new.db")), key: .passphrase(Data("x'00'".utf8)).quick).isOpen)
    }

    /// D48 a raw key
    func d48() throws {
        let key = try Encryption.raw(Data(repeating: 7, count: 32))
        _ = try Connection(.file(desk.file("new.db")), key: key)
        #expect(try Connection(.file(desk.file("new.db")), key: key).isOpen)
    }

    /// D49 a new key
    func d49() throws {
        try db.changeKey(to: .passphrase("battery staple").quick)
        #expect(try Connection(.file(desk.path), key: .passphrase("battery staple").quick).isOpen)
    }

    /// D50 rows of any shape
    func d50() throws {
        let row = try db.fetchOne(RowCopy.self, "SELECT * FROM note WHERE id = 2")
        #expect(row?.columnNames == ["id", "title", "stars"])
        #expect(row?.dictionary == ["id": 2, "title": "Mill", "stars": nil])
    }

    /// D51 dates, UUIDs, and a schema that is there
    func d51() throws {
        let store = try desk.open { $0.values = .dataLiteCore }
        try store.execute("UPDATE note SET title = \(Date(timeIntervalSince1970: 1_795_249_800)) WHERE id = 1")
        #expect(try db.fetchOne(String.self, "SELECT title FROM note") == "2026-11-21T08:30:00Z")
        var migrator = Migrator()
        migrator.add("notes") { db in try db.execute("CREATE TABLE note(id)") }
        migrator.adopt(through: "notes") { db in try db.main.hasTable("note") }
        #expect(try migrator.migrate(store) == [])
    }

    /// E1 the key is a part of opening
    func e1() throws {
        #expect(try Connection(.file(desk.path), key: desk.key).fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// E2 a wrong key
    func e2() throws {
        #expect(desk.reason { _ = try Connection(.file(desk.path), key: .passphrase("wrong").quick) } == .wrongKeyOrNotADatabase)
    }

    /// E3 a database without a key
    func e3() throws {
        try Connection(.file(desk.file("plain.db"))).execute("CREATE TABLE a(x)")
        #expect(try Connection(.file(desk.file("plain.db")), key: .plaintext).main.hasTable("a"))
    }

    /// E4 a raw key with its salt
    func e4() throws {
        let key = try Encryption.raw(Data(repeating: 7, count: 32), salt: Data(repeating: 9, count: 16))
        let db = try Connection(.file(desk.file("new.db")), key: key)
        #expect(try db.main.cipher?.salt == [UInt8](repeating: 9, count: 16))
    }

    /// E5 a key for a plaintext file
    func e5() throws {
        try Connection(.file(desk.file("plain.db"))).execute("CREATE TABLE a(x)")
        let before = try Data(contentsOf: URL(fileURLWithPath: desk.file("plain.db")))
        #expect(desk.reason { _ = try Connection(.file(desk.file("plain.db")), key: desk.key) } == .notEncrypted)
        #expect(try Data(contentsOf: URL(fileURLWithPath: desk.file("plain.db"))) == before)
    }

    /// E6 an empty key
    func e6() throws {
        #expect(desk.reason { try db.changeKey(to: .passphrase("")) } == .emptyKey)
    }

    /// E7 from a passphrase to a raw key and back
    func e7() throws {
        try db.changeKey(to: .raw(Data(repeating: 7, count: 32)))
        try db.changeKey(to: desk.key)
        #expect(try desk.open().isOpen)
    }

    /// E8 a new key with a write-ahead log
    func e8() throws {
        try db.main.setJournalMode(.wal)
        try db.execute("DELETE FROM note")
        try db.changeKey(to: .passphrase("battery staple").quick)
        let again = try Connection(.file(desk.path), key: .passphrase("battery staple").quick)
        #expect(try again.fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }

    /// E9 a new key inside a transaction
    func e9() throws {
        try db.begin()
        #expect(desk.reason { try db.changeKey(to: .passphrase("battery staple").quick) } == .misuse)
        try db.commit()
        _ = try desk.open()
    }

    /// E10 a new key for an attached database
    func e10() throws {
        let archive = try db.attach(.file(desk.file("archive.db")), as: "archive", key: desk.key)
        try archive.changeKey(to: .passphrase("battery staple").quick)
        try archive.detach()
        _ = try db.attach(.file(desk.file("archive.db")), as: "archive", key: .passphrase("battery staple").quick)
        #expect(desk.reason { _ = try db.schema("nothing") } == .schemaName)
    }

    /// E11 the key of an attached database
    func e11() throws {
        try Connection(.file(desk.file("a.db")), key: .passphrase("other").quick).execute("CREATE TABLE a(x)")
        #expect(desk.reason { _ = try db.attach(.file(desk.file("a.db")), as: "a", key: desk.key) } == .wrongKeyOrNotADatabase)
        #expect(try db.schemas().count == 1)
        _ = try db.attach(.file(desk.file("b.db")), as: "b", key: .plaintext)
    }

    /// E12 encrypting a plaintext file
    func e12() throws {
        let plain = try Connection(.file(desk.file("plain.db")))
        try plain.main.setUserVersion(7)
        plain.close()
        try DatabaseConverter.encrypt(fileAt: desk.file("plain.db"), key: desk.key)
        #expect(try Connection(.file(desk.file("plain.db")), key: desk.key).main.userVersion == 7)
    }

    /// E13 how a file is encrypted
    func e13() throws {
        #expect(try db.main.cipher?.settings.pageSize == 4096 && db.main.cipher?.settings.usesHMAC == true)
        #expect(!SQLCipherEngine.cipherVersion.isEmpty)
    }
}

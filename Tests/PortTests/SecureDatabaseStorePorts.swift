import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// A program for each row of the article "From SecureDatabaseStore".
@Suite struct SecureDatabaseStorePorts {
    static let programs: [Port] = Port.list(Self.init, [
        "S1": s1, "S2": s2, "S3": s3, "S4": s4, "S5": s5, "S6": s6, "S7": s7, "S8": s8, "S9": s9, "S10": s10,
        "S11": s11, "S12": s12, "S13": s13, "S14": s14, "S15": s15, "S16": s16, "S17": s17, "S18": s18,
        "S19": s19, "S21": s21, "S22": s22, "S23": s23, "S24": s24, "S25": s25, "S26": s26, "S27": s27,
        "S28": s28, "S29": s29, "S30": s30, "S31": s31, "S32": s32, "S33": s33, "S34": s34, "S35": s35,
        "S36": s36, "S37": s37, "S38": s38, "S39": s39, "S40": s40, "S41": s41, "S42": s42, "S43": s43,
        "S44": s44, "S45": s45, "S46": s46, "S47": s47, "S48": s48, "S49": s49, "S50": s50, "S51": s51,
        "S52": s52, "S53": s53, "S55": s55, "S56": s56, "S57": s57, "S58": s58, "S59": s59, "S60": s60,
        "S61": s61, "S62": s62, "S63": s63, "S64": s64, "S65": s65, "S66": s66, "S67": s67, "S69": s69,
    ], async: [
        "S20": s20, "S54": s54, "S68": s68,
    ])

    @Test(arguments: programs) func runs(_ program: Port) async throws { try await program.run() }

    let desk: ExampleDesk
    var db: Connection { desk.db }

    init() throws { desk = try ExampleDesk() }

    struct Note: Decodable, Equatable { var id: Int, title: String, stars: Int? }
    struct Frame: Codable, Equatable, Sendable { var width: Int, height: Int }
    enum Mood: String, Codable, SQLValueConvertible { case calm, loud }

    // MARK: Opening and closing

    /// S1 a store at the default place
    func s1() throws {
        let location = DatabaseLocation.standard("notes.db", application: "ports")
        #expect(location.path?.hasSuffix("/ports/notes.db") == true)
    }

    /// S2 a store at a path
    func s2() throws {
        let store = try Connection(.file(desk.path), key: desk.key)
        #expect(store.location.path == desk.path)
    }

    /// S3 the default file name
    func s3() throws {
        #expect(DatabaseLocation.standard(application: "ports").path?.hasSuffix("/default.db") == true)
    }

    /// S4 opening needs the key
    func s4() throws {
        #expect(desk.reason { _ = try Connection(.file(desk.path), key: nil) } == .wrongKeyOrNotADatabase)
    }

    /// S5 the first opening sets the key
    func s5() throws {
        _ = try Connection(.file(desk.file("new.db")), key: desk.key)
        let other = try Encryption.passphrase("other").quick
        #expect(desk.reason { _ = try Connection(.file(desk.file("new.db")), key: other) } == .wrongKeyOrNotADatabase)
    }

    /// S6 a key that a closure provides
    func s6() throws {
        let key = Encryption.provided(by: KeySource { try .passphrase("asked for").quick })
        _ = try Connection(.file(desk.file("new.db")), key: key)
        #expect(try Connection(.file(desk.file("new.db")), key: .passphrase("asked for").quick).isOpen)
    }

    /// S7 an empty key is refused
    func s7() throws {
        #expect(desk.reason { _ = try Connection(.file(desk.file("new.db")), key: .passphrase("")) } == .emptyKey)
        #expect(!FileManager.default.fileExists(atPath: desk.file("new.db")))
    }

    /// S8 a wrong key
    func s8() throws {
        #expect(desk.reason { _ = try Connection(.file(desk.path), key: .passphrase("wrong").quick) } == .wrongKeyOrNotADatabase)
    }

    /// S9 a file that cannot be opened
    func s9() throws {
        let folder = (desk.path as NSString).deletingLastPathComponent
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(folder), key: desk.key) }
        #expect(error?.reason == .cannotOpen && error?.path == folder)
    }

    /// S10 opening to read only
    func s10() throws {
        let reader = try desk.open { $0.access = .readOnly }
        #expect(desk.reason { try reader.execute("DELETE FROM note") } == .engine)
    }

    /// S11 missing folders
    func s11() throws {
        var configuration = DatabaseConfiguration()
        configuration.createsFolders = true
        _ = try Connection(.file(desk.file("a/b/new.db")), key: desk.key, configuration: configuration)
        #expect(FileManager.default.fileExists(atPath: desk.file("a/b/new.db")))
    }

    /// S12 what runs for a new store
    func s12() throws {
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { try $0.execute("CREATE TABLE visit(id)") }
        for _ in 1...2 { _ = try Connection(.file(desk.file("new.db")), key: desk.key, configuration: configuration) }
        #expect(try Connection(.file(desk.file("new.db")), key: desk.key).main.hasTable("visit"))
    }

    /// S13 what runs for a new store fails
    func s13() throws {
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { try $0.execute("CREATE TABLE") }
        #expect(desk.reason { _ = try Connection(.file(desk.file("new.db")), key: desk.key, configuration: configuration) } == .engine)
        #expect(!FileManager.default.fileExists(atPath: desk.file("new.db")))
    }

    /// S14 a key of 32 bytes
    func s14() throws {
        let bytes = Data((0..<32).map { UInt8($0) })
        _ = try Connection(.file(desk.file("new.db")), key: .raw(bytes))
        #expect(desk.reason { _ = try Encryption.raw(bytes.dropLast()) } == .invalidKey)
    }

    /// S15 whether it is open
    func s15() throws {
        #expect(db.isOpen)
        db.close()
        #expect(!db.isOpen)
    }

    /// S16 closing
    func s16() throws {
        db.close()
        #expect(desk.reason { try db.execute("DELETE FROM note") } == .closed)
    }

    /// S17 opening again
    func s17() throws {
        db.close()
        #expect(try desk.open().fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// S18 closing with an open result
    func s18() throws {
        let titles = try db.cursor(String.self, "SELECT title FROM note")
        _ = try titles.next()
        db.close()
        #expect(desk.reason { _ = try titles.next() } == .closed)
    }

    // MARK: Changing the key

    /// S19 a new key
    func s19() throws {
        try db.changeKey(to: .passphrase("battery staple").quick)
        #expect(desk.reason { _ = try desk.open() } == .wrongKeyOrNotADatabase)
        _ = try Connection(.file(desk.path), key: .passphrase("battery staple").quick)
    }

    /// S20 a new key, with progress
    func s20() async throws {
        let queue = try DatabaseQueue(.file(desk.file("new.db")), key: desk.key)
        let seen = Seen<Double>()
        try await queue.changeKey(to: .passphrase("battery staple").quick) { seen.add($0.fraction) }
        try await queue.close()
        #expect(try Connection(.file(desk.file("new.db")), key: .passphrase("battery staple").quick).isOpen)
    }

    /// S21 the old key after a change that failed
    func s21() throws {
        let other = try desk.open()
        try other.settings.setBusyTimeout(.zero)
        try db.begin()
        #expect(desk.reason { try other.changeKey(to: .passphrase("battery staple").quick) } == .busy)
        try db.rollback()
        _ = try desk.open()
    }

    /// S22 from a passphrase to bytes
    func s22() throws {
        let bytes = Data((0..<32).map { UInt8($0) })
        try db.changeKey(to: .raw(bytes))
        #expect(try Connection(.file(desk.path), key: .raw(bytes)).isOpen)
    }

    // MARK: Statements

    /// S23 a statement without values
    func s23() throws {
        try db.execute("DELETE FROM note")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }

    /// S24 the wrong number of values
    func s24() throws {
        #expect(desk.reason { try db.execute("DELETE FROM note WHERE id = ?", [1, 2]) } == .parameters)
        #expect(desk.reason { try db.execute("DELETE FROM note WHERE id = :id", ["key": 1]) } == .parameters)
    }

    /// S25 values by position and by name
    func s25() throws {
        try db.execute("UPDATE note SET stars = ? WHERE id = ?", [1, 2])
        try db.execute("UPDATE note SET title = :title WHERE id = :id", ["title": "Mole", ":id": 2])
        let row = try db.fetchOne((String, Int).self, "SELECT title, stars FROM note WHERE id = 2")
        #expect(row?.0 == "Mole" && row?.1 == 1)
    }

    /// S26 a query run as a statement
    func s26() throws {
        try db.execute("SELECT * FROM note")
        #expect(!db.hasOpenCursors)
    }

    /// S27 values of each type, and none
    func s27() throws {
        let id = UUID(), data = Data([0, 1])
        try db.execute("CREATE TABLE all_types(a, b, c, d, e, f)")
        try db.execute("INSERT INTO all_types VALUES (\(7), \(2.5), \("x"), \(data), \(id), \(String?.none))")
        let row = try db.fetchOne((Int8, Double, String, Data, UUID, String?).self, "SELECT * FROM all_types")
        #expect(row?.0 == 7 && row?.1 == 2.5 && row?.2 == "x" && row?.3 == data && row?.4 == id && row?.5 == nil)
    }

    /// S28 dates as seconds
    func s28() throws {
        let store = try desk.open { $0.values = .sap }
        try store.execute("UPDATE note SET stars = \(Date(timeIntervalSince1970: 1_795_249_800)) WHERE id = 1")
        #expect(try db.fetchOne(Int.self, "SELECT stars FROM note") == 1_795_249_800)
        #expect(try store.fetchOne(Date.self, "SELECT stars FROM note") == Date(timeIntervalSince1970: 1_795_249_800))
    }

    /// S29 types of your own
    func s29() throws {
        try db.execute("UPDATE note SET title = \(Mood.loud) WHERE id = 1")
        #expect(try db.fetchOne(Mood.self, "SELECT title FROM note") == .loud)
    }

    /// S30 several statements at once
    func s30() throws {
        try db.execute(SQLScript("""
            CREATE TABLE log(what); -- a comment
            CREATE TRIGGER t AFTER DELETE ON note BEGIN INSERT INTO log VALUES (old.title); END;
            DELETE FROM note WHERE id = 1;
            """))
        #expect(try db.fetchAll(String.self, "SELECT what FROM log") == ["Bakery"])
    }

    /// S31 statements from a file
    func s31() throws {
        let url = URL(fileURLWithPath: desk.file("setup.sql"))
        try "DELETE FROM note;\nINSERT INTO note(title) VALUES ('new');".write(to: url, atomically: true, encoding: .utf8)
        try db.execute(SQLScript(contentsOf: url))
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["new"])
    }

    /// S32 which of several statements failed
    func s32() throws {
        let error = #expect(throws: DatabaseError.self) { try db.execute(SQLScript("DELETE FROM note; DELETE FROM nothing;")) }
        #expect(error?.statementIndex == 1)
    }

    /// S33 stopping between statements
    func s33() throws {
        try db.execute(SQLScript("SELECT 1; DELETE FROM note;")) { _, row in try row[0] == 1 ? .stop : .next }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    // MARK: Results

    /// S34 a query and all its rows
    func s34() throws {
        let rows: [(Int, String)] = try db.fetchAll("SELECT id, title FROM note WHERE stars > \(3)")
        #expect(rows.map(\.1) == ["Well"])
    }

    /// S35 one row after the other
    func s35() throws {
        let titles = try db.cursor(String.self, "SELECT title FROM note ORDER BY id")
        var found: [String] = []
        while let title = try titles.next() { found.append(title) }
        #expect(found == ["Bakery", "Mill", "Well"])
    }

    /// S36 columns by index
    func s36() throws {
        try db.forEach("SELECT id, title FROM note WHERE id = 1") { row in
            let (id, title): (Int, String) = (try row[0], try row[1])
            #expect(id == 1 && title == "Bakery" && row.count == 2)
        }
    }

    /// S37 columns by name
    func s37() throws {
        try db.forEach("SELECT id, title FROM note WHERE id = 1") { row in
            let title: String = try row["title"]
            #expect(try title == "Bakery" && row.get("id", as: Int64.self) == 1)
        }
    }

    /// S38 columns that may be NULL
    func s38() throws {
        let stars = try db.fetchAll(Int?.self, "SELECT stars FROM note ORDER BY id")
        #expect(stars == [3, nil, 5])
    }

    /// S39 rows as types
    func s39() throws {
        #expect(try db.fetchOne(Note.self, "SELECT * FROM note WHERE id = 2") == Note(id: 2, title: "Mill", stars: nil))
    }

    /// S40 a column that is not there, or of another type
    func s40() throws {
        #expect(desk.reason { try db.forEach("SELECT title FROM note") { _ = try $0.get("name", as: String.self) } } == .noSuchColumn)
        #expect(desk.reason { try db.forEach("SELECT title FROM note") { _ = try $0.get(0, as: Int.self) } } == .typeMismatch)
        #expect(desk.reason { try db.forEach("SELECT NULL") { _ = try $0.get(0, as: Int.self) } } == .unexpectedNull)
    }

    /// S41 a result that is dropped
    func s41() throws {
        do { _ = try db.cursor(String.self, "SELECT title FROM note").next() }
        #expect(!db.hasOpenCursors)
    }

    /// S42 whether results are open
    func s42() throws {
        let titles = try db.cursor(String.self, "SELECT title FROM note")
        _ = try titles.next()
        #expect(titles.isOpen)
        titles.close()
        #expect(!titles.isOpen)
    }

    /// S43 closing all results
    func s43() throws {
        let titles = try db.cursor(String.self, "SELECT title FROM note")
        _ = try titles.next()
        db.close()
        #expect(!titles.isOpen)
    }

    /// S44 the last row id
    func s44() throws {
        #expect(try Connection(.memory).lastInsertedRowID == 0)
        try db.execute("INSERT INTO note(title) VALUES ('new')")
        #expect(db.lastInsertedRowID == 4)
    }

    /// S45 how many rows changed
    func s45() throws {
        let total = { try db.fetchOne(Int.self, "SELECT total_changes()") ?? 0 }, before = try total()
        try db.execute("UPDATE note SET stars = 1")
        #expect(try db.changes == 3 && total() == before + 3)
    }

    // MARK: Transactions

    /// S46 beginning a transaction
    func s46() throws {
        try db.begin(.exclusive)
        #expect(desk.reason { try db.begin() } != nil)
        try db.rollback()
    }

    /// S47 committing
    func s47() throws {
        try db.begin()
        try db.execute("DELETE FROM note")
        try db.commit()
        #expect(try desk.open().fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }

    /// S48 rolling back
    func s48() throws {
        try db.begin()
        try db.execute("DELETE FROM note")
        try db.rollback()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 3)
    }

    /// S49 whether there is a transaction
    func s49() throws {
        #expect(!db.isInTransaction)
        try db.transaction { db in #expect(db.isInTransaction) }
    }

    /// S50 the cache of statements
    func s50() throws {
        for id in 1...3 { _ = try db.fetchOne(String.self, "SELECT title FROM note WHERE id = \(id)") }
        #expect(db.settings.statementCache.hits >= 2)
        db.settings.statementCache.clear()
        #expect(db.settings.statementCache.count == 0)
    }

    /// S51 names in SQL
    func s51() throws {
        let table = "my \"notes\""
        try db.execute("CREATE TABLE \(identifier: table)(x)")
        #expect(try db.main.hasTable(table) && table.quotedSQLIdentifier == "\"my \"\"notes\"\"\"")
    }

    /// S52 SQL from a variable
    func s52() throws {
        let text = "SELECT title FROM note WHERE id > ? AND title < ?", values: [any SQLValueConvertible] = [1, "T"]
        #expect(try db.fetchAll(String.self, SQL(raw: text, StatementArguments(values))) == ["Mill"])
    }

    /// S53 a queue for several threads
    func s53() throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        let count = try queue.write { db in
            try db.execute("DELETE FROM note WHERE id = 1")
            return db.changes
        }
        #expect(count == 1)
    }

    /// S54 a queue without waiting
    func s54() async throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        #expect(try await queue.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM note") } == 3)
    }

    /// S55 a queue's transaction that rolls back
    func s55() throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        try queue.write { db in
            try db.execute("DELETE FROM note")
            return .rollback(())
        }
        #expect(try queue.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM note") } == 3)
    }

    /// S56 a call of the queue inside another
    func s56() throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        #expect(desk.reason { try queue.write { _ in _ = try queue.read { _ in 1 } } } == .misuse)
    }

    /// S57 an exclusive transaction
    func s57() throws {
        let queue = try DatabaseQueue(.file(desk.path), key: desk.key)
        try queue.withWriter { db in try db.transaction(.exclusive) { try $0.execute("DELETE FROM note") } }
        #expect(desk.reason { try queue.write { db in try db.transaction(.exclusive) { _ in } } } == .misuse)
    }

    // MARK: Keys and values

    /// S58 putting and getting
    func s58() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.set("name", to: "Ada")
        try settings.set("window", to: Frame(width: 8, height: 6))
        #expect(try settings.get("name") == "Ada" && settings.get("window") == Frame(width: 8, height: 6))
    }

    /// S59 numbers of each width
    func s59() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.set("small", to: Int8(7))
        #expect(try settings.get("small") == UInt64(7) && settings.get("small") == 7.0)
    }

    /// S60 defaults
    func s60() throws {
        let settings = try KeyValueStore("settings", in: db)
        #expect(try settings.get("volume", default: 3) == 3 && settings.get("volume", as: Int.self) == nil)
    }

    /// S61 a stored nil
    func s61() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.set("name", to: String?.none)
        #expect(try settings.contains("name"))
        #expect(desk.reason { _ = try settings.get("name", default: "Ada") } == .unexpectedNull)
        #expect(try settings.get("name", as: String?.self).flatMap { $0 } ?? "Ada" == "Ada")
    }

    /// S62 a value of another type
    func s62() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.set("big", to: 300)
        #expect(desk.reason { _ = try settings.get("big", as: Int8.self) } == .typeMismatch)
        #expect(desk.reason { _ = try settings.get("big", as: String.self) } == .typeMismatch)
    }

    /// S63 putting many at once
    func s63() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.setAll(["volume": 7, "theme": "dark", "window": Frame(width: 8, height: 6)])
        #expect(desk.reason { try settings.setAll(["volume": 8, "bad": Double.nan]) } == .invalidArgument)
        #expect(try settings.get("volume") == 7)
    }

    /// S64 several stores in a database
    func s64() throws {
        try KeyValueStore("a", in: db).set("key", to: 1)
        try KeyValueStore("b", in: db).set("key", to: 2)
        #expect(try KeyValueStore.names(in: db.main) == ["a", "b"])
        #expect(try KeyValueStore("a", in: db).get("key") == 1)
    }

    /// S65 a new key for a key-value store
    func s65() throws {
        try KeyValueStore("settings", in: db).set("key", to: 1)
        try db.changeKey(to: .passphrase("battery staple").quick)
        let again = try Connection(.file(desk.path), key: .passphrase("battery staple").quick)
        #expect(try KeyValueStore("settings", in: again).get("key") == 1)
    }

    /// S66 removing keys
    func s66() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.setAll(["a": 1, "b": 2])
        #expect(try settings.remove("a"))
        try settings.removeAll()
        #expect(try settings.keys() == [])
    }

    /// S67 all keys
    func s67() throws {
        let settings = try KeyValueStore("settings", in: db)
        try settings.setAll(["b": 2, "a": 1])
        #expect(try settings.keys() == ["a", "b"] && settings.count() == 2 && settings.contains("a"))
        try settings.forEach { entry in
            let value = try entry.value(as: Int.self)
            #expect(value == (entry.key == "a" ? 1 : 2))
        }
    }

    /// S68 a key-value store for several threads
    func s68() async throws {
        let settings = try SharedKeyValueStore("settings", in: DatabaseQueue(.file(desk.path), key: desk.key))
        try await settings.write { store in try store.setAll(["volume": 7, "theme": "dark"]) }
        #expect(try await settings.get("volume", default: 0) == 7)
        #expect(try await settings.read { store in try store.keys() } == ["theme", "volume"])
    }

    /// S69 a trace of statements
    func s69() throws {
        let seen = Seen<String>()
        let token = try db.addTraceHook { event in seen.add(event.sql) }
        try db.execute("UPDATE note SET title = \("secret")")
        token.remove()
        #expect(seen.all.contains("UPDATE note SET title = ?") && !seen.all.joined().contains("secret"))
    }
}

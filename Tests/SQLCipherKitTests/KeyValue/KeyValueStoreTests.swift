import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct KeyValueStoreTests {
    let folder: TemporaryFolder
    let db: Connection
    let store: KeyValueStore

    struct Frame: Codable, Equatable { var x: Int, y: Double, title: String? = nil, tags: [String] = [] }
    enum Level: Int, Codable { case low = 1, high = 2 }
    enum Mode: String, SQLValueConvertible { case dark, light }

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        store = try KeyValueStore("settings", in: db)
    }

    @Test func keyValueStoreRoundTripsPlainValues() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25), id = UUID()
        try store.set("int", to: 7)
        try store.set("double", to: 2.5)
        try store.set("bool", to: true)
        try store.set("text", to: "nul \0 é")
        try store.set("data", to: Data([0, 1, 255]))
        try store.set("empty", to: Data())
        try store.set("date", to: date)
        try store.set("uuid", to: id)
        try store.set("decimal", to: Decimal(string: "12.345")!)
        try store.set("mode", to: Mode.dark)
        #expect(try store.get("int") == 7)
        #expect(try store.get("double") == 2.5)
        #expect(try store.get("bool") == true)
        #expect(try store.get("text") == "nul \0 é")
        #expect(try store.get("data") == Data([0, 1, 255]))
        #expect(try store.get("empty", as: Data.self) == Data())
        #expect(try store.get("date") == date)
        #expect(try store.get("uuid") == id)
        #expect(try store.get("decimal") == Decimal(string: "12.345"))
        #expect(try store.get("mode", as: Mode.self) == .dark)
        #expect(try store.get("int", as: SQLValue.self) == .integer(7))
        #expect(try store.get("none", as: Int.self) == nil)
        try store.set("int", to: "now text")
        #expect(try store.get("int", as: String.self) == "now text")
        #expect(try store.count() == 10)
    }

    @Test func keyValueStoreRoundTripsEveryIntegerWidth() throws {
        func check<T: FixedWidthInteger & SQLValueConvertible>(_ type: T.Type) throws {
            for value in [T.min, 0, 1, T.max] {
                guard Int64(exactly: value) != nil else {
                    let error = #expect(throws: DatabaseError.self) { try store.set("\(type)", to: value) }
                    #expect(error?.reason == .invalidArgument)
                    continue
                }
                try store.set("\(type)", to: value)
                #expect(try store.get("\(type)", as: type) == value)
                #expect(try store.get("\(type)", as: Int64.self) == Int64(value))
            }
        }
        try check(Int8.self); try check(Int16.self); try check(Int32.self); try check(Int64.self); try check(Int.self)
        try check(UInt8.self); try check(UInt16.self); try check(UInt32.self); try check(UInt64.self); try check(UInt.self)
        try store.set("float", to: Float(1.5))
        #expect(try store.get("float", as: Float.self) == 1.5)
    }

    @Test func keyValueTypeMismatchAndOverflowThrow() throws {
        try store.set("big", to: 300)
        try store.set("text", to: "x")
        try store.set("half", to: 3.5)
        try store.set("whole", to: 3.0)
        try store.set("frame", to: Frame(x: 1, y: 2))
        try store.set("nil", to: Int?.none)
        func reason(_ body: () throws -> Void) -> DatabaseError.Reason? { #expect(throws: DatabaseError.self, performing: body)?.reason }
        #expect(reason { _ = try store.get("big", as: UInt8.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("big", as: String.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("text", as: Int.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("text", as: Int?.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("half", as: Int.self) } == .typeMismatch)
        #expect(try store.get("whole", as: Int.self) == 3)
        #expect(reason { _ = try store.get("text", as: Frame.self) } == .typeMismatch)
        // Coded values are no bytes, and bytes are no coded values.
        #expect(reason { _ = try store.get("frame", as: Data.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("frame", as: Int?.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("frame", as: SQLValue.self) } == .typeMismatch)
        #expect(reason { _ = try store.get("frame", as: [String].self) } == .typeMismatch)
        // A default is for a key that is not there, not for a mistake.
        #expect(reason { _ = try store.get("text", default: 4) } == .typeMismatch)
        #expect(reason { _ = try store.get("nil", default: 4) } == .unexpectedNull)
        #expect(reason { _ = try store.get("nil", as: Frame.self) } == .unexpectedNull)
        #expect(reason { try store.set("nan", to: Double.nan) } == .invalidArgument)
        #expect(reason { try store.set("deep", to: ["a": Double.infinity]) } == .invalidArgument)
        #expect(try store.get("none", default: 4) == 4)
        #expect(try store.get("none", default: Frame(x: 1, y: 1)) == Frame(x: 1, y: 1))
        // A value that cannot be set leaves the former value.
        try store.set("half", to: 1)
        #expect(reason { try store.set("half", to: UInt64.max) } == .invalidArgument)
        #expect(try store.get("half") == 1)
    }

    @Test func nilIsNotMissing() throws {
        try store.set("nil", to: String?.none)
        try store.set("frame", to: Frame?.none)
        for key in ["nil", "frame"] {
            #expect(try store.contains(key))
            #expect(try store.get(key, as: String?.self) == .some(nil))
            #expect(try store.get(key, as: Frame?.self) == .some(nil))
            #expect(try store.get(key, as: SQLValue.self) == .null)
        }
        #expect(try !store.contains("other"))
        #expect(try store.get("other", as: String?.self) == nil)
        #expect(try store.get("other", as: Frame?.self) == nil)
        #expect(try store.remove("nil") && !store.contains("nil"))
        #expect(try !store.remove("nil"))
    }

    @Test func keyValueStoreRoundTripsCodableValues() throws {
        let frame = Frame(x: 1, y: 2.5, title: nil, tags: ["a", "b"])
        try store.set("frame", to: frame)
        try store.set("list", to: [1, 2, 3])
        try store.set("level", to: Level.high)
        try store.set("dictionary", to: ["a": frame])
        try store.set("optional", to: Frame?.some(frame))
        #expect(try store.get("frame") == frame)
        #expect(try store.get("list", as: [Int].self) == [1, 2, 3])
        #expect(try store.get("list", default: [1]) == [1, 2, 3])
        #expect(try store.get("none", default: [1]) == [1])
        // Bytes are bytes.
        try store.set("bytes", to: [1, 2, 3] as [UInt8])
        #expect(try db.fetchOne(Data.self, "SELECT value FROM kv_settings WHERE key = 'bytes'") == Data([1, 2, 3]))
        #expect(try store.get("level") == Level.high)
        #expect(try store.get("dictionary") == ["a": frame])
        #expect(try store.get("optional", as: Frame.self) == frame)
        #expect(try store.get("frame", as: Frame?.self) == .some(frame))
        // SQL can look inside.
        #expect(try db.fetchOne(String.self, "SELECT json->>'$.tags[1]' FROM kv_settings WHERE key = 'frame'") == "b")
        // A value whose type is known at run time only is stored as one whose type is known.
        func setAny<T: Codable>(_ key: String, _ value: T) throws { try store.set(key, to: value) }
        func getAny<T: Codable>(_ key: String, _ type: T.Type) throws -> T? { try store.get(key, as: type) }
        try setAny("int", 5)
        try setAny("nil", Int?.none)
        #expect(try store.get("int") == 5)
        #expect(try getAny("int", Int.self) == 5)
        #expect(try getAny("nil", Int?.self) == .some(nil))
        #expect(try getAny("list", [Int].self) == [1, 2, 3])
    }

    @Test func severalStoresStayApart() throws {
        let other = try KeyValueStore("odd \"name' é", in: db)
        try store.set("a", to: 1)
        try other.set("a", to: 2)
        #expect(try store.get("a") == 1 && other.get("a") == 2)
        #expect(try KeyValueStore.names(in: db.main) == ["odd \"name' é", "settings"])
        try other.removeAll()
        #expect(try store.count() == 1 && other.count() == 0)
        // Names that SQLite would take for the same.
        let upper = try KeyValueStore("SETTINGS", in: db)
        let error = #expect(throws: DatabaseError.self) { try upper.set("a", to: 3) }
        #expect(error?.reason == .invalidArgument)
        #expect(throws: DatabaseError.self) { try upper.get("a", as: Int.self) }
        #expect(throws: DatabaseError.self) { try KeyValueStore("", in: db) }
        #expect(throws: DatabaseError.self) { try KeyValueStore("a\0b", in: db) }
        // In an attached database.
        try db.attach(.file(folder.path("b.db")), as: "b", key: .plaintext)
        let attached = try KeyValueStore("settings", in: db.schema("B"))
        try attached.set("a", to: 4, expires: Date(timeIntervalSinceNow: 100))
        #expect(try store.get("a") == 1 && attached.get("a") == 4)
        #expect(try KeyValueStore.names(in: db.schema("b")) == ["settings"])
    }

    @Test func setAllIsOneTransaction() throws {
        try store.setAll(["a": 1, "b": 2])
        try store.setAll(["f": Frame(x: 1, y: 1)])
        let mixed: [String: SQLValue] = ["c": 3, "d": "text", "e": nil]
        try store.setAll(mixed)
        #expect(try store.keys() == ["a", "b", "c", "d", "e", "f"])
        let failing: KeyValuePairs<String, Double> = ["a": 9, "x": 9, "y": .nan]
        #expect(throws: DatabaseError.self) { try store.setAll(failing.map { (key: $0.key, value: $0.value) }) }
        #expect(try store.get("a") == 1 && !store.contains("x"))
        // One commit.
        var commits = 0
        let token = try db.addChangeHook { _ in commits += 1 }
        try store.setAll((0..<100).map { (key: "n\($0)", value: $0) })
        #expect(commits == 1)
        token.remove()
        #expect(try store.count(prefix: "n") == 100)
    }

    @Test func keyPrefixIterationIsOrderedByBytes() throws {
        let keys = ["", "a", "a.b", "a.c", "a\u{10FFFF}", "ab", "b", "é", "日本", "😀", "a\0z"]
        try store.setAll(keys.enumerated().map { (key: $1, value: $0) })
        func utf8(_ list: [String]) -> [String] { list.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
        #expect(try store.keys() == utf8(keys))
        for prefix in ["", "a", "a.", "日", "😀", "z", "a\0", "a\u{10FFFF}"] {
            let expected = utf8(keys.filter { $0.utf8.starts(with: prefix.utf8) })
            #expect(try store.keys(prefix: prefix) == expected, "\(prefix)")
            #expect(try store.count(prefix: prefix) == expected.count)
        }
        try store.set("a.frame", to: Frame(x: 1, y: 1))
        try store.set("a.nil", to: Int?.none)
        var seen: [String] = []
        try store.forEach(prefix: "a.") { entry in
            if entry.key == "a.frame" { #expect(try entry.value(as: Frame.self).x == 1) }
            else if !entry.isNil { #expect(try entry.value(as: Int.self) == keys.firstIndex(of: entry.key)) }
            seen.append(entry.isNil ? "nil" : entry.key)
            // The store may be used meanwhile, also by a loop in the loop.
            #expect(try store.get("b") == 6)
            try store.set(entry.key, to: "seen")
            #expect(try store.all(as: Int.self, prefix: "b").map(\.value) == [6])
        }
        #expect(seen == ["a.b", "a.c", "a.frame", "nil"])
        #expect(try store.all(as: String.self, prefix: "a.").map(\.value) == ["seen", "seen", "seen", "seen"])
        try store.removeAll(prefix: "a")
        #expect(try store.keys() == utf8(keys.filter { !$0.hasPrefix("a") && $0 != "a\0z" }))
    }

    @Test func expiredEntriesAreHiddenAndPurged() throws {
        let past = Date(timeIntervalSinceNow: -1), future = Date(timeIntervalSinceNow: 1000)
        try store.set("old", to: 1, expires: past)
        try store.set("oldFrame", to: Frame(x: 1, y: 1), expires: past)
        try store.set("new", to: 2, expires: future)
        try store.set("for ever", to: 3)
        #expect(try store.get("old", as: Int.self) == nil)
        #expect(try store.get("oldFrame", as: Frame.self) == nil)
        #expect(try !store.contains("old") && store.contains("new"))
        #expect(try store.get("new") == 2)
        #expect(try store.keys() == ["for ever", "new"])
        #expect(try store.count() == 2 && store.count(prefix: "o") == 0)
        #expect(try store.all(as: Int.self).map(\.value) == [3, 2])
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM kv_settings") == 4)
        #expect(try !store.remove("old"))
        #expect(try store.purgeExpired() == 1)
        #expect(try store.purgeExpired() == 0)
        #expect(try db.fetchAll(String.self, "SELECT key FROM kv_settings ORDER BY 1") == ["for ever", "new"])
        // Setting again lifts it.
        try store.set("new", to: 4)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM kv_settings WHERE expires IS NOT NULL") == 0)
        try store.set("soon", to: 5, expires: Date(timeIntervalSinceNow: 0.05))
        Thread.sleep(forTimeInterval: 0.06)
        #expect(try store.get("soon", as: Int.self) == nil)
        let error = #expect(throws: DatabaseError.self) { try store.set("x", to: 1, expires: Date(timeIntervalSince1970: .nan)) }
        #expect(error?.reason == .invalidArgument)
        // The value in the file: milliseconds since 1970, rounded down.
        try store.set("exact", to: 5, expires: Date(timeIntervalSince1970: 4_000_000_000.2506))
        #expect(try db.fetchOne(Int64.self, "SELECT expires FROM kv_settings WHERE key = 'exact'") == 4_000_000_000_250)
        try store.remove("exact")
        try store.set("far", to: 6, expires: .distantFuture)
        // A time beyond all milliseconds is the first or the last of them.
        try store.set("never was", to: 1, expires: Date(timeIntervalSince1970: -1e300))
        #expect(try store.get("never was", as: Int.self) == nil)
        try store.set("at no end", to: 7, expires: Date(timeIntervalSince1970: 1e300))
        #expect(try store.get("at no end", as: Int.self) == 7)
        try store.remove("at no end")
        #expect(try store.get("far") == 6)
        let plan = try db.fetchAll(OwnedRow.self, "EXPLAIN QUERY PLAN DELETE FROM kv_settings WHERE expires <= 5")
        #expect(plan.contains { $0.values.contains { $0.shown.contains("expires_kv_settings") } })
    }

    /// Whatever stores are named, no table or index of one is in the way of another.
    @Test func overlappingStoreNamesDoNotCollide() throws {
        for names in [["session", "session_expires"], ["session_expires", "session"], ["a", "expires_a", "expires_kv_a"]] {
            let db = try Connection(.memory)
            for name in names + names {
                try KeyValueStore(name, in: db).set("key", to: name, expires: .distantFuture)
            }
            #expect(try KeyValueStore.names(in: db.main) == names.sorted())
            for name in names { #expect(try KeyValueStore(name, in: db).get("key") == name) }
        }
    }

    @Test func setAllAcceptsValuesOfSeveralTypes() throws {
        struct Frame: Codable, Equatable { var x: Int }
        let db = try Connection(.memory), store = try KeyValueStore("settings", in: db)
        try store.setAll(["volume": 7, "theme": "dark", "window": Frame(x: 1), "mode": Level.high, "nil": String?.none])
        #expect(try store.get("volume") == 7 && store.get("theme") == "dark" && store.get("window") == Frame(x: 1))
        #expect(try store.get("mode") == Level.high && store.get("nil", as: String?.self) == .some(nil))
        #expect(throws: DatabaseError.self) { try store.setAll(["volume": 8, "theme": "light", "bad": Double.nan]) }
        #expect(try store.get("volume") == 7 && store.count() == 5)
    }

    @Test func keyValueStoreSurvivesChangeOfKey() throws {
        try store.set("a", to: 1)
        try store.connection.changeKey(to: .passphrase("two"))
        #expect(try store.get("a") == 1)
        try store.set("b", to: "secret value")
        db.close()
        #expect(throws: DatabaseError.self) { try store.get("a", as: Int.self) }
        #expect(throws: DatabaseError.self) { try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick) }
        let again = try Connection(.file(folder.path("a.db")), key: .passphrase("two").quick)
        #expect(try KeyValueStore("settings", in: again).get("b") == "secret value")
        #expect(try folder.allBytes().range(of: Data("secret value".utf8)) == nil)
    }

    /// The table may come, go and come back under the store's feet.
    @Test func storeToleratesMissingAndRecreatedTable() throws {
        #expect(try store.get("a", as: Int.self) == nil)
        #expect(try store.keys() == [] && store.count() == 0 && !store.contains("a") && !store.remove("a"))
        #expect(try store.purgeExpired() == 0)
        try store.removeAll()
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                try store.set("a", to: 1, expires: .distantFuture)
                #expect(try store.get("a") == 1)
                throw Stop()
            }
        }
        #expect(try store.get("a", as: Int.self) == nil)
        try store.set("a", to: 2, expires: .distantFuture)
        #expect(try store.get("a") == 2)
        try db.execute("DROP TABLE kv_settings")
        #expect(try store.get("a", as: Frame.self) == nil)
        #expect(try !store.contains("a"))
        try store.set("a", to: 3)
        #expect(try store.get("a") == 3)
        // A table of that name that is no store is left alone.
        try db.execute("CREATE TABLE kv_foreign(x)")
        let foreign = try KeyValueStore("foreign", in: db)
        #expect(throws: DatabaseError.self) { try foreign.set("a", to: 1) }
        #expect(throws: DatabaseError.self) { try foreign.get("a", as: Int.self) }
    }

    @Test func keyValueStoreReadsOnReadOnlyConnection() throws {
        try store.set("a", to: 1)
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let reader = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration)
        #expect(try KeyValueStore("settings", in: reader).get("a") == 1)
        #expect(try KeyValueStore("others", in: reader).get("a", as: Int.self) == nil)
        #expect(throws: DatabaseError.self) { try KeyValueStore("others", in: reader).set("a", to: 1) }
    }

    @Test func keyValueStoreRefusesUTF16Database() throws {
        let wide = try Connection(.memory)
        try wide.execute("PRAGMA encoding = 'UTF-16'")
        let error = #expect(throws: DatabaseError.self) { try KeyValueStore("a", in: wide).set("a", to: 1) }
        #expect(error?.reason == .misuse)
    }
}

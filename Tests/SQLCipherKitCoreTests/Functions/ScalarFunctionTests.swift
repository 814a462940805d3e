import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ScalarFunctionTests {
    struct Refusal: Error, Equatable { var number: Int }
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func functionArgumentsAreConvertedToSwiftTypes() throws {
        try db.register(.function("initials", .deterministic) { (first: String, last: String?) in
            String(first.prefix(1)) + String((last ?? "").prefix(1))
        })
        #expect(try db.fetchOne(String.self, "SELECT initials('Ada', 'Lovelace')") == "AL")
        #expect(try db.fetchOne(String.self, "SELECT initials('Ada', NULL)") == "A")
        try db.register(.function("none_at_all") { 42 })
        #expect(try db.fetchOne(Int.self, "SELECT none_at_all()") == 42)
        try db.register(.function("many") { (a: Int, b: Double, c: Data, d: Bool, e: UUID?) in "\(a) \(b) \(c.count) \(d) \(e == nil)" })
        #expect(try db.fetchOne(String.self, "SELECT many(1, 2.5, x'010203', 1, NULL)") == "1 2.5 3 true true")
        // The wrong number of arguments is found by SQLite.
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT none_at_all(1)") }
        #expect(error?.message.contains("wrong number of arguments") == true)
    }

    @Test func functionReturnsEveryStorageClass() throws {
        try db.register(.function("t") { "a\0b" })
        try db.register(.function("e") { "" })
        try db.register(.function("b") { Data([1, 0, 2]) })
        try db.register(.function("z") { Data() })
        try db.register(.function("n") { Int?.none })
        try db.register(.function("v", arguments: 1) { try $0.value(0) })
        try db.register(.function("d") { Date(timeIntervalSince1970: 0) })
        #expect(try db.fetchOne(String.self, "SELECT t()") == "a\0b")
        #expect(try db.fetchOne(String.self, "SELECT typeof(e())") == "text")
        #expect(try db.fetchOne(Data.self, "SELECT b()") == Data([1, 0, 2]))
        #expect(try db.fetchOne(String.self, "SELECT typeof(z())") == "blob")
        #expect(try db.fetchOne(Int?.self, "SELECT n()") == .some(nil))
        for value: SQLValue in [.null, .integer(.min), .real(-0.5), .text("é"), .blob(Data([255]))] {
            #expect(try db.fetchOne(SQLValue.self, "SELECT v(?)", [value]) == value)
        }
        #expect(try db.fetchOne(String.self, "SELECT d()") == "1970-01-01 00:00:00.000")
        var configuration = DatabaseConfiguration()
        configuration.valueProfile.dates = .integerSeconds
        let other = try Connection(.memory, configuration: configuration)
        try other.register(.function("d") { Date(timeIntervalSince1970: 7) })
        #expect(try other.fetchOne(SQLValue.self, "SELECT d()") == .integer(7))
    }

    @Test func variadicFunctionReceivesAllArguments() throws {
        try db.register(.function("longest", arguments: nil, .deterministic) { arguments in
            var longest = ""
            for index in 0..<arguments.count where try !arguments.isNull(index) {
                let text: String = try arguments[index]
                if text.count > longest.count { longest = text }
            }
            return longest
        })
        #expect(try db.fetchOne(String.self, "SELECT longest('a', 'ccc', NULL, 'bb')") == "ccc")
        #expect(try db.fetchOne(String.self, "SELECT longest()") == "")
        // The form with as many arguments as the call has goes first.
        try db.register(.function("longest") { (_: String) in "one" })
        #expect(try db.fetchOne(String.self, "SELECT longest('a')") == "one")
        try db.register(.function("sizes", arguments: 2) { arguments in
            try arguments.withUnsafeBytes(at: 0) { $0.count } + arguments.withUnsafeBytes(at: 1) { $0.count }
        })
        #expect(try db.fetchOne(Int.self, "SELECT sizes('é', zeroblob(5))") == 7)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT sizes(1, 2)") }
        try db.register(.function("beyond", arguments: nil) { arguments in try arguments.get(5, as: Int.self) })
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT beyond(1)") }
        #expect(error?.reason == .invalidArgument)
        #expect(throws: DatabaseError.self) { try db.register(.function("f", arguments: -2) { _ in 1 }) }
        #expect(throws: DatabaseError.self) { try db.register(.function("f", arguments: 100_000) { _ in 1 }) }
        #expect(throws: DatabaseError.self) { try db.register(.function(String(repeating: "f", count: 300)) { 1 }) }
    }

    @Test func functionErrorReachesTheCaller() throws {
        try db.register(.function("refuse") { (n: Int) -> Int in throw Refusal(number: n) })
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT refuse(\(7))") }
        #expect(error?.underlyingError as? Refusal == Refusal(number: 7))
        #expect(error?.reason == .callback)
        #expect(error?.message.contains("refuse") == true && error?.message.contains("7") == true)
        #expect(error?.sql == "SELECT refuse(?)")
        // An error of SQLite's own that comes later is its own.
        let other = #expect(throws: DatabaseError.self) { try db.execute("SELECT abs(-9223372036854775808)") }
        #expect(other?.underlyingError == nil && other?.message == "integer overflow")
        try db.register(.function("full") { () -> Int in throw DatabaseError(code: .full, reason: .invalidArgument, message: "no\0room") })
        try db.begin()
        let own = #expect(throws: DatabaseError.self) { try db.execute("SELECT full()") }
        #expect(own?.code == .full && own?.reason == .invalidArgument && own?.message == "no\0room")
        // The code is the caller's to read, and not SQLite's, which would have rolled back.
        #expect(db.isInTransaction)
        try db.rollback()
        struct Spoken: LocalizedError { var errorDescription: String? { "in plain words" } }
        try db.register(.function("speak") { () -> Int in throw Spoken() })
        let spoken = #expect(throws: DatabaseError.self) { try db.execute("SELECT speak()") }
        #expect(spoken?.message.contains("in plain words") == true)
    }

    @Test func inexactFunctionArgumentsAndResultsThrow() throws {
        try db.register(.function("int") { (x: Int) in x })
        try db.register(.function("byte") { (x: UInt8) in Int(x) })
        try db.register(.function("text") { (x: String) in x })
        try db.register(.function("nan") { Double.nan })
        try db.register(.function("huge") { UInt64.max })
        for sql: SQL in [
            "SELECT int(3.5)", "SELECT int('3')", "SELECT int(NULL)", "SELECT byte(256)", "SELECT text(5)", "SELECT text(CAST(x'ff' AS TEXT))",
            "SELECT nan()", "SELECT huge()",
        ] { #expect(throws: DatabaseError.self, "\(sql.text)") { try db.execute(sql) } }
        #expect(try db.fetchOne(Int.self, "SELECT int(3.0)") == 3)
        let null = #expect(throws: DatabaseError.self) { try db.execute("SELECT text(NULL)") }
        #expect(null?.reason == .unexpectedNull && null?.message.contains("argument 1") == true)
    }

    @Test func functionFlagsTakeEffect() throws {
        try db.register(.function("sure", .deterministic) { (x: Int) in x + 1 })
        try db.register(.function("unsure") { (x: Int) in x + 1 })
        try db.execute("CREATE TABLE t(x, y AS (sure(x)))")
        try db.execute("CREATE INDEX i ON t(sure(x))")
        #expect(throws: DatabaseError.self) { try db.execute("CREATE INDEX j ON t(unsure(x))") }
        try db.register(.function("direct", .directOnly) { 1 })
        try db.register(.function("harmless", .innocuous) { 1 })
        try db.execute("CREATE VIEW v AS SELECT direct()")
        try db.execute("CREATE VIEW w AS SELECT harmless()")
        try db.execute("CREATE VIEW u AS SELECT unsure(1)")
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT * FROM v") }
        #expect(error?.message.contains("unsafe") == true)
        try db.execute("SELECT * FROM u")
        try db.settings.setEnabled(.trustedSchema, to: false)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT * FROM u") }
        try db.execute("SELECT * FROM w")
        try db.execute("SELECT direct()")
    }

    @Test func functionNameWithNULThrows() throws {
        let items: [SQLExtension] = [
            .function("lower\0x") { (_: String) in "wrong" }, .function("lower\0x", arguments: 1) { _ in "wrong" },
            .aggregate("lower\0x", arguments: 1) { AggregateTests.Product() },
        ]
        for item in items {
            let error = #expect(throws: DatabaseError.self) { try db.register(item) }
            #expect(error?.reason == .invalidArgument)
        }
        try db.register(.function("mine") { 1 })
        #expect(throws: DatabaseError.self) { try db.unregister(.function("mine\0x", arguments: 0)) }
        #expect(try db.fetchOne(String.self, "SELECT lower('A') || mine()") == "a1")
    }

    @Test func extensionNameOver255BytesThrows() throws {
        let longest = String(repeating: "é", count: 127) + "f", longer = String(repeating: "é", count: 128)
        try db.register(.function(longest) { 1 })
        #expect(try db.fetchOne(Int.self, "SELECT \(raw: longest)()") == 1)
        let items: [SQLExtension] = [.function(longer) { 1 }, .aggregate(longer, arguments: 1) { AggregateTests.Product() }]
        for item in items {
            let error = #expect(throws: DatabaseError.self) { try db.register(item) }
            #expect(error?.reason == .invalidArgument && error?.message == "the name of a function has more than 255 bytes")
        }
        #expect(throws: DatabaseError.self) { try db.unregister(.function(longer, arguments: 0)) }
        // Collations and databases have no such limit.
        try db.register(.collation(longer) { _, _ in .orderedSame })
        #expect(try db.fetchOne(Int.self, "SELECT 'a' = 'b' COLLATE \(raw: longer)") == 1)
        let other = try db.attach(.memory, as: longer, key: nil)
        try db.execute("CREATE TABLE \(identifier: longer).\(identifier: longer)(\(identifier: longer))")
        #expect(try other.columns(of: longer).map(\.name) == [longer])
    }

    @Test func unregisteredFunctionRestoresTheBuiltIn() throws {
        try db.register(.function("abs") { (_: Int) in 5 })
        #expect(try db.fetchOne(Int.self, "SELECT abs(-1)") == 5)
        try db.unregister(.function("abs", arguments: 1))
        #expect(try db.fetchOne(Int.self, "SELECT abs(-1)") == 1)
        // A function for any number of arguments hides the built-in one as well.
        for result in ["first", "second"] {
            try db.register(.function("lower", arguments: nil) { _ in result })
            let lower = try db.prepare(SQL(raw: "SELECT lower('A'), '\(result)'"))
            #expect(try lower.fetchOne(String.self) == result)
            try db.unregister(.function("lower", arguments: nil))
            #expect(try lower.fetchOne(String.self) == "a")
            try db.unregister(.function("lower", arguments: nil))
        }
        // While a statement runs, another function may be registered under the name of one that was removed.
        try db.register(.function("gone") { 1 })
        try db.unregister(.function("gone", arguments: 0))
        try db.forEach("SELECT 1") { _ in try db.register(.function("gone") { 2 }) }
        #expect(try db.fetchOne(Int.self, "SELECT gone()") == 2)
        // The aggregate that SQLite optimises is itself again.
        try db.register(.aggregate("count", arguments: 0) { AggregateTests.Product() })
        try db.unregister(.function("count", arguments: 0))
        #expect(try db.fetchOne(Int.self, "SELECT count() FROM (SELECT 1 UNION SELECT 2)") == 2)
        try db.register(.function("mine", arguments: nil) { _ in 1 })
        #expect(try db.fetchOne(Int.self, "SELECT mine(1, 2)") == 1)
        try db.unregister(.function("mine", arguments: nil))
        #expect(throws: DatabaseError.self) { try db.execute("SELECT mine(1, 2)") }
        try db.unregister(.function("never_there", arguments: 3))
        db.close()
        #expect(throws: DatabaseError.self) { try db.register(.function("f") { 1 }) }
    }
}

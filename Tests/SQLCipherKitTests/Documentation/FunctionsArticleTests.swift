import ExtensionSample
import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The examples of the article "Functions and collations", in its order.
@Suite struct FunctionsArticleTests {
    @Test func functionsArticleCodeWorks() throws {
        let desk = try ExampleDesk()
        let (db, path, key) = (desk.db, desk.path, desk.key)
        try db.register(.function("shout", .deterministic) { (text: String) in
            text.uppercased() + "!"
        })
        let loud = try db.fetchAll(
            String.self, "SELECT shout(title) FROM note ORDER BY id")
        #expect(loud == ["BAKERY!", "MILL!", "WELL!"])
        try db.register(.function("longest", arguments: nil) { arguments in
            var longest = ""
            for index in 0..<arguments.count {
                let text: String = try arguments[index]
                if text.count > longest.count { longest = text }
            }
            return longest
        })
        let longest = try db.fetchOne(
            String.self, "SELECT longest('a', 'abc', 'ab')")
        #expect(longest == "abc")
        try db.register(.function("half", [.deterministic, .innocuous]) {
            (x: Double?) in x.map { $0 / 2 }
        })
        try db.execute("CREATE INDEX by_half ON note(half(stars))")

        try db.register(.function("device_name", .directOnly) { () in "pad" })
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE half(stars) = 1.5") == [1])
        try db.execute("CREATE VIEW leak AS SELECT device_name()")
        #expect(throws: DatabaseError.self) { try db.fetchAll(String.self, "SELECT * FROM leak") }
        struct Product: SQLAggregate {
            var product = 1
            mutating func step(
                _ arguments: borrowing FunctionArguments
            ) throws {
                if let value: Int = try arguments[0] { product *= value }
            }
            func finish() -> Int { product }
        }
        try db.register(.aggregate("product", arguments: 1) { Product() })
        let product = try db.fetchOne(
            Int.self, "SELECT product(stars) FROM note")
        #expect(product == 15)
        try db.register(.unicodeCollationIgnoringCase)
        try db.register(.collation("BY_LENGTH") { a, b in
            a.count < b.count ? .orderedAscending
                : a.count > b.count ? .orderedDescending : .orderedSame
        })
        let shortest = try db.fetchOne(
            String.self,
            "SELECT title FROM note ORDER BY title COLLATE BY_LENGTH")
        #expect(shortest == "Mill")
        try db.main.reindex(collation: "UNICODE_NOCASE")
        try db.register(.regularExpressions())
        let versions = try db.fetchAll(
            String.self, "SELECT title FROM note WHERE title REGEXP \("^B")")
        #expect(versions == ["Bakery"])
        try db.register(.entryPoint(sqlite3_sample_init))
        let even = try db.fetchAll(
            Int.self, "SELECT sample_twice(value) FROM sample_countdown(3)")
        #expect(even == [6, 4, 2])
        try db.unregister(.function("shout", arguments: 1))
        try db.unregister(.function("longest", arguments: nil))
        try db.unregister(.collation("BY_LENGTH"))
        for sql in ["shout('a')", "longest('a')", "'a' < 'b' COLLATE BY_LENGTH"] {
            #expect(throws: DatabaseError.self, "\(sql)") { try db.fetchOne(SQLValue.self, SQL(raw: "SELECT \(sql)")) }
        }
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in
            try db.register(.unicodeCollationIgnoringCase)
        }
        let pool = try DatabasePool(
            .file(path), key: key, configuration: configuration)
        try pool.register(.function("double") { (x: Int) in 2 * x })
        let doubled = try pool.read { db in
            try db.fetchOne(Int.self, "SELECT double(21)")
        }
        #expect(doubled == 42)
    }
}

import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct CollationTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    private func sorted(_ words: [String], _ collation: String) throws -> [String] {
        try db.fetchAll(
            String.self, SQL(raw: "SELECT column1 FROM (VALUES \(words.map { _ in "(?)" }.joined(separator: ","))) ORDER BY 1 COLLATE \(collation)"),
            StatementArguments(words))
    }

    @Test func closureCollationSortsComparesAndEnforcesUnique() throws {
        try db.register(.collation("BY_LENGTH") { a, b in
            a.count < b.count ? .orderedAscending : a.count > b.count ? .orderedDescending : .orderedSame
        })
        #expect(try sorted(["ccc", "a", "", "bb"], "BY_LENGTH") == ["", "a", "bb", "ccc"])
        #expect(try db.fetchOne(Bool.self, "SELECT 'xy' = 'éé' COLLATE BY_LENGTH") == true)
        try db.execute("CREATE TABLE t(x TEXT COLLATE BY_LENGTH UNIQUE)")
        try db.execute("INSERT INTO t VALUES ('abc')")
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t VALUES ('xyz')") }
        #expect(error?.code == .constraintUnique)
    }

    @Test func unicodeCollationComparesCanonicalEquivalents() throws {
        try db.register(.unicodeCollation)
        try db.register(.unicodeCollationIgnoringCase)
        // The same letter in two spellings, and letters beyond A to Z.
        #expect(try db.fetchOne(Bool.self, "SELECT \("e\u{301}") = \("é") COLLATE UNICODE") == true)
        #expect(try db.fetchOne(Bool.self, "SELECT \("e\u{301}") = \("é")") == false)
        #expect(try db.fetchOne(Bool.self, "SELECT 'ÄÖÜ' = 'äöü' COLLATE NOCASE") == false)
        #expect(try db.fetchOne(Bool.self, "SELECT 'ÄÖÜ' = 'äöü' COLLATE UNICODE_NOCASE") == true)
        #expect(try db.fetchOne(Bool.self, "SELECT 'ПРИВЕТ' = 'привет' COLLATE UNICODE_NOCASE") == true)
        #expect(try sorted(["b", "A", "a", "B"], "UNICODE") == ["A", "B", "a", "b"])
        #expect(try sorted(["Bb", "aa", "CC"], "UNICODE_NOCASE") == ["aa", "Bb", "CC"])
        // Not UTF-8: compared, not trapped on.
        #expect(try db.fetchOne(Bool.self, "SELECT CAST(x'ff' AS TEXT) > 'a' COLLATE UNICODE") == true)
    }

    @Test func localizedCollationSortsNumbersByValue() throws {
        try db.register(.localizedCollation(locale: Locale(identifier: "en")))
        #expect(try sorted(["file 10", "File 9", "file 1"], "LOCALIZED") == ["file 1", "File 9", "file 10"])
        try db.register(.localizedCollation("ENGLISH", locale: Locale(identifier: "en")))
        #expect(try sorted(["b", "a"], "english") == ["a", "b"])
    }

    /// A table that names GRDB's collations is read and written as GRDB does, which compares by the same calls.
    @Test func collationsOfGRDBSortAsItsCallsDo() throws {
        let words = ["file 10", "File 9", "file 9", "é", "e\u{301}", "f", "Z", "a", "Ä", "ä", "", "straße", "STRASSE", "ﬁ"]
        let calls: [(String, (String, String) -> ComparisonResult)] = [
            ("swiftCompare", { $0 < $1 ? .orderedAscending : $0 == $1 ? .orderedSame : .orderedDescending }),
            ("swiftCaseInsensitiveCompare", { $0.caseInsensitiveCompare($1) }), ("swiftLocalizedCompare", { $0.localizedCompare($1) }),
            ("swiftLocalizedCaseInsensitiveCompare", { $0.localizedCaseInsensitiveCompare($1) }),
            ("swiftLocalizedStandardCompare", { $0.localizedStandardCompare($1) }),
        ]
        for (name, _) in calls {
            let error = #expect(throws: DatabaseError.self) { try sorted(words, name) }
            #expect(error?.message == "no such collation sequence: \(name)")
        }
        try db.register(.grdbCollations)
        for (name, compare) in calls {
            for a in words {
                for b in words where Array(a.utf8) != Array(b.utf8) {
                    let found = try db.fetchOne(
                        (Bool, Bool).self, SQL(raw: "SELECT ? < ? COLLATE \(name), ? = ? COLLATE \(name)"), [a, b, a, b])
                    let wanted = compare(a, b)
                    #expect(found?.0 == (wanted == .orderedAscending) && found?.1 == (wanted == .orderedSame), "\(name): \(a), \(b)")
                }
            }
        }
    }

    @Test func unregisteredCollationRestoresTheBuiltIn() throws {
        try db.register(.collation("MINE") { _, _ in .orderedSame })
        _ = try sorted(["a", "b"], "MINE")
        try db.unregister(.collation("MINE"))
        let error = #expect(throws: DatabaseError.self) { try sorted(["a", "b"], "MINE") }
        #expect(error?.message.contains("no such collation") == true)
        try db.unregister(.collation("never_there"))
        // SQLite's own come back.
        for (name, texts) in [("NOCASE", ["a", "B"]), ("binary", ["B", "a"]), ("RTRIM", ["a", "b "])] {
            let last = texts[1]
            try db.register(.collation(name) { a, b in a == b ? .orderedSame : a == last ? .orderedAscending : .orderedDescending })
            // SQLite compares bytes itself where the order is BINARY.
            #expect(try sorted(texts, name) == texts.reversed() || name == "binary")
            try db.unregister(.collation(name))
            #expect(try sorted(texts, name) == texts)
        }
    }

    @Test func collationNameWithNULThrows() throws {
        let error = #expect(throws: DatabaseError.self) { try db.register(.collation("NOCASE\0x") { _, _ in .orderedSame }) }
        #expect(error?.reason == .invalidArgument)
        #expect(throws: DatabaseError.self) { try db.unregister(.collation("NOCASE\0x")) }
        #expect(try sorted(["b", "A"], "NOCASE") == ["A", "b"])
    }

    @Test func collationThatUsesTheConnectionThrows() throws {
        var failures = 0
        try db.register(.collation("CURIOUS") { a, b in
            do { try db.execute("SELECT 1") } catch { failures += 1 }
            return a < b ? .orderedAscending : .orderedDescending
        })
        #expect(try sorted(["b", "a"], "CURIOUS") == ["a", "b"])
        #expect(failures > 0)
        // While it is used it stays.
        try db.forEach("SELECT 1 WHERE 'a' < 'b' COLLATE CURIOUS") { _ in
            #expect(throws: DatabaseError.self) { try db.unregister(.collation("CURIOUS")) }
            #expect(throws: DatabaseError.self) { try db.register(.collation("CURIOUS") { _, _ in .orderedSame }) }
        }
    }
}

import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct RegularExpressionTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(x)")
        for text in ["v1", "version v22", "V3", "é1", "none"] { try db.execute("INSERT INTO t VALUES (\(text))") }
    }

    private func found(_ pattern: String) throws -> [String] {
        try db.fetchAll(String.self, "SELECT x FROM t WHERE x REGEXP ? ORDER BY rowid", [pattern])
    }

    @Test func regexpMatchesAnywhereOrTheWholeText() throws {
        #expect(throws: DatabaseError.self) { try found("v[0-9]+") }
        try db.register(.regularExpressions())
        #expect(try found("v[0-9]+") == ["v1", "version v22"])
        try db.register(.regularExpressions(matchingWhole: true))
        #expect(try found("v[0-9]+") == ["v1"])
        #expect(try found(".\\d") == ["v1", "V3", "é1"])
        try db.register(.regularExpressions(matchingWhole: true, ignoringCase: true))
        #expect(try found("v\\d") == ["v1", "V3"])
        #expect(try found("É1") == ["é1"])
    }

    @Test func malformedRegexpPatternThrows() throws {
        try db.register(.regularExpressions())
        let error = #expect(throws: DatabaseError.self) { try found("(") }
        #expect(error?.reason == .invalidArgument)
        #expect(error?.message.contains("at character 1 of 1") == true)
        #expect(try found("v") == ["v1", "version v22"])
    }

    @Test func regexpAcceptsNullNumbersAndBlobs() throws {
        try db.register(.regularExpressions(matchingWhole: true))
        #expect(try db.fetchOne(Bool?.self, "SELECT NULL REGEXP 'a'") == .some(nil))
        #expect(try db.fetchOne(Bool?.self, "SELECT 'a' REGEXP NULL") == .some(nil))
        #expect(try db.fetchOne(Bool.self, "SELECT 123 REGEXP '[0-9]+'") == true)
        #expect(try db.fetchOne(Bool.self, "SELECT x'6162' REGEXP 'ab'") == true)
    }

    @Test func regexpPatternMayDifferForEachRow() throws {
        try db.register(.regularExpressions())
        // More patterns than are kept, each used again.
        let count = try db.fetchOne(
            Int.self,
            "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 299) SELECT count(*) FROM n WHERE ('a' || i % 150) REGEXP ('^a' || i % 150 || '$')")
        #expect(count == 300)
    }

    /// The part of Swift's syntax that is the same here, against Swift's own engine.
    @Test func regexpMatchesLikeSwiftRegex() throws {
        let texts = [
            "", "a", "ab", "abc", "aab", "aaaab", "v1", "V3", "version v22", "é1", "e\u{301}1", "a\nb", "ab\n", "a.b", "x-y", "foo bar",
            "_9", "ß", "ÀÉ", "\r\n", "日本語", "1½", "🇩🇪x", "ss",
        ]
        let patterns = [
            "a", "^a", "b$", "a*", "a+b", "a?b", "(a|b)+", "(?:a|b)c", "[a-c]+", "[^a-c]+", "\\d+", "\\w+", "\\W", "\\s", "\\bfoo\\b",
            "a.b", "a\\.b", ".\\d", "(a|a)*b", "(a*)*b", "a{2}", "a{2,}", "a{2,3}b", "a{,2}b", "a{0}b", "^$", "\\A", "\\z", "(?i)v\\d",
            "(?i:É)1", "(?i)ß", "[[:alpha:]]+\\d", "\\p{Lu}", "\\P{L}", "[\\d_]+", "a|", "(x|)y?", "(?s)a.b", "(?m)a$", "(?m)^b", "\\x61",
            "\\u0061b", "[-a]", "[a-]", "é", "[à-ÿ]", "(?<n>a)b", "a+?b", "\\t|b",
        ]
        for pattern in patterns {
            let regex = try Regex(pattern)
            for isWhole in [false, true] {
                try db.register(.regularExpressions(matchingWhole: isWhole))
                for text in texts {
                    let expected = try isWhole ? regex.wholeMatch(in: text) != nil : regex.firstMatch(in: text) != nil
                    let found = try db.fetchOne(Bool.self, "SELECT \(text) REGEXP \(pattern)")
                    #expect(found == expected, "\(pattern) \(text.debugDescription) \(isWhole)")
                }
            }
        }
    }

    /// A construct that the engine lacks, or that is too large, is an error that shows nothing of the pattern.
    @Test func regexpRefusesWhatItCannotBound() throws {
        try db.register(.regularExpressions())
        func nested(_ open: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + "secret" + String(repeating: close, count: count)
        }
        let patterns = [
            nested("(", ")", 3000), nested("[", "]", 3000), nested("(?:a|", ")", 101), nested("((", "){9999}){9999}", 40),
            "(secret{1000}){1000}", String(repeating: "secret", count: 2000), "secret{99999999999999999999}", "(secret)\\1",
            "secret(?=a)", "(?<=secret)a", "(?>secret)", "secret*+", "secret**", "\\p{secret}", "secret\\", "[secret", "secret)", "[z-a]",
        ]
        for pattern in patterns {
            let error = #expect(throws: DatabaseError.self, "\(pattern.prefix(20))") { try found(pattern) }
            #expect(error?.reason == .invalidArgument, "\(pattern.prefix(20))")
            #expect(error.map { "\($0)" }?.contains("secret") == false)
        }
        // Instructions that repeat nothing are not counted out.
        #expect(try found("(((){9999}){9999}){9999}v1$") == ["v1"])
    }

    @Test func regexpIsLinearAndEnds() throws {
        let slow = "(a?){1000}b", text = String(repeating: "a", count: 20_000)
        try db.register(.regularExpressions())
        for pattern in ["(a|a)*b", "(a*)*b", "(a+)+b", "(a|aa)+b"] {
            #expect(try db.fetchOne(Bool.self, "SELECT \(String(repeating: "a", count: 100)) REGEXP \(pattern)") == false)
        }
        try db.register(.regularExpressions(stepLimit: 10_000))
        var error = #expect(throws: DatabaseError.self) { try db.fetchOne(Bool.self, "SELECT \(text) REGEXP \(slow)") }
        #expect(error?.reason == .limitExceeded)
        try db.register(.regularExpressions())
        let handle = try db.interruptHandle
        try db.settings.setProgressHandler(every: 1_000_000) {
            handle.interrupt()
            return true
        }
        error = #expect(throws: DatabaseError.self) { try db.fetchOne(Bool.self, "SELECT \(text) REGEXP \(slow)") }
        #expect(error?.code.primary == .interrupted)
        var calls = 0
        try db.settings.setProgressHandler(every: 1_000_000) {
            calls += 1
            return calls < 3
        }
        error = #expect(throws: DatabaseError.self) { try db.fetchOne(Bool.self, "SELECT \(text) REGEXP \(slow)") }
        #expect(error?.code.primary == .interrupted && calls == 3)
    }
}

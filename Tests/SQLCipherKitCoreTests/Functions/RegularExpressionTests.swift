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
        #expect(error?.message.contains("(") == true)
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
}

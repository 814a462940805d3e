import SQLCipherKitCore
import Testing

@Suite struct OwnedRowTests {
    private static func row(_ sql: SQL) throws -> OwnedRow {
        try #require(try Connection(.memory).fetchOne(OwnedRow.self, sql))
    }

    @Test func rowsAreEqualByColumnNamesAndValues() throws {
        let row = try Self.row("SELECT 1 AS a, 'e' AS b")
        #expect(try row == Self.row("SELECT 1 AS a, 'e' AS b"))
        #expect(try row.hashValue == Self.row("SELECT 1 AS a, 'e' AS b").hashValue)
        let others: [SQL] = [
            "SELECT 1 AS a", "SELECT 2 AS a, 'e' AS b", "SELECT 1 AS a, 'e' AS c", "SELECT 1.0 AS a, 'e' AS b", "SELECT 1 AS a, x'65' AS b",
        ]
        for other in others { #expect(try row != Self.row(other)) }
    }

    /// Swift takes texts with the same characters for equal, SQLite those with the same bytes.
    @Test func rowTextsAreComparedByBytes() throws {
        #expect(try Self.row("SELECT char(233) AS a") != Self.row("SELECT char(101, 769) AS a"))
        #expect(try Self.row("SELECT 1 AS \"\u{E9}\"") != Self.row("SELECT 1 AS \"e\u{301}\""))
    }
}

import Testing
@testable import SQLCipherKitCore

/// The tokens of SQL text that is not compiled.
@Suite struct SQLTokensTests {
    private static func parts(_ text: String) -> [(SQLTokens.Kind, String)] {
        var tokens = SQLTokens(text), parts: [(SQLTokens.Kind, String)] = []
        while let part = tokens.nextPart(), parts.count < 100 { parts.append((part.kind, tokens.text(part))) }
        return parts
    }

    @Test func partsAreTheWholeText() {
        let text = "SELECT\t\"a\"\"b\",[c],'é''' -- one\n/* two; */ FROM t(1.5) ;x'00' ?1 # '"
        let parts = Self.parts(text)
        #expect(parts.map(\.1).joined() == text)
        let kinds = parts.filter { $0.0 != .blank }.map(\.0)
        #expect(kinds == [
            .word, .quoted, .other, .quoted, .other, .quoted, .comment, .comment, .word, .word, .opening, .other, .closing, .semicolon,
            .other, .other, .unreadable, .unreadable,
        ])
    }

    /// The engine's text ends at a NUL character, and a file can contain one in its schema.
    @Test func textWithNULCharactersEnds() {
        #expect(Self.parts("a\0b \0").map(\.0) == [.word, .unreadable, .word, .blank, .unreadable])
    }

    @Test(arguments: [
        ("'a", "'"), ("\"a", "\""), ("`a", "`"), ("[a", "["), ("/* a", "/*"), ("x'0", "x'"), ("'a''", "'"), ("#", nil), ("'a'", nil), ("a", nil),
    ] as [(String, String?)])
    func openTokensSayWhatOpensThem(text: String, opening: String?) throws {
        var tokens = SQLTokens("SELECT " + text), last: SQLTokens.Token?
        while let token = tokens.next() { last = token }
        let found = tokens.opening(try #require(last)).map { String(decoding: $0, as: UTF8.self) }
        #expect(found == opening)
    }

    /// Only blanks, semicolons and comments may follow a statement.
    @Test(arguments: [
        ("", true), (" ; \n", true), ("\u{feff};", true), (" -- x", true), ("/* x", true), ("/* x */;", true), ("/*", false), ("; /", false),
        ("\u{b}", false), ("'", false), ("; SELECT 2", false), ("\t\u{b} ", true),
    ])
    func whatMayFollowAStatement(text: String, isAllowed: Bool) throws {
        let db = try Connection(.memory)
        defer { db.close() }
        #expect((try? db.fetchOne(Int.self, SQL(raw: "SELECT 1;" + text))) == (isAllowed ? 1 : nil), "\(text)")
    }
}

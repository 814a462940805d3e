#if DEBUG || SQLCIPHERKIT_TESTABLE
import SQLCipherKit
import TestSupport
import Testing
@testable import SQLCipherKitCLI

/// The tool splits SQL by the rule of `sqlite3_complete`, in linear time.
@Suite struct StatementSplitterTests {
    private static let tokens = ["EXPLAIN", "SELECT", "create", "TEMPORARY", "Trigger", "END", ";", "';'", "[;]", "/* ; */", "0"]

    /// Every text of four tokens after each of these beginnings.
    @Test(arguments: ["", "EXPLAIN", "EXPLAIN QUERY PLAN", "CREATE", "CREATE TRIGGER t", "EXPLAIN x CREATE TEMP TRIGGER t; END"])
    func splitterEndsStatementsLikeSQLite(beginning: String) throws {
        var wrong: [String] = []
        for number in 0..<Self.tokens.count * Self.tokens.count * Self.tokens.count * Self.tokens.count {
            var text = beginning, rest = number
            for _ in 0..<4 {
                text += " " + Self.tokens[rest % Self.tokens.count]
                rest /= Self.tokens.count
            }
            var splitter = StatementSplitter()
            let statements = try splitter.take(text.utf8)
            let isWhole = statements.allSatisfy { SQLScript($0.sql).isComplete }
            let isUnfinished = try splitter.rest().map { !SQLScript($0.sql).isComplete } ?? true
            if !isWhole || !isUnfinished { wrong.append(text) }
        }
        #expect(wrong.isEmpty, "\(wrong.count) texts, such as \(wrong.prefix(3))")
    }

    private static let pieces = ["'", "''", "\"", "`", "[", "]", "/*", "*/", "/", "--", "\n", "\n", ";", "x'", "SELECT", " ", "\t", "é"]

    /// Strings, names and comments may go over lines, and begin a line with what would end them.
    @Test func tokensGoOverLines() throws {
        var random = SeededGenerator(), wrong: [String] = []
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...14, using: &random)).map { _ in Self.pieces.randomElement(using: &random) ?? "" }.joined()
            var splitter = StatementSplitter(), statements: [StatementSplitter.Statement] = []
            for line in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false) { statements += try splitter.take(line) }
            let rest = try splitter.rest()
            let isRight = statements.allSatisfy { SQLScript($0.sql).isComplete } && rest.map { !SQLScript($0.sql).isComplete } ?? true
            let left = (statements.map(\.sql) + [rest?.sql ?? ""]).joined().filter { !$0.isWhitespace }
            // Comments before a statement are left out.
            let isAll = text.contains("--") || text.contains("/*") || left == text.filter { !$0.isWhitespace }
            if !isRight || !isAll { wrong.append(text) }
        }
        #expect(wrong.isEmpty, "\(wrong.count) texts, such as \(wrong.prefix(3))")
    }
}
#endif

import SQLCipherKit

/// Runs the statements of a script one after the other, and names the line of one that fails.
enum ScriptRunner {
    /// Runs a whole script, of which one statement is in memory.
    static func run(_ lines: PlainLines, _ body: (StatementSplitter.Statement) throws -> Void) throws {
        var splitter = StatementSplitter()
        while let line = try lines.line() {
            for statement in try splitter.take(line) { try locating(line: statement.line) { try body(statement) } }
        }
        if let statement = try splitter.rest() { try locating(line: statement.line) { try body(statement) } }
    }

    /// The statements of a text.
    static func statements(of text: String) throws -> [String] {
        var splitter = StatementSplitter()
        var statements: [String] = []
        for line in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false) {
            statements += try splitter.take(line).map(\.sql)
        }
        if let rest = try splitter.rest() { statements.append(rest.sql) }
        return statements
    }

    /// Adds the line of the script to an error.
    static func locating<R>(line: Int?, _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            guard let line, !Interruption.isWanted else { throw error }
            if let failure = error as? Failure { throw Failure("line \(line): \(failure.message)", status: failure.status) }
            throw Failure(describing: error, firstLine: line)
        }
    }
}

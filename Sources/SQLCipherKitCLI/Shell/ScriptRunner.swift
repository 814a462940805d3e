import SQLCipherKit

/// Runs the statements of a script one after the other, and names the line of one that fails.
struct ScriptRunner {
    private var splitter = StatementSplitter()

    /// Runs a whole script.
    static func run(_ script: String, _ body: (StatementSplitter.Statement) throws -> Void) throws {
        var runner = ScriptRunner()
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            try runner.take(String(line), body)
        }
        try runner.finish(body)
    }

    mutating func take(_ line: String, _ body: (StatementSplitter.Statement) throws -> Void) throws {
        for statement in splitter.take(line) { try Self.locating(line: statement.line) { try body(statement) } }
    }

    mutating func finish(_ body: (StatementSplitter.Statement) throws -> Void) throws {
        if let statement = splitter.rest() { try Self.locating(line: statement.line) { try body(statement) } }
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

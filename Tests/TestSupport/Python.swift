import Foundation

/// The Python that `scripts/test` has set up with independent builds of the database engine.
public enum Python {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// Runs a program with `arguments` as `sys.argv[1:]` and returns its output.
    public static func run(_ program: String, _ arguments: String...) throws -> String {
        guard let python = ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_PYTHON"] else {
            throw Failure(description: "SQLCIPHERKIT_TEST_PYTHON is not set: run the tests with ./scripts/test")
        }
        let outcome = try Command.run(python, ["-c", program] + arguments)
        guard outcome.status == 0 else { throw Failure(description: outcome.errors) }
        return outcome.output.trimmingCharacters(in: .newlines)
    }
}

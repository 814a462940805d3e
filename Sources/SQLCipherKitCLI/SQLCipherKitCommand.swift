import ArgumentParser
import SQLCipherKit

@main
struct SQLCipherKitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sqlcipherkit",
        abstract: "Encrypted SQLite databases with full-text search and JSON.",
        discussion: """
            A key is asked for on the terminal, or comes from a file, the environment or a file descriptor \
            (--key-file, --key-env, --key-fd); it is never an argument.

            An error is one line on standard error. Exit status: 0 done, 1 failed, 3 wrong or missing key or no database, \
            64 wrong usage, 130 interrupted.
            """,
        version: "sqlcipherkit, SQLCipher \(Engine.cipherVersion), SQLite \(Engine.sqliteVersion)",
        subcommands: [
            IndexCommand.self, SearchCommand.self, QueryCommand.self, TourCommand.self, VersionCommand.self,
        ])

    /// In place of the parser's own, so that every error is one line and has the status that the help promises.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
            try Output.flush()
        } catch {
            if exitCode(for: error) == .success { exit(withError: error) }
            let failure = Failure(describing: error)
            try? Output.flush()
            Output.error("sqlcipherkit: " + failure.message.onOneLine)
            exit(withError: ExitCode(failure.status.rawValue))
        }
    }
}

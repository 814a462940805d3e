import ArgumentParser
import Foundation
import SQLCipherKit

/// The tool. `Sources/Tool` starts it.
package struct SQLCipherKitCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "sqlcipherkit",
        abstract: "Encrypted SQLite databases with full-text search and JSON.",
        discussion: """
            sqlcipherkit FILE opens a shell. You type a key on the terminal, or it comes from a file, an environment variable, a \
            file descriptor or a systemd credential (--key-file, --key-env, --key-fd, --key-credential). It is never an argument.

            Every command takes --json, and then writes one JSON value to standard output, with the keys that the command's help \
            lists. An error is one line on standard error and an exit status, also with --json.

            EXIT STATUS
              0  success
              1  failure, or search found nothing
              3  wrong or missing key, or a file that is not a database
              4  verify or identify found a problem, recover lost data, erase left data behind, diff found a difference
              5  the store of a replica is in an earlier state than before, or has another history
              6  verify found no problem, and could not check everything
              64  wrong usage
              130  interrupted; unfinished changes were undone

            ENVIRONMENT
              NO_COLOR  turns off colors, which are used only on a terminal
              SQLCIPHERKIT_HISTORY  the file in which the shell keeps its history
              SQLCIPHERKIT_KEY_FILE  the key file for commands without a key option

            EXAMPLES
              sqlcipherkit import notes.db ~/Documents
              sqlcipherkit search notes.db baking bread
              sqlcipherkit query notes.db "SELECT path, size FROM document LIMIT 3"

            COMPLETION
              sqlcipherkit --generate-completion-script bash (or zsh, or fish)
            """,
        version: "sqlcipherkit, SQLCipher \(SQLCipherEngine.cipherVersion), SQLite \(SQLCipherEngine.sqliteVersion)",
        groupedSubcommands: [
            CommandGroup(name: "Content", subcommands: [
                    CreateCommand.self, ImportCommand.self, SearchCommand.self, QueryCommand.self, ShellCommand.self,
                    SchemaCommand.self, VectorsCommand.self, DumpCommand.self,
                ]),
            CommandGroup(name: "Keys", subcommands: [
                    KeyCommand.self, RekeyCommand.self, EncryptCommand.self, DecryptCommand.self, MigrateCommand.self,
                ]),
            CommandGroup(name: "Maintenance", subcommands: [
                    InfoCommand.self, IdentifyCommand.self, VerifyCommand.self, RecoverCommand.self, BackupCommand.self,
                    RestoreCommand.self, VacuumCommand.self, EraseCommand.self, SpaceCommand.self, DiffCommand.self,
                ]),
            CommandGroup(name: "Replication", subcommands: [ReplicateCommand.self, ReplicasCommand.self, SyncCommand.self]),
            CommandGroup(name: "About", subcommands: [TourCommand.self, VersionCommand.self]),
        ])

    package init() {}

    /// Parses the arguments that follow the program's name, and returns what runs their command, once or several times.
    package static func parsed(_ arguments: [String]) throws -> () throws -> Void {
        let parsed = try parseAsRoot(withCommand(arguments))
        return {
            var command = parsed
            try command.run()
            try Output.flush()
        }
    }

    /// The arguments with the command that a file alone stands for: `shell`, or `query` where SQL follows it.
    private static func withCommand(_ arguments: [String]) -> [String] {
        guard let first = arguments.first, !first.hasPrefix("-"), !Misspelling.commands.contains(first),
            NamesElsewhere.advice(about: first, NamesElsewhere.arguments) == nil, FileOptions.exists(first)
        else { return arguments }
        let query = ["query"] + arguments, hasSQL = arguments.count > 1 && !arguments[1].hasPrefix("-")
        return hasSQL || (try? parseAsRoot(query)) is QueryCommand ? query : ["shell"] + arguments
    }

    /// Replaces the parser's own `main`, so that every error is one line and has a status that the help lists.
    package static func main() -> Never { Foundation.exit(Invocation.current.run()) }

    /// Writes what a command that did not run to its end has to say: an error, or the help that was asked for.
    /// - Returns: the exit status.
    static func report(_ error: any Error) -> Int32 {
        do {
            // The parser takes long to tell its own errors apart, and knows no others.
            let status = Failure.describes(error) ? nil : exitCode(for: error)
            guard status == .success else { throw status == .validationFailure ? Failure(ofUsage: error) : error }
            let output = Invocation.current.output
            // Wrapped for a terminal; as for one of the usual width elsewhere.
            Output.line(fullMessage(for: error, columns: output.isTerminal ? nil : 80))
            try Output.flush()
            return 0
        } catch {
            let failure = Failure(describing: error)
            try? Output.flush()
            Output.error("sqlcipherkit: " + failure.message.onOneLine)
            return failure.status.rawValue
        }
    }
}

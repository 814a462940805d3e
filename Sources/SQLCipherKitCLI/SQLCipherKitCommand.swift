import ArgumentParser
import SQLCipherKit

@main
struct SQLCipherKitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sqlcipherkit",
        abstract: "Encrypted SQLite databases with full-text search and JSON.",
        discussion: """
            A key is asked for on the terminal, or comes from a file, the environment, a file descriptor or a credential of \
            systemd (--key-file, --key-env, --key-fd, --key-credential), or from where unlock has put it; it is never an argument.

            Every command takes --json and then writes one JSON value to standard output, with the keys that its help lists. An \
            error is one line on standard error and the status, with --json as well.

            EXIT STATUS
              0  done
              1  failed, or search has found nothing
              3  wrong or missing key, or a file that is no database
              4  verify has found damage, recover lost something, erase left something, diff or residue found something
              64  wrong usage
              130  interrupted; what is written is complete

            ENVIRONMENT
              NO_COLOR  no colours, which otherwise only a terminal gets
              PAGER  shows results that are longer than the terminal; less if it is not set, nothing if it is empty
              SQLCIPHERKIT_HISTORY  the file that keeps what is typed in the shell
              SQLCIPHERKIT_KEY_FILE  the key file of commands that are given no key option

            EXAMPLES
              sqlcipherkit import notes.db ~/Documents
              sqlcipherkit search notes.db baking bread
              sqlcipherkit query notes.db "SELECT path, size FROM document LIMIT 3"

            COMPLETION
              sqlcipherkit --generate-completion-script bash (or zsh, or fish)
            """,
        version: "sqlcipherkit, SQLCipher \(SQLCipherEngine.cipherVersion), SQLite \(SQLCipherEngine.sqliteVersion)",
        groupedSubcommands: [
            CommandGroup(
                name: "Content",
                subcommands: [
                    CreateCommand.self, ImportCommand.self, SearchCommand.self, QueryCommand.self, ShellCommand.self,
                    SchemaCommand.self,
                    KeyValueCommand.self, DumpCommand.self,
                ]),
            CommandGroup(
                name: "Keys",
                subcommands: [
                    KeyCommand.self, UnlockCommand.self, LockCommand.self, RekeyCommand.self, EncryptCommand.self,
                    DecryptCommand.self,
                    MigrateCommand.self,
                ]),
            CommandGroup(name: "Maintenance", subcommands: [
                    InfoCommand.self, IdentifyCommand.self, AdoptCommand.self, VerifyCommand.self, RecoverCommand.self,
                    BackupCommand.self,
                    RestoreCommand.self, VacuumCommand.self, EraseCommand.self, ResidueCommand.self, AnalyzeCommand.self,
                    SpaceCommand.self, DiffCommand.self,
                ]),
            CommandGroup(name: "About", subcommands: [TourCommand.self, VersionCommand.self]),
        ])

    /// In place of the parser's own, so that every error is one line and has the status that the help promises.
    static func main() {
        do {
            var command = try parseAsRoot(Array(Arguments.all.dropFirst()))
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

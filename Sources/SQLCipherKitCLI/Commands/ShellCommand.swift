import ArgumentParser
import Foundation
import SQLCipherKit

struct ShellCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell",
        abstract: "Type SQL and see what comes.",
        discussion: """
            Statements end with a semicolon and may go over several lines; .help shows the commands that are not SQL. \
            Control-C stops a statement and not the shell, control-D leaves it. The tab key completes keywords, the names of \
            tables, columns and functions, and files; control-R searches what was typed. Results that are longer than the terminal \
            go through $PAGER, or less.

            Without a terminal, statements are read from standard input, and the first error is the end: the line is named, and \
            what was not committed is undone. So is a transaction that is open at the end, which is an error.

            What is typed is forgotten with the shell, as it holds what the database keeps secret. --history, or the environment \
            variable SQLCIPHERKIT_HISTORY, names a file that keeps it, without statements that have a key in them.

            EXAMPLES
              sqlcipherkit shell notes.db
              sqlcipherkit shell notes.db --key-file notes.key < changes.sql

            \(JSONForm.rows(with: "the columns of a statement, for each statement that has columns"))
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not allow changes.")
    var readOnly = false

    @Option(help: ArgumentHelp("Keep what is typed in a file, which only you can read.", valueName: "file"), completion: .file())
    var history: String?

    private static var usualHistory: String? {
        let path = ProcessInfo.processInfo.environment["SQLCIPHERKIT_HISTORY"] ?? ""
        return path.isEmpty ? nil : (path as NSString).expandingTildeInPath
    }

    func run() throws {
        let isTerminal = Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDOUT_FILENO)
        let lines: any LineSource = isTerminal ? LineEditor(try History(file: history ?? Self.usualHistory)) : PlainLines()
        let (db, key) = try database.openWithKey(readOnly ? .readOnly : .readWrite)
        let shell = Shell(db, key, lines, format: output.format ?? .table)
        defer { try? Output.redirect(to: nil) }
        guard isTerminal else { return try shell.run() }
        Interruption.ofStatements()
        Output.pager = Pager.usual
        let versions = "SQLCipher \(SQLCipherEngine.cipherVersion), SQLite \(SQLCipherEngine.sqliteVersion)"
        Output.line(versions + "; .help shows what there is besides SQL")
        try TerminalMode.givingKeys(STDIN_FILENO) { try shell.run() }
    }
}

import ArgumentParser
import Foundation
import SQLCipherKit

struct ShellCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell",
        abstract: "Type SQL statements and see their results.",
        discussion: """
            Statements end with a semicolon and may span several lines; .help lists the commands that are not SQL. Control-C stops \
            the running statement but not the shell; control-D leaves the shell. The tab key completes keywords, the names of \
            tables, columns and functions, and files; control-R searches earlier lines. \
            If there is a file $XDG_CONFIG_HOME/sqlcipherkit/shellrc, or else \
            ~/.config/sqlcipherkit/shellrc, its commands run first.

            Without a terminal, statements are read from standard input, and the first error ends the shell: the message names the \
            line, and uncommitted changes are rolled back. A transaction that is still open at the end is rolled back too, and is \
            an error.

            A script can run programs and write files, with .shell, .output and others. --safe refuses these: then SQL alone is \
            left, which reaches no other file. --read-only refuses changes of the database as well.

            The shell forgets your lines when it ends, as they may contain secrets of the database. --history, or the \
            environment variable SQLCIPHERKIT_HISTORY, names a file that keeps them, except for statements that contain a key.

            FROM SQLITE'S SHELL
            \(Self.commands.map { "  \($0.theirs.padded(toColumns: 40))\($0.ours)" }.joined(separator: "\n"))

            EXAMPLES
              sqlcipherkit shell notes.db
              sqlcipherkit shell notes.db --key-file notes.key < changes.sql
              sqlcipherkit shell notes.db --safe --read-only < report-from-elsewhere.sql

            \(JSONForm.rows(with: "the columns of a statement, for each statement that has columns"))
            """)

    /// The commands of SQLite's shell, and the commands to type here.
    private static let commands: [(theirs: String, ours: String)] = [
        ".backup .restore .save .open", ".bail .changes .echo .headers .timer", ".databases .tables .indexes .schema",
        ".dump [TABLE]", ".exit .quit exit quit help .help", ".import --csv --skip 1 FILE TABLE",
        ".mode box csv column json table", ".mode line list markdown quote tabs", ".nullvalue .separator",
        ".once FILE, .once |PROGRAM, .output", ".parameter .print .read", ".shell .system",
    ].map { ($0, "the same") } + NamesElsewhere.dotCommands.map { row in
        (row.names.split(separator: " ").map { "." + $0 }.joined(separator: " "), row.here)
    } + [("sqldiff", "sqlcipherkit diff --sql"), ("ATTACH … KEY …", ".attach NAME=PATH [SOURCE]")]

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Attached databases") var attachments: AttachOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not allow changes.")
    var readOnly = false

    @Flag(
        help: """
            Refuse the commands that run programs or reach other files, for a script from an untrusted source: .shell, .read, \
            .output, .once, .import, .attach, .open, .backup, .save and .restore.
            """)
    var safe = false

    @Option(help: ArgumentHelp("Keep what you type in a file that only you can read.", valueName: "file"), completion: .file())
    var history: String?

    private static var usualHistory: String? {
        let path = Invocation.current.environment["SQLCIPHERKIT_HISTORY"] ?? ""
        return path.isEmpty ? nil : Paths.absolute(path)
    }

    func run() throws {
        let isTerminal = Terminal.isTerminal(Invocation.current.input) && Output.current.isTerminal
        let lines: any LineSource = isTerminal ? LineEditor(try History(file: history ?? Self.usualHistory)) : PlainLines()
        let (db, key) = try attachments.openWithKey(file, readOnly ? .readOnly : .readWrite)
        let shell = try Shell(db, file.path, key, lines, format: output.format ?? .table)
        shell.isSafe = safe
        defer { try? Output.redirect(to: nil) }
        guard isTerminal else { return try shell.run() }
        Interruption.ofStatements()
        let versions = "SQLCipher \(SQLCipherEngine.cipherVersion), SQLite \(SQLCipherEngine.sqliteVersion)"
        Output.line(versions + "; .help lists the commands that are not SQL")
        try TerminalMode.givingKeys(Invocation.current.input, screen: Output.current.standard) { try shell.run() }
    }
}

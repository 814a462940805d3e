import ArgumentParser
import Foundation
import SQLCipherKit

struct CreateCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a new encrypted database.",
        discussion: """
            You type the key twice, unless an option says where it is. Only you can read the file.

            EXAMPLES
              sqlcipherkit create notes.db
              sqlcipherkit create notes.db --script schema.sql --key-file notes.key
              sqlcipherkit create copy.db --script dump.sql

            \(form)
            """)

    private static let form = JSONForm.object("file", "encrypted")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var report: ReportOptions

    @Option(
        help: ArgumentHelp("Run the SQL in a file; if it fails, no database is created.", valueName: "file"), completion: .file())
    var script: String?

    @OptionGroup var leaveOut: LeaveOutOptions

    func run() throws {
        try FileOptions.requireNothing(at: file.path)
        var configuration = DatabaseConfiguration()
        if let script {
            // A run has one thread, which opens the database.
            nonisolated(unsafe) let lines = try PlainLines(script)
            // The definitions in a dump may be from an engine that takes double quotes for those of a string.
            configuration.allowsDoubleQuotedStrings = true
            configuration.onCreate = { [leaveOut] in try Self.run(lines, on: $0, script, leaveOut) }
        }
        _ = try Connection(.file(file.path), key: try file.key.newKey(for: file.path), configuration: configuration)
        try report.write(
            Self.form, [.string(file.path), .bool(!file.key.isPlain)],
            "created \(file.path.onOneLine), \(file.key.isPlain ? "not encrypted" : "encrypted")")
    }

    /// Runs a script in the transaction that creates the database; the script's own BEGIN and COMMIT are skipped. Tables may come
    /// in any order: references are checked at the end, as a dump's `foreign_keys = OFF` has no effect in a transaction.
    private static func run(_ lines: PlainLines, on db: Connection, _ name: String, _ leaveOut: LeaveOutOptions) throws {
        let bar = try Interruption.stop(db)
        try db.execute("PRAGMA defer_foreign_keys = ON")
        var isInScriptsTransaction = false
        do {
            try ScriptRunner.run(lines) { statement in
                // A short statement does not call the progress handler.
                try Interruption.check()
                bar.tick()
                switch transaction(statement.sql) {
                case .begin where !isInScriptsTransaction: isInScriptsTransaction = true
                case .commit where isInScriptsTransaction: isInScriptsTransaction = false
                case .rollback: throw Failure("the script runs in one transaction, and ROLLBACK would leave no database")
                default: if let sql = leaveOut.apply(to: statement.sql) { try db.execute(SQLScript(sql)) }
                }
            }
            if isInScriptsTransaction { throw Failure("last line: a transaction is still open: COMMIT is missing") }
        } catch {
            let failure = Failure(describing: error)
            let advice = ForeignName(failure.message).map { ": --leave-out \($0.name) goes on without it" } ?? ""
            throw Failure("\(name), \(failure.message)\(advice)", status: failure.status)
        }
    }

    private enum Transaction { case begin, commit, rollback }

    /// Returns the effect of a statement on the transaction; nil if it has none.
    private static func transaction(_ sql: String) -> Transaction? {
        if sql.utf8.count > 100 { return nil }
        let words = sql.lowercased().split { !$0.isLetter }.map(String.init)
        let rest = words.dropFirst().filter { !["transaction", "deferred", "immediate", "exclusive"].contains($0) }
        guard rest.isEmpty, let first = words.first else { return nil }
        return ["begin": .begin, "commit": .commit, "end": .commit, "rollback": .rollback][first]
    }
}

import ArgumentParser
import Foundation
import SQLCipherKit

struct QueryCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run SQL statements and show their rows.",
        discussion: """
            The database is opened for reading only unless --write is given. Several statements, with semicolons between them, are \
            one transaction, unless one of them is BEGIN, COMMIT, ROLLBACK, PRAGMA, ATTACH or VACUUM.

            --param gives the values of the statement's parameters, in order, or as --param NAME=VALUE if the parameters are \
            named. A value is read as SQL would read it (a number, 'text', x'blob' or NULL), or else as plain text. A number that \
            would lose a zero, such as 01067 or 1.10, is text too.

            Blobs are shown as x'…' in hexadecimal. The formats table, markdown and lines show JSONB as JSON text. In CSV, \
            NULL is an empty field, empty text is an empty field in quotes, and so is text that looks like a number. Infinity is \
            9e999 in CSV and JSON.

            EXAMPLES
              sqlcipherkit query notes.db "SELECT * FROM note WHERE id > ?" --param 3
              sqlcipherkit query notes.db "DELETE FROM note WHERE id = 7" --write
              sqlcipherkit query notes.db "SELECT * FROM old.note" --attach old=old.db

            \(JSONForm.rows(with: "the columns of the statement, for each statement; an empty array if it has none"))
            """)

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch
    @OptionGroup(title: "Attached databases") var attachments: AttachOptions

    @Argument(help: ArgumentHelp("The SQL; - reads it from standard input.", valueName: "sql"))
    var sql: String

    @Option(
        name: .customLong("param"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A value for a parameter; may be given several times.", valueName: "value"))
    var parameters: [String] = []

    @OptionGroup var output: OutputOptions

    @Flag(help: "Allow the statements to change the database.")
    var write = false

    func run() throws {
        let text = try sql == "-" ? StandardInput.text() : sql
        let db = try attachments.openWithKey(file, write ? .readWrite : .readOnly).db
        try db.register(.regularExpressions())
        let statements = try ScriptRunner.statements(of: text)
        guard statements.count > 1 else { return try run(text, db, try ParameterValues(parameters)) }
        var values = try ParameterValues(parameters)
        values.isShared = true
        // The changes of a statement are undone if a later statement fails.
        if write, !statements.contains(where: Self.endsTransactions) {
            try db.transaction { db in for statement in statements { try run(statement, db, values) } }
        } else {
            for statement in statements { try run(statement, db, values) }
        }
    }

    /// Returns whether a statement cannot run in a transaction.
    private static func endsTransactions(_ sql: String) -> Bool {
        let first = SQLWords.tokens(String(sql.prefix(1000))).words.first?.lowercased() ?? ""
        return ["begin", "commit", "end", "rollback", "vacuum", "pragma", "attach", "detach"].contains(first)
    }

    private func run(_ sql: String, _ db: Connection, _ values: ParameterValues) throws {
        let statement = try db.prepare(SQL(raw: sql))
        let arguments = try values.arguments(for: statement)
        let columns = statement.columnNames
        if columns.isEmpty {
            try statement.execute(arguments)
            if output.format == .json { JSONWriter([]).finish() }
        } else {
            let writer = try (output.format ?? .table).writer(of: sql, columns)
            try statement.forEach(arguments) { row in try writer.write(row) }
            writer.finish()
        }
        // A person wants to know what happened; a program reads standard output.
        if !statement.isReadOnly { Output.error("\(db.changes.counted("row")) changed") }
    }
}

import ArgumentParser
import Foundation
import SQLCipherKit

struct QueryCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run an SQL statement and show its rows.",
        discussion: """
            The database is opened for reading only unless --write is given.

            --param gives the values of the statement's parameters, in order, or as --param NAME=VALUE if the parameters are \
            named. A value is read as SQL would read it (a number, 'text', x'blob' or NULL), or else as plain text. A number that \
            would lose a zero, such as 01067 or 1.10, is text too.

            Blobs are shown as x'…' in hexadecimal. The formats table, box, markdown and lines show JSONB as JSON text. In CSV, \
            NULL is an empty field, and empty text is an empty field in quotes.

            EXAMPLES
              sqlcipherkit query notes.db "SELECT * FROM note WHERE id > ?" --param 3
              sqlcipherkit query notes.db "DELETE FROM note WHERE id = 7" --write
              sqlcipherkit query notes.db "SELECT * FROM old.note" --attach old=old.db

            \(JSONForm.rows(with: "the columns of the statement; an empty array if it has none"))
            """)

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Attached databases") var attachments: AttachOptions

    @Argument(help: ArgumentHelp("The SQL statement; - reads it from standard input.", valueName: "sql"))
    var sql: String

    @Option(
        name: .customLong("param"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A value for a parameter; may be given several times.", valueName: "value"))
    var parameters: [String] = []

    @OptionGroup var output: OutputOptions

    @Flag(help: "Allow the statement to change the database.")
    var write = false

    func run() throws {
        if Terminal.isTerminal(Invocation.current.input) { Output.pager = Pager.usual }
        try Output.paged { try show() }
    }

    private func show() throws {
        let text = try sql == "-" ? StandardInput.text("the SQL") : sql
        let db = try attachments.open(file, write ? .readWrite : .readOnly)
        let statement = try db.prepare(SQL(raw: text))
        let arguments = try ParameterValues.arguments(parameters, for: statement)
        let columns = statement.columnNames
        if columns.isEmpty {
            try statement.execute(arguments)
            if output.format == .json { JSONWriter([]).finish() }
        } else {
            let writer = (output.format ?? .table).writer(of: text, columns)
            try statement.forEach(arguments) { row in try writer.write(row) }
            writer.finish()
        }
        // A person wants to know what happened; a program reads standard output.
        if !statement.isReadOnly { Output.error("\(db.changes.counted("row")) changed") }
    }
}

extension Row {
    /// The row's values; text that is not valid UTF-8 becomes a blob.
    borrowing func shownValues() throws -> [SQLValue] {
        var values: [SQLValue] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try shownValue(index)) }
        return values
    }

    /// A value; text that is not valid UTF-8 becomes a blob.
    borrowing func shownValue(_ index: Int) throws(DatabaseError) -> SQLValue {
        do throws(DatabaseError) { return try self[index] } catch {
            if error.reason == .typeMismatch { return .blob(try self[index]) }
            throw error
        }
    }
}

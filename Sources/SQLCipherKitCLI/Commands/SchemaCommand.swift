import ArgumentParser
import SQLCipherKit

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Show the SQL that made a database's tables, indexes, views and triggers.",
        discussion: """
            EXAMPLES
              sqlcipherkit schema notes.db
              sqlcipherkit schema notes.db note
            """)

    @OptionGroup var database: DatabaseOptions

    @Argument(help: ArgumentHelp("Only these tables, with their indexes and triggers, and these views.", valueName: "name"))
    var names: [String] = []

    func run() throws {
        for statement in try SchemaText.statements(database.open(.readOnly), names) { Output.line(statement.onItsLines) }
    }
}

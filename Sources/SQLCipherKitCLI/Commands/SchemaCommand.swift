import ArgumentParser
import SQLCipherKit

struct SchemaCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Show the SQL that made a database's tables, indexes, views and triggers.",
        discussion: """
            EXAMPLES
              sqlcipherkit schema notes.db
              sqlcipherkit schema notes.db note

            \(form)
            """)

    private static let form = JSONForm.rows("database", "type", "name", "table", "sql")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch

    @Argument(help: ArgumentHelp("Show only these tables, with their indexes and triggers, and these views.", valueName: "name"))
    var names: [String] = []

    @OptionGroup var report: ReportOptions

    func run() throws {
        let parts = try SchemaListing.parts(file.open(.readOnly), names)
        guard report.json else {
            for part in parts { Output.data(part.statement) }
            return
        }
        let writer = JSONWriter(Self.form.keys)
        for part in parts {
            try writer.write([SQLValue.text(part.database), .text(part.type), .text(part.name), .text(part.table), .text(part.sql)])
        }
        writer.finish()
    }
}

import ArgumentParser
import SQLCipherKit

struct DumpCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Write a database as SQL that recreates it.",
        discussion: """
            The script holds everything in the database, in plaintext, and is one transaction. create --script, shell and SQLite's \
            own shell read it. Full-text indexes are included as they are.

            EXAMPLES
              sqlcipherkit dump notes.db > notes.sql
              sqlcipherkit create copy.db --script notes.sql

            \(form)
            """)

    private static let form = JSONForm.rows("sql")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let db = try file.open(.readOnly)
        guard report.json else { return try DatabaseDump.write(db) { Output.line($0) } }
        let writer = JSONWriter(Self.form.keys)
        try DatabaseDump.write(db) { try writer.write([.text($0)]) }
        writer.finish()
    }
}

import ArgumentParser
import SQLCipherKit

struct DumpCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Write a database as SQL that recreates it.",
        discussion: """
            The script holds everything in the database, in plaintext, and is one transaction. create --script, shell and SQLite's \
            own shell read it. Full-text indexes are included as they are. Texts with characters that a terminal would act on, or \
            that some reader would drop, are written as expressions. A virtual table whose module is missing is left out, and \
            named.

            Collations and functions of another program stay in the definitions. --leave-out removes one, with the checks, \
            generated columns, indexes, views, triggers and virtual tables that need it; no row is left out.

            EXAMPLES
              sqlcipherkit dump notes.db > notes.sql
              sqlcipherkit create copy.db --script notes.sql

            \(form)
            """)

    private static let form = JSONForm.rows("sql")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch
    @OptionGroup var leaveOut: LeaveOutOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let db = try file.open(.readOnly)
        guard report.json else { return try DatabaseDump.write(db, leavingOut: leaveOut) }
        let writer = JSONWriter(Self.form.keys)
        try DatabaseDump.statements(db, leavingOut: leaveOut) { sql in
            try writer.write([SQLValue.text(String(decoding: sql, as: UTF8.self) + ";")])
        }
        writer.finish()
    }
}

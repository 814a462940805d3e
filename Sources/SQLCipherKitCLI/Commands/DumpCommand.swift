import ArgumentParser
import SQLCipherKit

struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Write a database as SQL that makes it again.",
        discussion: """
            The script holds everything that the database holds, in the clear. It is one transaction. create --script, shell and \
            SQLite's own shell read it; full-text indexes come with it as they are.

            EXAMPLES
              sqlcipherkit dump notes.db > notes.sql
              sqlcipherkit create copy.db --script notes.sql
            """)

    @OptionGroup var file: FileOptions

    func run() throws { try DatabaseDump.write(file.open(.readOnly)) }
}

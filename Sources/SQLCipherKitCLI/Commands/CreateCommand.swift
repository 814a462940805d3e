import ArgumentParser
import Foundation
import SQLCipherKit

struct CreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a new encrypted database.",
        discussion: """
            The key is asked for twice, or comes from where an option says. Only the owner can read the file.

            EXAMPLES
              sqlcipherkit create notes.db
              sqlcipherkit create notes.db --script schema.sql --key-file notes.key
            """)

    @OptionGroup var file: FileOptions

    @Option(
        help: ArgumentHelp("Run the SQL in a file; if it fails, there is no database.", valueName: "file"), completion: .file())
    var script: String?

    func run() throws {
        try FileOptions.requireNothing(at: file.path)
        var configuration = DatabaseConfiguration()
        if let script {
            let sql = try SQLScript(contentsOf: URL(fileURLWithPath: script))
            configuration.onCreate = { try $0.execute(sql) }
        }
        _ = try Connection(.file(file.path), key: try file.key.newKey(for: file.path), configuration: configuration)
        Output.line("made \(file.path.onOneLine), \(file.key.isPlain ? "not encrypted" : "encrypted")")
    }
}

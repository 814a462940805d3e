import ArgumentParser
import SQLCipherKit

@main
struct SQLCipherKitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sqlcipherkit",
        abstract: "Encrypted SQLite databases with full-text search and JSON.")

    func run() throws {
        print(Engine.sqliteVersion)
    }
}

import ArgumentParser
import SQLCipherKit

struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "search", abstract: "Search.")
}

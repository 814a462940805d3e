import ArgumentParser
import SQLCipherKit

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "index", abstract: "Index.")
}

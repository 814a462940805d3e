import ArgumentParser
import SQLCipherKit

struct TourCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "tour", abstract: "Tour.")
}

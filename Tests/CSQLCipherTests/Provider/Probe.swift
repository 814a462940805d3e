import Foundation
import Testing

/// Runs `ProviderProbe`, the C program beside the tests that puts the provider to the test, and reports what it printed
/// when it fails.
enum Probe {
    /// The folder that SwiftPM built the tests and the probe into.
    static var products: URL {
        #if os(macOS)
        for bundle in Bundle.allBundles where bundle.bundlePath.hasSuffix(".xctest") {
            return bundle.bundleURL.deletingLastPathComponent()
        }
        #endif
        return URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    }

    /// Runs a program to its end and gives its status and everything that it printed.
    static func run(_ program: URL, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Expects the probe's command to hold. Returns what it printed.
    @discardableResult
    static func expect(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let (status, output) = try run(products.appendingPathComponent("ProviderProbe"), arguments)
        #expect(status == 0, "\(arguments.joined(separator: " ")): \(output)", sourceLocation: sourceLocation)
        return output
    }

    /// A new folder for one test, removed afterwards.
    @discardableResult
    static func inFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("provider-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.path)
    }
}

import Foundation

/// Another program, run to its end.
struct Command {
    struct Outcome {
        let status: Int32, output: String, errors: String

        /// What the program wrote to standard error, line by line.
        var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    let process = Process()
    private let folder: TemporaryFolder
    private let output: URL, errors: URL

    /// Starts `program`, looked up in `PATH`, with `environment` laid over this process's own.
    init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        // Files rather than pipes: a full pipe would stop a program that nobody reads from yet.
        output = folder.url.appendingPathComponent("output")
        errors = folder.url.appendingPathComponent("errors")
        for file in [output, errors] { try Data().write(to: file) }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
    }

    func end() throws -> Outcome {
        process.waitUntilExit()
        return Outcome(
            status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
            output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
    }

    static func run(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws -> Outcome {
        try Command(program, arguments, environment: environment).end()
    }
}

/// A folder that goes away with the value that holds it.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("sqlcipherkit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

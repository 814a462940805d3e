import Foundation

/// Another program, run to its end.
public struct Command {
    public struct Outcome {
        public let status: Int32, output: String, errors: String

        public init(status: Int32, output: String, errors: String) {
            (self.status, self.output, self.errors) = (status, output, errors)
        }

        /// The program's standard error, line by line.
        public var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    public let process = Process()
    private let folder: TemporaryFolder
    private let output: URL, errors: URL

    /// Starts `program`, looked up in `PATH`, with `environment` laid over this process's own.
    public init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        // Files rather than pipes: a full pipe would block a program whose output is not read yet.
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

    public func end() throws -> Outcome {
        process.waitUntilExit()
        return Outcome(
            status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
            output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
    }

    public static func run(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws -> Outcome {
        try Command(program, arguments, environment: environment).end()
    }
}

extension Command {
    public struct Silence: Error, CustomStringConvertible {
        public let description: String
    }

    /// Waits until the program has written `text`.
    public func waitForOutput(_ text: String) throws {
        func hasText() throws -> Bool { String(decoding: try Data(contentsOf: output), as: UTF8.self).contains(text) }
        try waitUntil("the program has written \(text)") { try hasText() || !process.isRunning }
        guard try hasText() else { throw Silence(description: "the program did not write \(text), but: \(try end())") }
    }
}

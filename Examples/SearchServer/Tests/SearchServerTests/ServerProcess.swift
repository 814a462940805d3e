import Foundation
import HummingbirdTesting
import Synchronization

/// A running search-server.
final class ServerProcess: Sendable {
    private let process: Process
    /// The file with its output. Unlike a pipe, a file cannot fill up, and is read whenever a test wants it.
    private let log: String
    private let number = Mutex(0)

    var output: String { String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self) }
    var port: Int { number.withLock { $0 } }

    /// Starts it, and waits until it listens.
    convenience init(_ arguments: [String], log: String) async throws {
        try self.init(unready: arguments, log: log)
        try await eventually {
            if let match = output.firstMatch(of: /listening on 127.0.0.1:([0-9]+)/), let port = Int(match.1) {
                number.withLock { $0 = port }
                return true
            }
            guard process.isRunning else { throw NotStarted(output: output) }
            return false
        }
    }

    init(unready arguments: [String], log: String) throws {
        try Data().write(to: URL(fileURLWithPath: log))
        let process = Process(), output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        // Beside the bundle of the tests.
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let tests = bundle?.bundleURL ?? Bundle.main.executableURL
        process.executableURL = tests?.deletingLastPathComponent().appendingPathComponent("search-server")
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = output
        (self.process, self.log) = (process, log)
        try process.run()
    }

    deinit { kill() }

    func client(_ body: @escaping @Sendable (NotesClient) async throws -> Void) async throws {
        try await TestClient.withClient(host: "127.0.0.1", port: port) { try await body(NotesClient($0)) }
    }

    func kill() {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    func terminate() async throws -> Int32 {
        process.terminate()
        return try await end()
    }

    /// Waits for the end.
    /// - Returns: the status.
    func end() async throws -> Int32 {
        try await eventually { !process.isRunning }
        return process.terminationStatus
    }

    struct NotStarted: Error {
        let output: String
    }
}

import Foundation
import SQLCipherKitCLI
import Testing
import TestSupport

/// The command-line tool: its commands in this process, and the program where a process is what is tested.
enum Tool {
    static let rawKey = String(repeating: "0123456789abcdef", count: 4)
    /// A raw key, which costs no key derivation, from the environment.
    static let key = ["--raw-key", "--key-env", "TEST_KEY"]

    static var path: String { get throws { try BuildProducts.executable("sqlcipherkit") } }

    static func run(_ arguments: String..., environment: [String: String] = [:], input: String = "") throws -> Command.Outcome {
        try run(arguments, environment: environment, input: input)
    }

    /// Runs a command in this process, where it has no terminal.
    /// - Parameter environment: the variables that it sees besides `TEST_KEY` and a `HOME` that does not exist.
    static func run(_ arguments: [String], environment: [String: String] = [:], input: String = "") throws -> Command.Outcome {
        try run(arguments, nil, environment, input)
    }

    private static func run(
        _ arguments: [String], _ command: (() throws -> Void)?, _ environment: [String: String], _ input: String
    ) throws -> Command.Outcome {
        let streams = try Streams(input: input)
        let status = Invocation(
            [try path] + arguments, environment: ["TEST_KEY": rawKey, "HOME": "/nonexistent"].merging(environment) { $1 }, input: streams.input,
            output: streams.output, errors: streams.errors
        ).run(command)
        return try streams.outcome(status)
    }

    /// A command that is run several times. In debug the parser takes several times as long as most commands.
    struct Parsed: @unchecked Sendable {
        // Sendable: each run works on a copy of the parsed values, and no value of a command is a reference.
        fileprivate let arguments: [String]
        fileprivate let command: () throws -> Void

        init(_ arguments: [String]) throws { (self.arguments, command) = (arguments, try SQLCipherKitCommand.parsed(arguments)) }
    }

    /// Runs a command that waits for asynchronous work on a thread of its own: the threads that run tests do that work.
    static func runAside(
        _ arguments: [String], environment: [String: String] = [:], input: String = ""
    ) async throws -> Command.Outcome {
        try await aside { try run(arguments, environment: environment, input: input) }
    }

    static func runAside(_ parsed: Parsed, environment: [String: String] = [:], input: String = "") async throws -> Command.Outcome {
        try await aside { try run(parsed.arguments, parsed.command, environment, input) }
    }

    private static func aside(_ body: @escaping @Sendable () throws -> Command.Outcome) async throws -> Command.Outcome {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: body)) }.start()
        }
    }

    /// Runs the program, with this process's variables and `environment` laid over them.
    static func runProgram(_ arguments: [String], environment: [String: String] = [:]) throws -> Command.Outcome {
        try Command.run(path, arguments, environment: ["TEST_KEY": rawKey].merging(environment) { $1 })
    }

    /// Runs the tool where nothing may go wrong, and gives what it prints.
    static func output(_ arguments: String...) throws -> String {
        let outcome = try run(arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }

    /// Starts the tool so that it can be interrupted: the threads that run tests block signals, a shell starts what runs in the
    /// background with an interrupt ignored, and programs inherit both.
    static func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Command {
        let unblocked = """
            import os, signal, sys
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        return try Command("python3", ["-c", unblocked, path] + arguments, environment: ["TEST_KEY": rawKey].merging(environment) { $1 })
    }

    /// Runs the tool as a user whom file permissions hold back, even where the tests run as root.
    static func runUnprivileged(_ arguments: [String], in folder: TemporaryFolder) throws -> Command.Outcome {
        guard geteuid() == 0 else { return try runProgram(arguments) }
        // The checkout may lie below a folder that only root may enter.
        let copy = folder.path("sqlcipherkit-copy")
        if !FileManager.default.fileExists(atPath: copy) { try FileManager.default.copyItem(atPath: path, toPath: copy) }
        return try Command.run(
            "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", copy] + arguments, environment: ["TEST_KEY": rawKey])
    }
}

/// Files that stand for the standard streams of a command.
private final class Streams {
    let input: Int32, output: Int32, errors: Int32
    private let folder: TemporaryFolder

    init(input text: String) throws {
        folder = try TemporaryFolder()
        try Data(text.utf8).write(to: folder.url.appendingPathComponent("input"))
        input = open(folder.path("input"), O_RDONLY | O_CLOEXEC)
        output = open(folder.path("output"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        errors = open(folder.path("errors"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(input >= 0 && output >= 0 && errors >= 0)
    }

    deinit { for descriptor in [input, output, errors] { close(descriptor) } }

    func outcome(_ status: Int32) throws -> Command.Outcome {
        func text(_ name: String) throws -> String {
            String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
        }
        return Command.Outcome(status: status, output: try text("output"), errors: try text("errors"))
    }
}

extension Command.Outcome {
    /// Checks that the tool did what it was told.
    @discardableResult
    func expectSuccess(sourceLocation: SourceLocation = #_sourceLocation) -> Command.Outcome {
        #expect(status == 0, "\(errors)", sourceLocation: sourceLocation)
        return self
    }

    /// Checks that the tool failed with a status, and said why in one line and nothing else.
    func expectFailure(_ status: Int32, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(self.status == status, sourceLocation: sourceLocation)
        #expect(output == "", sourceLocation: sourceLocation)
        #expect(errorLines.count == 1, "\(errors)", sourceLocation: sourceLocation)
        #expect(errors.hasPrefix("sqlcipherkit: "), sourceLocation: sourceLocation)
        for part in parts { #expect(errors.contains(part), "\(errors)", sourceLocation: sourceLocation) }
    }
}

/// A folder with a few files of every kind.
struct SampleFolder {
    let folder: TemporaryFolder
    var path: String { folder.path("docs") }
    var database: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        try write("plan.md", "# The grand plan\n\nFirst we bake bread, then we sell the loaves.\n")
        try write("deep/er/note.txt", "\u{feff}Bread needs flour, water and salt.\nEnough café.\n")
        try write("empty.txt", "")
        try write("image.png", Data([0x89, 0x50, 0x4e, 0x47, 0, 0, 1]))
        try write("latin1.txt", Data([0x63, 0x61, 0x66, 0xe9]))
        try write(".hidden", "bread in secret")
        try FileManager.default.createSymbolicLink(atPath: path + "/link.md", withDestinationPath: "plan.md")
        try FileManager.default.createSymbolicLink(atPath: path + "/loop", withDestinationPath: ".")
    }

    func write(_ name: String, _ text: String) throws { try write(name, Data(text.utf8)) }

    func write(_ name: String, _ bytes: Data) throws {
        let url = URL(fileURLWithPath: path).appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try bytes.write(to: url)
    }

    /// Makes the database.
    @discardableResult
    func index(_ options: String...) throws -> Command.Outcome { try Tool.run(["import", database, path] + Tool.key + options) }

    /// The rows that a query gives, as CSV without the header.
    func rows(_ sql: String) throws -> [String] {
        let outcome = try Tool.run(["query", database, sql, "--format", "csv"] + Tool.key)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").dropFirst().map(String.init)
    }
}

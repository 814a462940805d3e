import Foundation
import SQLCipherKit
import ToolStart

/// A run of the tool: what it is given, and where it reads and writes. The program is one run; tests make others in their own
/// process.
package final class Invocation: @unchecked Sendable {
    // Sendable: a run has one thread, and the asynchronous work that this thread waits for.

    /// The run that the calling code belongs to: by default the program's own.
    @TaskLocal static var current = Invocation()

    /// The program's name and its arguments.
    let arguments: [String]
    let input: Int32
    let errors: Int32
    let output: Output
    /// The bar that the terminal shows, if any.
    weak var bar: ProgressBar?
    /// The variables of a run in another program's process; nil for the program's own.
    private var variables: [String: String]?

    /// The program's own run.
    private init() {
        (arguments, input, errors) = (Self.commandLine, STDIN_FILENO, STDERR_FILENO)
        output = Output(to: STDOUT_FILENO)
    }

    /// A run in a process that is not the tool's own. It leaves the process's signals, variables and terminal alone.
    /// - Parameters:
    ///   - arguments: the program's name, and the arguments that follow it.
    ///   - environment: all variables that the run sees.
    ///   - input: the descriptor of standard input; the caller closes it, and the other two.
    package init(_ arguments: [String], environment: [String: String], input: Int32, output: Int32, errors: Int32) {
        (self.arguments, variables, self.input, self.errors) = (arguments, environment, input, errors)
        self.output = Output(to: output)
    }

    /// True if the process is the tool itself.
    var isProgram: Bool { variables == nil }

    var environment: [String: String] { variables ?? ProcessInfo.processInfo.environment }

    /// The keys that variables held, by the variable's name: their first reading removes them from the environment.
    private var keys: [String: [KeyEncoding: DatabaseKey]] = [:]

    /// The key in a variable, which the first reading removes; nil if the variable was never set.
    func key(inVariable name: String, as encoding: KeyEncoding) throws -> DatabaseKey? {
        if let kept = keys[name] {
            if let key = kept[encoding] { return key }
            throw Failure("the environment variable \(name) was read as the other kind of key: use two", status: .key)
        }
        let key: DatabaseKey?
        if isProgram {
            key = try KeySource.environment(name, as: encoding).key()
        } else {
            let value = variables?.removeValue(forKey: name)
            key = try value.flatMap { try Array($0.utf8).withUnsafeBytes { try KeySource.passed($0, as: encoding) }.key() }
        }
        if let key { keys[name] = [encoding: key] }
        return key
    }

    /// Opens the terminal that belongs to the process, whatever standard input and output are; negative if there is none.
    func openTerminal() -> Int32 { isProgram ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1 }

    /// Runs `body` as a part of this run.
    package func callAsFunction<R>(_ body: () throws -> R) rethrows -> R { try Self.$current.withValue(self, operation: body) }

    /// Runs the command that the arguments name.
    /// - Parameter command: what the arguments were parsed to; nil to parse them.
    /// - Returns: the exit status.
    package func run(_ command: (() throws -> Void)? = nil) -> Int32 {
        self {
            do { try (command ?? SQLCipherKitCommand.parsed(Array(arguments.dropFirst())))() } catch {
                return SQLCipherKitCommand.report(error)
            }
            return 0
        }
    }

    /// The command line of the process. Swift's own list needs `/proc` on Linux; this one works without it.
    private static var commandLine: [String] {
        guard let values = toolstart_arguments() else { return CommandLine.arguments }
        var all: [String] = []
        while let value = values[all.count] { all.append(String(cString: value)) }
        return all
    }
}

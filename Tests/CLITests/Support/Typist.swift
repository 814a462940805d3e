import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Runs the tool on a pseudo-terminal of its own and types on it.
enum Typist {
    struct Session {
        /// All that the terminal showed.
        let screen: String
        /// As Python has it: negative for a signal.
        let status: Int64
        /// True if the terminal shows typed characters when the tool is gone.
        let echoes: Bool
    }

    /// - Parameter lines: what is typed, one each time that a question is asked.
    static func run(_ arguments: [String], typing lines: [String]) throws -> Session {
        try run(arguments, conversation: lines.map { (": ", $0) })
    }

    /// - Parameters:
    ///   - conversation: what is typed, each as soon as the terminal has shown a text since the last typing.
    ///   - environment: laid over the tests' own.
    static func run(
        _ arguments: [String], conversation: [(after: String, type: String)], environment: [String: String] = [:]
    ) throws -> Session {
        let program = """
            import fcntl, json, os, pty, select, signal, subprocess, sys, termios, time
            typed = json.loads(sys.argv[1])
            ours, theirs = pty.openpty()
            def own_terminal():
                os.setsid()
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
                # As in Tool.start.
                signal.pthread_sigmask(signal.SIG_SETMASK, ())
                signal.signal(signal.SIGINT, signal.SIG_DFL)
            deadline = time.monotonic() + 60
            child = subprocess.Popen(sys.argv[2:], stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal)
            screen, given, mark = b'', 0, 0
            while time.monotonic() < deadline or child.kill():
                if select.select([ours], [], [], 0.05)[0]:
                    screen += os.read(ours, 4096)
                elif child.poll() is not None:
                    break
                if given < len(typed) and screen.find(typed[given][0].encode(), mark) >= 0:
                    mark = len(screen)
                    os.write(ours, typed[given][1].encode())
                    given += 1
            child.wait()
            echoes = bool(termios.tcgetattr(theirs)[3] & termios.ECHO)
            print(json.dumps({'screen': screen.decode(), 'status': child.returncode, 'echoes': echoes}))
            """
        let typed = try JSONValue.array(conversation.map { .array([.string($0.after), .string($0.type)]) }).text()
        let outcome = try Command.run("python3", ["-c", program, typed, try Tool.path] + arguments, environment: ["TERM": "xterm", "TEST_KEY": Tool.rawKey].merging(environment) { $1 })
        try #require(outcome.status == 0, "\(outcome.errors)")
        let result = try JSONValue(text: outcome.output.trimmingCharacters(in: .newlines))
        guard case .string(let screen)? = result["screen"], case .integer(let status)? = result["status"],
            case .bool(let echoes)? = result["echoes"]
        else { throw CocoaError(.coderInvalidValue) }
        return Session(screen: screen, status: status, echoes: echoes)
    }
}

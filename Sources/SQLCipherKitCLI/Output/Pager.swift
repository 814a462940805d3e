import Foundation

/// A program that shows long output in pages. It is started when there is more than the terminal has lines.
final class Pager {
    /// The one that the environment names, or else `less`. Nil where the output would not be looked at, but only copied.
    static var usual: String? {
        let environment = ProcessInfo.processInfo.environment
        guard let named = environment["PAGER"] else {
            let folders = (environment["PATH"] ?? "").split(separator: ":")
            return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less" : nil
        }
        return named.isEmpty || named == "cat" ? nil : named
    }

    private let file: UnsafeMutablePointer<FILE>
    private let mode: termios?
    var descriptor: Int32 { fileno(file) }

    /// - Parameter command: run by the system's shell, as others run $PAGER.
    init?(_ command: String) {
        // Leaves what fits on the screen there, and keeps no file of what was searched for.
        setenv("LESS", "FRSX", 0)
        setenv("LESSHISTFILE", "-", 1)
        // In the terminal's own mode, and in this process group, so that it may read keys.
        mode = TerminalMode.lend()
        guard let file = popen(command, "w") else {
            TerminalMode.takeBack(mode)
            return nil
        }
        self.file = file
        // The user may leave before all of it is read; writing then gives an error, and no signal.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits until the user has seen enough.
    func finish() {
        pclose(file)
        TerminalMode.takeBack(mode)
    }
}

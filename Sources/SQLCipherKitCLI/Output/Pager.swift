import Foundation

/// A program that shows long output in pages. It is started when the output has more lines than the terminal.
final class Pager {
    /// The pager that the environment names, or else `less`. Nil if the name is empty or `cat`, or if there is no `less`.
    static var usual: String? {
        let environment = Invocation.current.environment
        guard let named = environment["PAGER"] else {
            let folders = (environment["PATH"] ?? "").split(separator: ":")
            return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less" : nil
        }
        return named.isEmpty || named == "cat" ? nil : named
    }

    private let file: UnsafeMutablePointer<FILE>
    private let mode: (settings: termios, marked: Int32)?
    var descriptor: Int32 { fileno(file) }

    /// - Parameter command: run by the system's shell, as other programs run $PAGER.
    init?(_ command: String) {
        // Output that fits stays on the screen, and `less` keeps no file of search terms.
        setenv("LESS", "FRSX", 0)
        setenv("LESSHISTFILE", "-", 1)
        // The pager needs the terminal's original mode and this process group, to be able to read keys.
        mode = TerminalMode.lend()
        guard let file = popen(command, "w") else {
            TerminalMode.takeBack(mode)
            return nil
        }
        self.file = file
        // If the user leaves before the pager has read everything, writing fails instead of raising a signal.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits until the user leaves the pager.
    func finish() {
        pclose(file)
        TerminalMode.takeBack(mode)
    }
}

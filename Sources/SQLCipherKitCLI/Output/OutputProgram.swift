import Foundation

/// A program that reads output, such as `less`, on the terminal as it was.
final class OutputProgram {
    private let file: UnsafeMutablePointer<FILE>
    private let mode: (settings: termios, marked: Int32)?
    var descriptor: Int32 { fileno(file) }

    /// - Parameter command: run by the system's shell.
    init?(_ command: String) {
        // Output that fits stays on the screen, and `less` keeps no file of search terms.
        setenv("LESS", "FRSX", 0)
        setenv("LESSHISTFILE", "-", 1)
        // A pager needs the terminal's original mode and this process group, to be able to read keys.
        mode = TerminalMode.lend()
        guard let file = popen(command, "w") else {
            TerminalMode.takeBack(mode)
            return nil
        }
        self.file = file
        // If the program ends before it has read everything, writing fails instead of raising a signal.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits until the program ends.
    func finish() {
        pclose(file)
        TerminalMode.takeBack(mode)
    }
}

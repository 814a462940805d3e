import Foundation

/// Changes a terminal's input mode for a while, and restores it on every way out, signals included.
enum TerminalMode {
    /// The original settings, which the signal handler restores: no argument can be passed to a handler. The tool's only thread
    /// sets them.
    nonisolated(unsafe) private static var saved: (descriptor: Int32, settings: termios)?

    /// Reads lines without showing what is typed. Input typed ahead may be meant for another program, and is dropped.
    static func hidingInput<R: ~Copyable>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSAFLUSH, endedBy: [SIGINT, SIGTERM, SIGHUP, SIGQUIT], body) { settings in
            settings.c_lflag &= ~tcflag_t(ECHO)
            settings.c_lflag |= tcflag_t(ICANON | ISIG)
            settings.c_iflag |= tcflag_t(ICRNL)
        }
    }

    /// Delivers every key as it is pressed, including keys typed ahead, and marks what is pasted. Control-C remains a signal.
    static func givingKeys(_ descriptor: Int32, screen: Int32, _ body: () throws -> Void) throws {
        markPastes(on: screen)
        defer { _ = endMarks() }
        try during(descriptor, TCSADRAIN, endedBy: [SIGTERM, SIGHUP, SIGQUIT], body) { settings in
            settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
            settings.c_iflag &= ~tcflag_t(ICRNL | IXON)
        }
    }

    /// Makes control-C an ordinary key.
    static func withoutSignals<R>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSADRAIN, endedBy: [], body) { $0.c_lflag &= ~tcflag_t(ISIG) }
    }

    /// The terminal that marks what is pasted (xterm's bracketed paste), for the signal handler; negative if none does.
    nonisolated(unsafe) private static var marked: Int32 = -1

    private static func markPastes(on screen: Int32) {
        Output.write("\u{1b}[?2004h", to: screen)
        marked = screen
    }

    private static func endMarks() -> Int32 {
        defer { marked = -1 }
        if marked >= 0 { Output.write("\u{1b}[?2004l", to: marked) }
        return marked
    }

    /// Restores the terminal's original mode for another program.
    /// - Returns: the mode to return to afterwards; nil if nothing was changed.
    static func lend() -> (settings: termios, marked: Int32)? {
        guard var saved else { return nil }
        var mode = termios()
        guard tcgetattr(saved.descriptor, &mode) == 0, tcsetattr(saved.descriptor, TCSADRAIN, &saved.settings) == 0 else {
            return nil
        }
        return (mode, endMarks())
    }

    static func takeBack(_ mode: (settings: termios, marked: Int32)?) {
        guard var mode, let saved else { return }
        tcsetattr(saved.descriptor, TCSADRAIN, &mode.settings)
        if mode.marked >= 0 { markPastes(on: mode.marked) }
    }

    private static func during<R: ~Copyable>(
        _ descriptor: Int32, _ when: Int32, endedBy ending: [Int32], _ body: () throws -> R, _ change: (inout termios) -> Void
    ) throws -> R {
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else {
            throw Failure("the terminal's mode cannot be read: \(systemMessage(errno))")
        }
        let former = settings
        let isOutermost = saved == nil
        if isOutermost { saved = (descriptor, settings) }
        change(&settings)
        let handlers = ending.map { signal($0, restoreAndDie) }
        // If the process were stopped now, the user's shell would get this mode.
        let stopHandler = signal(SIGTSTP, SIG_IGN)
        defer {
            var former = former
            tcsetattr(descriptor, when, &former)
            for (number, handler) in zip(ending, handlers) { signal(number, handler) }
            signal(SIGTSTP, stopHandler)
            if isOutermost { saved = nil }
        }
        guard tcsetattr(descriptor, when, &settings) == 0 else {
            throw Failure("the terminal's mode cannot be changed: \(systemMessage(errno))")
        }
        return try body()
    }

    private static let endOfMarks: StaticString = "\u{1b}[?2004l"

    private static let restoreAndDie: @convention(c) (Int32) -> Void = { number in
        // Only calls that POSIX allows in a signal handler.
        if var saved { tcsetattr(saved.descriptor, TCSANOW, &saved.settings) }
        if marked >= 0 { _ = write(marked, endOfMarks.utf8Start, 8) }
        signal(number, SIG_DFL)
        raise(number)
    }
}

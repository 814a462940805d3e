import Foundation

/// A terminal that takes input in another way for a while, and is as it was on every way out, signals included.
enum TerminalMode {
    /// What a signal's handler needs to make the terminal what it was at first; handlers can be given nothing. It is set by the
    /// one thread there is.
    nonisolated(unsafe) private static var saved: (descriptor: Int32, settings: termios)?

    /// Takes a line and does not show what is typed. What was typed ahead may be meant for another program, and is dropped.
    static func hidingInput<R: ~Copyable>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSAFLUSH, endedBy: [SIGINT, SIGTERM, SIGHUP, SIGQUIT], body) { settings in
            settings.c_lflag &= ~tcflag_t(ECHO)
            settings.c_lflag |= tcflag_t(ICANON | ISIG)
            settings.c_iflag |= tcflag_t(ICRNL)
        }
    }

    /// Gives every key as it is pressed, also what is typed before it is read. Control-C is a signal all the same.
    static func givingKeys(_ descriptor: Int32, _ body: () throws -> Void) throws {
        try during(descriptor, TCSADRAIN, endedBy: [SIGTERM, SIGHUP, SIGQUIT], body) { settings in
            settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
            settings.c_iflag &= ~tcflag_t(ICRNL | IXON)
        }
    }

    /// Makes control-C a key like others.
    static func withoutSignals<R>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSADRAIN, endedBy: [], body) { $0.c_lflag &= ~tcflag_t(ISIG) }
    }

    /// Makes the terminal what it was at first, for another program.
    /// - Returns: the mode to come back to; nil if it was not changed.
    static func lend() -> termios? {
        guard var saved else { return nil }
        var mode = termios()
        guard tcgetattr(saved.descriptor, &mode) == 0, tcsetattr(saved.descriptor, TCSADRAIN, &saved.settings) == 0 else {
            return nil
        }
        return mode
    }

    static func takeBack(_ mode: termios?) {
        guard var mode, let saved else { return }
        tcsetattr(saved.descriptor, TCSADRAIN, &mode)
    }

    private static func during<R: ~Copyable>(
        _ descriptor: Int32, _ when: Int32, endedBy ending: [Int32], _ body: () throws -> R, _ change: (inout termios) -> Void
    ) throws -> R {
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else {
            throw Failure("the terminal cannot be asked: \(systemMessage(errno))")
        }
        let former = settings
        let isOutermost = saved == nil
        if isOutermost { saved = (descriptor, settings) }
        change(&settings)
        let handlers = ending.map { signal($0, restoreAndDie) }
        // Stopped, the process would leave the user's shell with this mode.
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

    private static let restoreAndDie: @convention(c) (Int32) -> Void = { number in
        // Only calls that POSIX allows in a signal handler.
        if var saved { tcsetattr(saved.descriptor, TCSANOW, &saved.settings) }
        signal(number, SIG_DFL)
        raise(number)
    }
}

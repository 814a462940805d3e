import Foundation

/// A terminal that takes input in another way for a while, and is as it was on every way out, signals included.
enum TerminalMode {
    /// What a signal's handler needs; handlers can be given nothing. It is set by the one thread there is.
    nonisolated(unsafe) private static var saved: (descriptor: Int32, settings: termios)?

    /// Does not show what is typed. What was typed ahead may be meant for another program, and is dropped.
    static func hidingInput<R: ~Copyable>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSAFLUSH, body) { $0.c_lflag &= ~tcflag_t(ECHO) }
    }

    /// Gives every key as it is pressed, control-C and control-Z among them. What was typed ahead is kept.
    static func givingKeys<R: ~Copyable>(_ descriptor: Int32, _ body: () throws -> R) throws -> R {
        try during(descriptor, TCSADRAIN, body) { settings in
            settings.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
            settings.c_iflag &= ~tcflag_t(ICRNL | IXON)
        }
    }

    private static func during<R: ~Copyable>(
        _ descriptor: Int32, _ when: Int32, _ body: () throws -> R, _ change: (inout termios) -> Void
    ) throws -> R {
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else {
            throw Failure("the terminal cannot be asked: \(systemMessage(errno))")
        }
        let former = settings
        saved = (descriptor, settings)
        change(&settings)
        let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        let formerHandlers = ending.map { signal($0, restoreAndDie) }
        // Stopped, the process would leave the user's shell with this mode.
        let formerStop = signal(SIGTSTP, SIG_IGN)
        defer {
            var former = former
            tcsetattr(descriptor, when, &former)
            for (number, handler) in zip(ending, formerHandlers) { signal(number, handler) }
            signal(SIGTSTP, formerStop)
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

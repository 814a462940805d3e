import ArgumentParser
import SQLCipherKit

/// The exit statuses that the help lists.
enum Status: Int32 {
    case failed = 1
    case key = 3
    case different = 4
    case history = 5
    case unchecked = 6
    case usage = 64
    case interrupted = 130
}

/// An error as the user sees it: one line, and the exit status of the process.
struct Failure: Error {
    let message: String
    let status: Status

    init(_ message: String, status: Status = .failed) {
        self.message = message
        self.status = status
    }

    /// Returns whether an error comes from a command, and not from the parser of the command line.
    static func describes(_ error: any Error) -> Bool { error is Failure || error is DatabaseError }

    /// - Parameter firstLine: the line of the script on which the failing statement begins.
    init(describing error: any Error, firstLine: Int? = nil) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as DatabaseError:
            let failure = Failure(error, firstLine), index = error.statementIndex ?? 0
            self.init((index == 0 ? "" : "statement \(index + 1): ") + failure.message, status: failure.status)
        default:
            if SQLCipherKitCommand.exitCode(for: error) == .validationFailure {
                self.init(ofUsage: error)
            } else {
                self.init(SQLCipherKitCommand.message(for: error))
            }
        }
    }

    /// A command line that the parser refuses.
    init(ofUsage error: any Error) {
        let message = Misspelling.message(for: Invocation.current.arguments.dropFirst())
            ?? SQLCipherKitCommand.message(for: error).withoutValueOfUnknownOption
        self.init(message + " (see sqlcipherkit --help)", status: .usage)
    }

    /// True if the command is `query`, which opens the database for reading only unless `--write` is given.
    private static var hasWriteOption: Bool {
        Invocation.current.arguments.dropFirst().first == QueryCommand.configuration.commandName
    }

    private init(_ error: DatabaseError, _ firstLine: Int?) {
        guard let firstLine else {
            self.init(error)
            return
        }
        let failure = Failure(error)
        guard failure.status != .interrupted else {
            self = failure
            return
        }
        guard let offset = error.offset, let sql = error.sql else {
            self.init("line \(firstLine): \(failure.message)", status: failure.status)
            return
        }
        let (line, character) = sql.place(ofByte: offset)
        let message = ToolWords.message(error.message)
        self.init("line \(firstLine + line - 1): \(message) (at character \(character))", status: failure.status)
    }

    private init(_ error: DatabaseError) {
        // Only a progress handler's error has a Failure in it: the user wants to stop.
        if let failure = error.underlyingError as? Failure {
            self = failure
            return
        }
        switch error.reason {
        case .notEncrypted:
            self.init(error.message + ": use --no-key to open it", status: .key)
        case .wrongKeyOrNotADatabase:
            // A file with other settings fails in the same way as a wrong key.
            let advice = "; if the key is right, sqlcipherkit identify \(error.path ?? "FILE") tells which options to give"
            self.init(ToolWords.message(error.message) + advice, status: .key)
        case .missingHMAC, .emptyKey, .invalidKey, .keyProvider, .noSlotOpens, .replicaKeyChanged,
            .replicaDamaged where .notADatabase ~= error.code:
            self.init(ToolWords.message(error.message), status: .key)
        case .replicaRolledBack, .replicaForked: self.init(ToolWords.message(error.message), status: .history)
        case .timeout where .interrupted ~= error.code, .limitExceeded where .interrupted ~= error.code:
            self.init("\(error.message), which no file of its size should need: \(ResourceLimits.option) lifts the limit")
        case _ where error.code == .readOnlyRollback:
            self.init(
                "a program that was writing to \(error.path ?? "the database") ended early: its unfinished changes must be undone "
                    + "before anything is read: sqlcipherkit query FILE \"SELECT 1\" --write does that")
        case .engine where .interrupted ~= error.code && Interruption.isWanted:
            self.init("interrupted: unfinished changes were undone", status: .interrupted)
        case .engine where .readOnly ~= error.code && Self.hasWriteOption && !Invocation.current.arguments.contains("--write"):
            self.init(error.message + ": use --write to allow changes")
        default:
            var message = ToolWords.message(error.message)
            if let offset = error.offset, let sql = error.sql { message += " (at \(sql.characterPosition(ofByte: offset)))" }
            if let path = error.path, !message.contains(path) { message += ": \(path)" }
            self.init(message)
        }
    }
}

extension String {
    /// The position of a byte: its line and its character, both counted from 1.
    fileprivate func place(ofByte offset: Int) -> (line: Int, character: Int) {
        let before = String(decoding: utf8.prefix(offset), as: UTF8.self)
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return (max(1, lines.count), (lines.last?.count ?? 0) + 1)
    }

    /// The position in words; it names the line only if the text has several.
    fileprivate func characterPosition(ofByte offset: Int) -> String {
        let (line, character) = place(ofByte: offset)
        return contains("\n") ? "line \(line), character \(character)" : "character \(character)"
    }

    /// The parser repeats an unknown option as it was written: after an attempt with `--key=secret`, the secret must not end up
    /// in a log.
    fileprivate var withoutValueOfUnknownOption: String {
        guard hasPrefix("Unknown option"), let equals = firstIndex(of: "=") else { return self }
        return self[..<equals] + "'"
    }
}

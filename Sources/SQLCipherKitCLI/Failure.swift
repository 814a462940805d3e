import ArgumentParser
import SQLCipherKit

/// The statuses that the help promises.
enum Status: Int32 {
    case failed = 1
    case key = 3
    case different = 4
    case usage = 64
    case interrupted = 130
}

/// An error as the user sees it: a line, and the status that the process ends with.
struct Failure: Error {
    let message: String
    let status: Status

    init(_ message: String, status: Status = .failed) {
        self.message = message
        self.status = status
    }

    /// - Parameter firstLine: the line of a script that the statement with the error begins in.
    init(describing error: any Error, firstLine: Int? = nil) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as DatabaseError:
            self.init(error, firstLine)
        case let error as SQLScriptError:
            let failure = Failure(error.error, firstLine)
            self.init((error.index == 0 ? "" : "statement \(error.index + 1): ") + failure.message, status: failure.status)
        default:
            if SQLCipherKitCommand.exitCode(for: error) == .validationFailure {
                let message = Misspelling.message(for: Arguments.all.dropFirst())
                    ?? SQLCipherKitCommand.message(for: error).withoutValueOfUnknownOption
                self.init(message + " (sqlcipherkit --help says more)", status: .usage)
            } else {
                self.init(SQLCipherKitCommand.message(for: error))
            }
        }
    }

    /// Whether the command that runs is the one that reads only unless `--write` is given.
    private static var hasWriteOption: Bool { Arguments.all.dropFirst().first == QueryCommand.configuration.commandName }

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
        // Only what a progress handler throws has a Failure in it: that the user wants to stop.
        if let failure = error.underlyingError as? Failure {
            self = failure
            return
        }
        switch error.reason {
        case .notEncrypted:
            self.init(error.message + ": --no-key opens it", status: .key)
        case .wrongKeyOrNotADatabase:
            // The settings of older versions differ, and look like another key.
            let advice = "; of a file that an older SQLCipher wrote, sqlcipherkit identify tells, and migrate converts it"
            self.init(ToolWords.message(error.message) + advice, status: .key)
        case .emptyKey, .invalidKey, .keyProvider, .noSlotOpens:
            self.init(ToolWords.message(error.message), status: .key)
        case .engine where .interrupted ~= error.code && Interruption.isWanted:
            self.init("interrupted: what was not complete is undone", status: .interrupted)
        case .engine where .readOnly ~= error.code && Self.hasWriteOption && !Arguments.all.contains("--write"):
            self.init(error.message + ": --write allows changes")
        default:
            var message = ToolWords.message(error.message)
            if let offset = error.offset, let sql = error.sql { message += " (at \(sql.characterPosition(ofByte: offset)))" }
            if let path = error.path, !message.contains(path) { message += ": \(path)" }
            self.init(message)
        }
    }
}

extension String {
    /// Where a byte stands: its line and its character, both counted from 1.
    fileprivate func place(ofByte offset: Int) -> (line: Int, character: Int) {
        let before = String(decoding: utf8.prefix(offset), as: UTF8.self)
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return (max(1, lines.count), (lines.last?.count ?? 0) + 1)
    }

    /// The same for people: the line only if there are several.
    fileprivate func characterPosition(ofByte offset: Int) -> String {
        let (line, character) = place(ofByte: offset)
        return contains("\n") ? "line \(line), character \(character)" : "character \(character)"
    }

    /// The parser repeats an unknown option as it was written: after a try with `--key=secret`, the secret must not be found
    /// the secret in a log.
    fileprivate var withoutValueOfUnknownOption: String {
        guard hasPrefix("Unknown option"), let equals = firstIndex(of: "=") else { return self }
        return self[..<equals] + "'"
    }
}

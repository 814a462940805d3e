import Foundation
import SQLCipherKit

/// The lines that were typed, and perhaps a file that keeps them.
///
/// Without a file they are gone with the shell: what is typed holds what the encrypted database holds. Lines of a statement
/// with a key in it are never kept.
final class History {
    private static let limit = 1000

    private var lines: [String] = []
    private var position = 0
    /// What was being typed before the first look back.
    private var unfinished = ""
    private let path: String?

    init(file path: String?) throws {
        self.path = path
        guard let path, FileManager.default.fileExists(atPath: path) else { return }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Failure("the history file \(path) cannot be read")
        }
        lines = Array(text.split(separator: "\n").map(String.init).suffix(Self.limit))
    }

    /// Keeps the lines of a statement, or of a command of the shell.
    func add(_ statement: [String]) throws {
        guard !Self.holdsKey(statement.joined(separator: "\n")) else { return }
        for line in statement where !line.allSatisfy(\.isWhitespace) && line != lines.last {
            lines.append(line)
            if let path { try append(line, to: path) }
        }
    }

    func rewind() { position = lines.count }

    func previous(_ current: String) -> String? {
        guard position > 0 else { return nil }
        if position == lines.count { unfinished = current }
        position -= 1
        return lines[position]
    }

    func next() -> String? {
        guard position < lines.count else { return nil }
        position += 1
        return position == lines.count ? unfinished : lines[position]
    }

    /// Whether SQL has a key in it: an error with that SQL would hide it.
    static func holdsKey(_ sql: String) -> Bool { DatabaseError(message: "", sql: sql).sql != sql }

    private func append(_ line: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the history file \(path) cannot be written: \(systemMessage(errno))") }
        defer { close(descriptor) }
        Output.write(line + "\n", to: descriptor)
    }
}

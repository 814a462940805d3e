import Foundation
import SQLCipherKit

/// The statements and commands that were typed, and optionally a file that keeps them.
///
/// Without a file they are lost when the shell ends, as what is typed may hold what the encrypted database holds. A statement that
/// contains a key is never kept.
final class History {
    private static let limit = 1000

    /// Each a whole statement or command, the latest last.
    private(set) var entries: [String] = []
    private var position = 0
    /// The text that was being typed before the user went back in the history.
    private var unfinished = ""
    private let path: String?

    init(file path: String?) throws {
        self.path = path
        guard let path, FileManager.default.fileExists(atPath: path) else { return }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Failure("the history file \(path) cannot be read")
        }
        // A line that begins with a tab continues the statement before it.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")).map(Substring.init) {
            if line.hasPrefix("\t"), !entries.isEmpty {
                entries[entries.count - 1] += "\n" + line.dropFirst()
            } else {
                entries.append(String(line))
            }
        }
        entries = Array(entries.suffix(Self.limit))
    }

    /// Keeps the lines of a statement, or a command of the shell.
    func add(_ lines: [String]) throws {
        let entry = lines.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !entry.isEmpty, entry != entries.last, !Self.holdsKey(entry) else { return }
        entries.append(entry)
        if entries.count > Self.limit { entries.removeFirst() }
        if let path {
            let lines = entry.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            try append(lines.map { String(Substring($0)) }.joined(separator: "\n\t"), to: path)
        }
    }

    func rewind() { position = entries.count }

    /// Continues from an entry that a search has found.
    func move(to place: Int) { position = min(place, entries.count) }

    func previous(_ current: String) -> String? {
        guard position > 0 else { return nil }
        if position == entries.count { unfinished = current }
        position -= 1
        return entries[position]
    }

    func next() -> String? {
        guard position < entries.count else { return nil }
        position += 1
        return position == entries.count ? unfinished : entries[position]
    }

    /// Returns whether SQL contains a key: an error would redact such SQL.
    static func holdsKey(_ sql: String) -> Bool { DatabaseError(message: "", sql: sql).sql != sql }

    private func append(_ entry: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the history file \(path) cannot be written: \(systemMessage(errno))") }
        defer { close(descriptor) }
        var info = stat()
        // An existing file may have been readable by others.
        if fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_mode & 0o077 != 0,
            fchmod(descriptor, 0o600) != 0
        {
            throw Failure("the history file \(path) can be read by others, and that cannot be changed: \(systemMessage(errno))")
        }
        Output.write(entry + "\n", to: descriptor)
    }
}

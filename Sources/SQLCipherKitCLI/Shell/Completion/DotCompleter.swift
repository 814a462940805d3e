import Foundation
import SQLCipherKit

/// Completes the commands of the shell that are not SQL, and their arguments.
struct DotCompleter {
    let db: Connection

    /// - Parameter before: the line up to the cursor, without blanks before the dot.
    func complete(_ before: String) -> Completion {
        guard let blank = before.lastIndex(where: { $0 == " " || $0 == "\t" }) else {
            let names = DotCommand.allCases.map { "." + $0.rawValue }
            return Self.matching(before, names.map { Completion.Candidate($0) })
        }
        let command = DotCommand.named(before.dropFirst().prefix { !$0.isWhitespace })
        let word = String(before[before.index(after: blank)...])
        let isFirst = before[..<blank].split(whereSeparator: \.isWhitespace).count == 1
        let words = SchemaWords(db: db)
        switch command {
        case .read, .output, .once, .open, .save, .backup, .restore: return isFirst ? Self.files(word) : .none
        case .import: return isFirst ? Self.files(word) : Self.matching(word, words.tables().map { Completion.Candidate($0) })
        case .attach:
            guard isFirst, let equals = word.firstIndex(of: "=") else { return .none }
            return Self.files(String(word[word.index(after: equals)...]))
        case .schema, .dump, .indexes: return Self.matching(word, words.tables().map { Completion.Candidate($0) })
        case .tables: return isFirst ? Self.matching(word, words.tables().map { Completion.Candidate($0) }) : .none
        case .detach: return Self.matching(word, words.schemas.filter { $0 != "main" }.map { Completion.Candidate($0) })
        case .mode: return isFirst ? Self.matching(word, OutputFormat.allCases.map { Completion.Candidate($0.rawValue) }) : .none
        case .headers, .timer, .pager, .bail, .changes, .echo:
            return Self.matching(word, ["on", "off"].map { Completion.Candidate($0) })
        case .parameter: return Self.matching(word, ["set", "unset", "list", "clear"].map { Completion.Candidate($0) })
        default: return .none
        }
    }

    private static func matching(_ start: String, _ candidates: [Completion.Candidate]) -> Completion {
        let fitting = candidates.filter { $0.text.lowercased().hasPrefix(start.lowercased()) }
        return Completion(length: start.count, candidates: fitting)
    }

    /// Files and folders whose paths begin with `start`. Hidden ones only if the dot was typed.
    static func files(_ start: String) -> Completion {
        let slash = start.lastIndex(of: "/")
        let folder = slash.map { String(start[...$0]) } ?? ""
        let name = slash.map { String(start[start.index(after: $0)...]) } ?? start
        let place = folder.isEmpty ? "." : folder
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: Paths.absolute(place))) ?? []
        let candidates = entries.sorted().compactMap { entry -> Completion.Candidate? in
            // A name with a blank would need quotes around the whole word.
            guard entry.hasPrefix(name), name.hasPrefix(".") || !entry.hasPrefix("."), !entry.contains(" ") else { return nil }
            var isFolder: ObjCBool = false
            let path = (Paths.absolute(place) as NSString).appendingPathComponent(entry)
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            let text = entry + (isFolder.boolValue ? "/" : "")
            return Completion.Candidate(folder + text, shown: text, isWhole: !isFolder.boolValue)
        }
        return Completion(length: start.count, candidates: candidates)
    }
}

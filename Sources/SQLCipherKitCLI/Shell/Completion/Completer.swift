import Foundation
import SQLCipherKit

/// Completes commands of the shell and their files, and in SQL the keywords and the names that the connection knows.
struct Completer {
    let db: Connection

    /// - Parameters:
    ///   - earlier: the statement's lines before this one.
    ///   - before: the line up to the cursor.
    func complete(_ earlier: String, _ before: String) -> Completion {
        let line = before.drop { $0 == " " || $0 == "\t" }
        return earlier.isEmpty && line.hasPrefix(".") ? completeCommand(String(line)) : completeSQL(earlier + before)
    }

    private func completeCommand(_ line: String) -> Completion {
        guard let blank = line.lastIndex(where: \.isWhitespace) else {
            return Self.matching(line, DotCommand.allCases.map { Completion.Candidate("." + $0.rawValue) })
        }
        let word = String(line[line.index(after: blank)...])
        let command = DotCommand.named(line.dropFirst().prefix { !$0.isWhitespace })
        if command == .mode { return Self.matching(word, OutputFormat.allCases.map { Completion.Candidate($0.rawValue) }) }
        let isFirst = line[..<blank].split(whereSeparator: \.isWhitespace).count == 1
        guard isFirst, command?.reachesOut == true else { return Self.matching(word, tables.map { Completion.Candidate($0) }) }
        return Self.files(word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) } ?? word)
    }

    private func completeSQL(_ sql: String) -> Completion {
        let tokens = SQLWords.tokens(sql)
        guard !tokens.isInText else { return .none }
        let isQuoted = tokens.openName != nil
        let start = tokens.openName ?? String(sql.reversed().prefix { $0.isSQLName }.reversed())
        let previous = (isQuoted || start.isEmpty ? tokens.words[...] : tokens.words.dropLast()).last?.lowercased()
        let isTable = ["from", "join", "into", "update", "table", "references"].contains(previous)
        guard isTable || !start.isEmpty else { return .none }
        var candidates = (isTable ? tables : columns + tables).map {
            Completion.Candidate($0.asSQLName(quoted: isQuoted), shown: $0)
        }
        if !isTable, !isQuoted, previous != "." {
            // Keywords in the case in which the word was begun.
            let isLower = start.contains { $0.isLowercase }
            candidates += SQLCipherEngine.keywords.map { Completion.Candidate(isLower ? $0.lowercased() : $0) }
            candidates += functions.map { Completion.Candidate($0 + "(", shown: $0 + "()", isWhole: false) }
        }
        return Completion(length: start.count + (isQuoted ? 1 : 0), candidates: Self.matching(start, candidates).candidates)
    }

    /// The candidates that are shown with this beginning, each once.
    private static func matching(_ start: String, _ candidates: [Completion.Candidate]) -> Completion {
        var seen = Set<String>()
        let fitting = candidates.filter { $0.shown.lowercased().hasPrefix(start.lowercased()) && seen.insert($0.text).inserted }
        return Completion(length: start.count, candidates: fitting)
    }

    /// Files and folders whose paths begin with `start`. Hidden ones only if the dot was typed.
    private static func files(_ start: String) -> Completion {
        let slash = start.lastIndex(of: "/")
        let folder = slash.map { String(start[...$0]) } ?? ""
        let name = slash.map { String(start[start.index(after: $0)...]) } ?? start
        let place = Paths.absolute(folder.isEmpty ? "." : folder)
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        let candidates = entries.sorted().compactMap { entry -> Completion.Candidate? in
            // A name with a blank would need quotes around the whole word.
            guard entry.hasPrefix(name), name.hasPrefix(".") || !entry.hasPrefix("."), !entry.contains(" ") else { return nil }
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: (place as NSString).appendingPathComponent(entry), isDirectory: &isFolder)
            let text = entry + (isFolder.boolValue ? "/" : "")
            return Completion.Candidate(folder + text, shown: text, isWhole: !isFolder.boolValue)
        }
        return Completion(length: start.count, candidates: candidates)
    }

    // MARK: The names that the connection knows, read again each time

    private var tables: [String] {
        strings(
            """
            SELECT DISTINCT name FROM pragma_table_list
            WHERE type <> 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """)
    }

    private var columns: [String] {
        strings(
            """
            SELECT DISTINCT c.name FROM pragma_table_list AS t, pragma_table_xinfo(t.name, t.schema) AS c
            WHERE t.type <> 'shadow' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.hidden <> 1 ORDER BY 1
            """)
    }

    private var functions: [String] {
        strings("SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*' ORDER BY name")
    }

    private func strings(_ sql: SQL) -> [String] { (try? db.fetchAll(String.self, sql)) ?? [] }
}

extension String {
    /// The name as SQL needs it: in quotes if it is not a plain word, or if it is a keyword.
    fileprivate func asSQLName(quoted: Bool) -> String {
        let isPlain = !isEmpty && allSatisfy(\.isSQLName) && !(first?.isNumber ?? false)
            && !SQLCipherEngine.keywords.contains(uppercased())
        return isPlain && !quoted ? self : "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}

extension Character {
    /// True if a name without quotes can contain the character.
    fileprivate var isSQLName: Bool { isASCII ? isLetter || isNumber || self == "_" || self == "$" : true }
}

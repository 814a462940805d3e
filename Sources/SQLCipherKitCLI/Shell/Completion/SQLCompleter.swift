import Foundation
import SQLCipherKit

/// Completes SQL from the current schema: names that fit after the previous word, and the columns of the tables that the
/// statement names.
struct SQLCompleter {
    private let words: SchemaWords

    init(_ db: Connection) { words = SchemaWords(db: db) }

    /// - Parameters:
    ///   - earlier: the statement's lines before this one.
    ///   - before: the line up to the cursor.
    ///   - after: the line from the cursor on, which may name the tables.
    func complete(_ earlier: String, _ before: String, _ after: String) -> Completion {
        let tokens = SQLWords.tokens(earlier + before)
        guard !tokens.isInText else { return .none }
        let typed = String(before.reversed().prefix { $0.isSQLName }.reversed())
        let isQuoted = tokens.openName != nil
        let start = tokens.openName ?? typed
        let length = start.count + (isQuoted ? 1 : 0)
        var previous = tokens.words
        if !isQuoted, !typed.isEmpty { previous.removeLast() }
        let statement = SQLWords.tokens(earlier + before + after).words

        var names: [String] = []
        var others: [Completion.Candidate] = []
        switch previous.last?.lowercased() {
        case "."?:
            guard previous.count >= 2 else { return .none }
            let owner = previous[previous.count - 2]
            let table = SQLWords.tables(of: statement).last { $0.alias.sqlName == owner.sqlName }?.table ?? owner
            names = words.columns(of: table)
            if words.schemas.contains(where: { $0.sqlName == owner.sqlName }) { names += words.tables(in: owner) }
        case "from"?, "join"?, "into"?, "update"?, "table"?, "references"?:
            names = words.tables() + words.schemas.filter { $0 != "main" }
        case "pragma"?: others = words.pragmas.map { Completion.Candidate($0, isWhole: false) }
        case "collate"?: others = words.collations.map { Completion.Candidate($0) }
        default:
            let used = SQLWords.tables(of: statement)
            names = used.flatMap { words.columns(of: $0.table) } + used.map(\.alias)
            guard !start.isEmpty else { break }
            // The columns come before their table in most statements.
            if used.isEmpty { names = words.columns() }
            names += words.tables()
            guard !isQuoted else { break }
            // Keywords in the case in which the word was begun.
            let isLower = start.contains { $0.isLowercase }
            others = SQLCipherEngine.keywords.map { Completion.Candidate(isLower ? $0.lowercased() : $0) }
            others += words.functions.map { Completion.Candidate($0 + "(", shown: $0 + "()", isWhole: false) }
        }
        var seen = Set<String>()
        let candidates = names.map { Completion.Candidate($0.asSQLName(quoted: isQuoted), shown: $0) } + others
        return Completion(
            length: length,
            candidates: candidates.filter { candidate in
                let name = candidate.shown
                return name.lowercased().hasPrefix(start.lowercased()) && seen.insert(candidate.text).inserted
            })
    }
}

extension String {
    /// The name as SQL needs it: in quotes if it is not a plain word, or if it is a keyword.
    func asSQLName(quoted: Bool = false) -> String {
        let isPlain = !isEmpty && allSatisfy(\.isSQLName) && !(first?.isNumber ?? false)
            && !SQLCipherEngine.keywords.contains(uppercased())
        return isPlain && !quoted ? self : "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}

extension Character {
    /// True if a name without quotes can contain the character.
    var isSQLName: Bool { isASCII ? isLetter || isNumber || self == "_" || self == "$" : true }
}

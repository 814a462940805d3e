import SQLCipherKit

/// A full-text table that the command `search` searches.
struct SearchedTable {
    private let index: FullTextIndex
    private let columns: [String]
    private var isOfDocuments: Bool { index.name == DocumentTable.index && columns == DocumentTable.indexColumns }

    /// - Parameters:
    ///   - name: the table; nil for the only one.
    ///   - path: the name of the database in errors.
    init(_ db: Connection, named name: String? = nil, path: String) throws {
        let all = try db.main.fullTextIndexes()
        let names = all.map(\.name).joined(separator: ", ")
        if let name {
            guard let found = all.first(where: { $0.name.sqlName == name.sqlName }) else {
                throw Failure("\(path) has no full-text table \(name)" + (all.isEmpty ? "" : "; it has \(names)"))
            }
            index = found
        } else {
            guard let first = all.first else {
                throw Failure(
                    "\(path) has no full-text index to search: sqlcipherkit import makes one of text files, and with --search "
                        + "of the columns of a table")
            }
            guard all.count == 1 else {
                throw Failure("\(path) has several full-text tables: --in names one of \(names)", status: .usage)
            }
            index = first
        }
        columns = try index.columns()
    }

    /// Returns the best hits, and the number of all hits. In documents, the title counts most, then the path, then the text.
    func search(_ words: [String], languages: Set<FullTextSearch.Language> = [.english], limit: Int) throws -> Result {
        let isOfDocuments = isOfDocuments
        let title = columns.count > 1 ? columns[0] : nil
        // A shell's argument is a whole word: the space says that the last one is not still being typed.
        var search = FullTextSearch(words.joined(separator: " ") + " ", limit: min(limit, 1_000))
        search.languages = languages
        search.weights = isOfDocuments ? [5, 1, 3] : []
        search.snippet = isOfDocuments ? .column("body", words: 24) : .best(words: 24)
        search.highlightedColumns = title.map { [$0] } ?? []
        search.retrievedColumns = isOfDocuments ? ["path"] : []
        let found = try index.search(search)
        let hits = try found.hits.map { hit in
            let path: String? = isOfDocuments ? try hit["path"] : nil
            return FoundText(
                path: path, titleColumn: title, title: title.flatMap { hit.highlights[$0] } ?? HighlightedText(""),
                snippet: hit.snippet ?? "", score: hit.score, rowID: hit.rowID)
        }
        return Result(hits: hits, total: found.total, note: Self.note(found))
    }

    /// The result of a search.
    struct Result {
        let hits: [FoundText]
        let total: FullTextSearch.Total
        /// The number of hits, in words.
        var counted: String { (total.isExact ? "" : "at least ") + total.count.counted("hit") }
        /// A note about the words found instead of the typed words; nil if these were found.
        let note: String?
    }

    private static func note(_ found: FullTextSearch.Results) -> String? {
        guard let best = found.hits.first else { return nil }
        var notes: [String] = []
        for word in found.words where best.typoCount > 0 && word.kind == .typo {
            notes.append("\(word.typed.onOneLine): \(word.matches.prefix(3).map(\.text.onOneLine).joined(separator: ", "))")
        }
        let words = found.words.count { !$0.isExcluded && !$0.isLeftOut }
        if found.hasDroppedTokens, found.hits.allSatisfy({ $0.matchedWordCount < words }) { notes.append("nothing has all words") }
        return notes.isEmpty ? nil : notes.joined(separator: "; ")
    }

    /// The columns of ``FoundText/row``.
    var rowColumns: [String] {
        ["score", isOfDocuments ? "path" : "row"] + (columns.count > 1 ? [columns[0]] : []) + ["snippet"]
    }
}

/// A hit.
struct FoundText {
    /// The document's path; nil in other tables.
    let path: String?
    let titleColumn: String?
    let title: HighlightedText
    let snippet: HighlightedText
    /// The greater, the better. Scores of different searches cannot be compared.
    let score: Double
    let rowID: Int64

    /// The hit as lines for people to read.
    func lines(_ number: Int, _ style: Terminal.Style) -> [String] {
        let label = "\(number).".padded(toColumns: 4)
        let heading = [style.number(path?.onOneLine ?? "row \(rowID)"), Self.readable(title, style) { style.bold($0) }]
        return [
            label + heading.filter { !$0.isEmpty }.joined(separator: "  "),
            "    " + Self.readable(snippet, style) { $0 },
        ]
    }

    /// Marked text on one line: runs of whitespace become a single space, so that code and tables read as a sentence.
    private static func readable(_ text: HighlightedText, _ style: Terminal.Style, _ plain: (String) -> String) -> String {
        var line = ""
        for part in text.parts {
            var words = part.text.split(whereSeparator: \.isWhitespace).joined(separator: " ").onOneLine
            if part.text.first?.isWhitespace == true { words = " " + words }
            if part.text.last?.isWhitespace == true, !words.hasSuffix(" ") { words += " " }
            line += part.isHighlighted ? style.match(words) : plain(words)
        }
        return line
    }

    /// The hit as a row for programs, with the words found in brackets.
    var row: [SQLValue] {
        [.real(score), path.map { .text($0) } ?? .integer(rowID)] + (titleColumn == nil ? [] : [.text(title.text)])
            + [.text(snippet.marked())]
    }
}

import SQLCipherKit

/// A full-text table of a database, to be searched by people.
struct SearchIndex {
    private let index: FullTextIndex
    private let columns: [String]
    private var isOfDocuments: Bool { index.name == DocumentTable.index && columns == DocumentTable.indexColumns }

    /// - Parameters:
    ///   - name: the table, with the name of an attached database and a dot before it if it is there; nil for the only one.
    ///   - path: how errors name the database.
    init(_ db: Connection, named name: String? = nil, path: String) throws {
        var schema = db.main
        var wanted = name
        if let name, let dot = name.firstIndex(of: "."), let other = try db.schemas().first(where: { $0.name == name[..<dot] }) {
            schema = other
            wanted = String(name[name.index(after: dot)...])
        }
        let all = try schema.fullTextIndexes()
        let names = all.map(\.name).joined(separator: ", ")
        if let wanted {
            guard let found = all.first(where: { $0.name.sqlName == wanted.sqlName }) else {
                throw Failure("\(path) has no full-text table \(wanted)" + (all.isEmpty ? "" : "; it has \(names)"))
            }
            index = found
        } else {
            guard let first = all.first else {
                throw Failure("\(path) has no full-text index to search: sqlcipherkit import makes one")
            }
            guard all.count == 1 else {
                throw Failure("\(path) has several full-text tables: --in names one of \(names)", status: .usage)
            }
            index = first
        }
        columns = try index.columns()
    }

    /// The best hits, and the number of all. In documents, the title comes before the path, and the path before the text.
    func search(_ words: [String], limit: Int) throws -> Result {
        let isOfDocuments = isOfDocuments
        let title = columns.count > 1 ? columns[0] : nil
        // A shell's argument is a whole word: the last one is not being typed.
        var search = TypedSearch(words.joined(separator: " ") + " ", limit: min(limit, 1_000))
        search.weights = isOfDocuments ? [5, 1, 3] : []
        search.snippet = isOfDocuments ? .column("body", words: 24) : .best(words: 24)
        search.highlights = title.map { [$0] } ?? []
        search.columns = isOfDocuments ? ["path"] : []
        let found = try index.search(search)
        let hits = try found.hits.map { hit in
            let path: String? = isOfDocuments ? try hit["path"] : nil
            return FoundText(
                path: path, titleColumn: title, title: title.flatMap { hit.highlights[$0] } ?? HighlightedText(""),
                snippet: hit.snippet ?? "", score: hit.relevance, rowID: hit.rowID)
        }
        return Result(hits: hits, total: found.total, note: Self.note(found))
    }

    /// What a search has found.
    struct Result {
        let hits: [FoundText]
        let total: Int
        /// What was found in the place of what was typed; nil if that was found.
        let note: String?
    }

    private static func note(_ found: TypedSearch.Found) -> String? {
        guard let best = found.hits.first else { return nil }
        var notes: [String] = []
        for word in found.words where best.typos > 0 && word.kind == .typo {
            notes.append("\(word.typed.onOneLine): \(word.matches.prefix(3).map(\.text.onOneLine).joined(separator: ", "))")
        }
        if found.hasFewerWords { notes.append("nothing has all words") }
        return notes.isEmpty ? nil : notes.joined(separator: "; ")
    }

    /// The columns of ``FoundText/row``.
    var rowColumns: [String] {
        ["score", isOfDocuments ? "path" : "row"] + (columns.count > 1 ? [columns[0]] : []) + ["snippet"]
    }
}

/// What a search has found.
struct FoundText {
    /// Of a document.
    let path: String?
    let titleColumn: String?
    let title: HighlightedText
    let snippet: HighlightedText
    /// The greater the better. It compares the hits of one search and means nothing beyond it.
    let score: Double
    let rowID: Int64

    /// The hit as the lines that a person reads.
    func lines(_ number: Int, _ style: Terminal.Style) -> [String] {
        let label = "\(number).".padded(toColumns: 4)
        let heading = [style.number(path?.onOneLine ?? "row \(rowID)"), Self.readable(title, style) { style.bold($0) }]
        return [
            label + heading.filter { !$0.isEmpty }.joined(separator: "  "),
            "    " + Self.readable(snippet, style) { $0 },
        ]
    }

    /// Marked text on one line: runs of blanks and line ends become one blank, so that code and tables read as a sentence.
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

    /// The hit for programs, with the words found in brackets.
    var row: [SQLValue] {
        [.real(score), path.map { .text($0) } ?? .integer(rowID)] + (titleColumn == nil ? [] : [.text(title.text)])
            + [.text(snippet.marked())]
    }
}

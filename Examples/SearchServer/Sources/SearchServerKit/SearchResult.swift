import Hummingbird
import SQLCipherKit

/// The notes that a search has found, the best first.
struct SearchResult: ResponseCodable {
    struct Hit: Codable {
        var id: Int64
        /// HTML, with what was found in `<mark>`.
        var title: String
        /// A part of the text, as HTML.
        var snippet: String
        /// Comparable with other hits of the same search.
        var score: Double
    }

    var hits: [Hit]
    /// The number of notes found, or a lower bound.
    var total: Int
}

extension SearchResult {
    init(_ found: FullTextSearch.Results) {
        total = found.total.count
        hits = found.hits.map { hit in
            Hit(
                id: hit.rowID, title: hit.highlights["title"]?.html ?? "", snippet: hit.snippet?.html ?? "",
                score: hit.score)
        }
    }
}

extension HighlightedText {
    /// A note may contain anything, so its own text is escaped.
    fileprivate var html: String {
        marked(from: "<mark>", to: "</mark>") { text in
            text.reduce(into: "") { html, character in
                switch character {
                case "&": html += "&amp;"
                case "<": html += "&lt;"
                case ">": html += "&gt;"
                case "\"": html += "&quot;"
                case "'": html += "&#39;"
                default: html.append(character)
                }
            }
        }
    }
}

import SQLCipherKit

extension Notebook {
    public struct Hit: Hashable, Sendable {
        public let note: Note
        /// The title and a part of the text, with what was found marked.
        public let title, excerpt: HighlightedText
    }

    /// Finds notes by what has been typed so far, in a folder or everywhere.
    public func search(_ text: String, in folder: String? = nil, limit: Int = 10) async throws -> [Hit] {
        try await pool.read { db in try Self.search(db, text, folder, limit) }
    }

    static func search(_ db: Connection, _ text: String, _ folder: String?, _ limit: Int) throws -> [Hit] {
        var search = FullTextSearch(text, limit: limit)
        search.weights = [3, 1]
        search.highlightedColumns = ["title"]
        search.filter = folder.map { "deleted IS NULL AND folder = \($0)" } ?? "deleted IS NULL"
        return try db.fullText("note_fts").records(Note.self, search).map { match in
            let title = HighlightedText(match.record.title)
            return Hit(note: match.record, title: match.hit.highlights["title"] ?? title, excerpt: match.hit.snippet ?? title)
        }
    }
}

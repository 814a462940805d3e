import SQLCipherKit

extension Notebook {
    public struct Hit: Hashable, Sendable {
        public let note: Note
        /// A part of the text, with what was found in brackets.
        public let excerpt: String
    }

    /// Finds notes by what has been typed so far, in a folder or everywhere.
    public func search(_ text: String, in folder: String? = nil, limit: Int = 10) throws -> [Hit] {
        try pool.read { db in
            var search = FullTextSearch(text)
            search.limit = limit
            search.weights = [3, 1]
            if let folder { search.filter = "folder = \(folder)" }
            let found = try db.fullText("note_fts").search(search)
            let notes = try db.fetchAll(Note.self, ids: found.hits.map(\.rowID))
            let byID = Dictionary(uniqueKeysWithValues: notes.map { ($0.id, $0) })
            return found.hits.compactMap { hit in
                byID[hit.rowID].map { Hit(note: $0, excerpt: hit.snippet?.marked() ?? $0.title) }
            }
        }
    }
}

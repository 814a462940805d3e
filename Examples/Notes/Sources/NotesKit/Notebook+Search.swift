import SQLCipherKit

extension Notebook {
    public struct Hit: Hashable, Sendable {
        public let note: Note
        /// The title and a part of the text, with what was found marked.
        public let title, excerpt: HighlightedText
    }

    /// The notes found, and the counts for all others.
    struct Found {
        var hits: [Hit]
        var total: Int
        var isExact: Bool
        /// The numbers of notes in each folder and with each tag, whichever of them is chosen.
        var folders, tags: [String: Int]
        var correction: String?
    }

    /// Finds notes by what has been typed so far, in a folder or everywhere.
    public func search(_ text: String, in folder: String? = nil, limit: Int = 10) async throws -> [Hit] {
        var question = Question(text, in: folder)
        question.limit = limit
        return try await pool.read { [question] db in try Self.search(db, question).hits }
    }

    static func search(_ db: Connection, _ question: Question) throws -> Found {
        let index = try db.fullText("note_fts")
        var search = FullTextSearch(question.text, limit: question.limit)
        search.weights = [3, 1]
        search.highlightedColumns = ["title"]
        search.snippet = .column("body")
        search.facets = [
            "folder": .values("folder"), "tag": .elements("(SELECT json_group_array(tag) FROM note_tag WHERE note_tag.note = id)"),
        ]
        search.filter = question.condition
        let found = try index.search(search)
        var everywhere = found
        if question != question.widened {
            search.filter = question.widened.condition
            search.limit = 0
            everywhere = try index.search(search)
        }
        func counts(_ facet: String) -> [String: Int] {
            let counts = everywhere.facets[facet, default: []].compactMap { count -> (String, Int)? in
                guard case .text(let name) = count.value else { return nil }
                return (name, count.count)
            }
            return Dictionary(uniqueKeysWithValues: counts)
        }
        let notes = try db.fetchAll(Note.filter { $0.id.in(found.hits.map(\.rowID)) })
        let byID = Dictionary(uniqueKeysWithValues: notes.map { ($0.id, $0) })
        return Found(
            hits: found.hits.compactMap { hit in
                guard let note = byID[hit.rowID] else { return nil }
                let title = hit.highlights["title"] ?? HighlightedText(note.title)
                return Hit(note: note, title: title, excerpt: hit.snippet ?? HighlightedText(""))
            },
            total: found.total.count, isExact: found.total.isExact, folders: counts("folder"), tags: counts("tag"),
            correction: try index.correctedText(question.text))
    }
}

import Foundation
import SQLCipherKit

extension Notebook {
    /// What a screen shows: the folders, and the notes that were searched for, or the newest.
    public struct Screen: Hashable, Sendable {
        public struct Row: Hashable, Sendable {
            public let note: Note
            public let tags: [String]
            public let title, excerpt: HighlightedText
        }

        public let folders: [String]
        /// How many notes are deleted and can be restored.
        public let deleted: Int
        public let rows: [Row]
    }

    /// What a screen shows now, all of it as of one commit.
    /// - Parameters:
    ///   - text: what has been typed so far. Without any, the pinned and the newest notes are shown.
    ///   - showsDeleted: whether the deleted notes are shown instead.
    public func screen(
        _ text: String = "", in folder: String? = nil, showsDeleted: Bool = false, limit: Int = 50
    ) async throws -> Screen {
        try await pool.read { db in try Self.screen(db, text, folder, showsDeleted, limit) }
    }

    /// An element now and after each commit, whatever makes it: this program, another one, or another copy. All loops over it share
    /// one observation.
    public func changes() -> DatabaseObservation<Void> {
        pool.observe(tracking: .fullDatabase) { _ in }.includingOtherProcesses(every: .seconds(1)).shared()
    }

    private static func screen(
        _ db: Connection, _ text: String, _ folder: String?, _ showsDeleted: Bool, _ limit: Int
    ) throws -> Screen {
        let hits = showsDeleted ? try newest(db, Note.filter { $0.deleted != nil }, limit)
            : text.isEmpty ? try newest(db, folder.map { folder in Note.kept.filter { $0.folder == folder } } ?? Note.kept, limit)
            : try search(db, text, folder, limit)
        let tags = try db.fetchAll(NoteTag.filter { $0.note.in(hits.map(\.note.id)) }.order { $0.tag })
        let byNote = Dictionary(grouping: tags, by: \.note)
        return Screen(
            folders: try db.fetchAll(Folder.order { $0.name }.select { $0.name }),
            deleted: try db.count(Note.filter { $0.deleted != nil }),
            rows: hits.map { hit in
                let tags = byNote[hit.note.id, default: []].map(\.tag)
                return Screen.Row(note: hit.note, tags: tags, title: hit.title, excerpt: hit.excerpt)
            })
    }

    private static func newest(_ db: Connection, _ notes: SQLQuery<Note>, _ limit: Int) throws -> [Hit] {
        let newest = notes.order { note in
            note.pinned.descending
            note.changed.descending
            note.id
        }.limit(limit)
        return try db.fetchAll(newest).map { note in
            Hit(note: note, title: HighlightedText(note.title), excerpt: HighlightedText(String(note.body.prefix(160))))
        }
    }
}

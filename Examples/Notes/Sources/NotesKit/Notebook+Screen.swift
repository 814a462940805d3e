import Foundation
import SQLCipherKit

extension Notebook {
    /// The question of a screen. Without a text, the answer is the pinned and the newest notes.
    public struct Question: Hashable, Sendable {
        public enum Part: String, Sendable {
            case kept, deleted
            /// Notes that copies have changed before they met.
            case conflicts
        }

        public var text = ""
        public var folder, tag: String?
        public var part = Part.kept
        public var limit = 50

        public init(_ text: String = "", in folder: String? = nil, tagged tag: String? = nil) {
            (self.text, self.folder, self.tag) = (text, folder, tag)
        }

        /// The same without a folder and a tag.
        var widened: Question {
            var question = self
            (question.folder, question.tag) = (nil, nil)
            return question
        }

        /// The condition for a row of `note`.
        var condition: SQL {
            var condition: SQL = switch part {
            case .kept: "deleted IS NULL"
            case .deleted: "deleted IS NOT NULL"
            case .conflicts: "id IN (\(Notebook.disputed))"
            }
            if let folder { condition = "\(condition) AND folder = \(folder)" }
            if let tag { condition = "\(condition) AND id IN (SELECT note FROM note_tag WHERE tag = \(tag))" }
            return condition
        }
    }

    public struct Screen: Hashable, Sendable {
        public struct Row: Hashable, Sendable {
            public let note: Note
            public let tags: [String]
            /// True if copies have changed the note before they met.
            public let isDisputed: Bool
            public let title, excerpt: HighlightedText
        }

        /// A folder or a tag, with how many of the notes it has, whichever of them is chosen.
        public struct Group: Codable, Hashable, Sendable {
            public let name: String
            public let count: Int
        }

        public let rows: [Row]
        /// The number of notes for the question, exact or a lower bound.
        public let total: Int
        public let isExact: Bool
        /// The numbers of notes, of deleted notes that can be restored, and of conflicts.
        public let all, deleted, conflicts: Int
        public let folders, tags: [Group]
        /// The text that was probably meant.
        public let correction: String?
    }

    /// The content of a screen now, all of it as of one commit.
    public func screen(_ question: Question = Question()) async throws -> Screen {
        try await pool.read { db in try Self.screen(db, question) }
    }

    /// An element now and after each change of the notes, whatever makes it: this program, another one, or another copy. All loops
    /// over it share one observation.
    public func changes() -> DatabaseObservation<Void> {
        let region = DatabaseRegion(Self.shared.map { DatabaseTable($0) })
        return pool.observe(tracking: region) { _ in }.includingOtherProcesses(every: .seconds(1)).shared()
    }

    private static func screen(_ db: Connection, _ question: Question) throws -> Screen {
        let found = question.text.isEmpty ? try newest(db, question) : try search(db, question)
        let tags = try db.fetchAll(NoteTag.filter { $0.note.in(found.hits.map(\.note.id)) }.order { $0.tag })
        let byNote = Dictionary(grouping: tags, by: \.note), deleted = try db.count(Note.filter { $0.deleted != nil })
        let folders = try db.fetchAll(Folder.order { $0.name }.select { $0.name })
        let disputed = Set(try db.fetchAll(ID.self, Self.disputed))
        return Screen(
            rows: found.hits.map { hit in
                let tags = byNote[hit.note.id, default: []].map(\.tag)
                return Screen.Row(
                    note: hit.note, tags: tags, isDisputed: disputed.contains(hit.note.id), title: hit.title, excerpt: hit.excerpt)
            },
            total: found.total, isExact: found.isExact, all: try db.count(Note.all) - deleted, deleted: deleted,
            conflicts: disputed.count,
            folders: folders.map { Screen.Group(name: $0, count: found.folders[$0] ?? 0) },
            tags: found.tags.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(20).map(Screen.Group.init),
            correction: found.correction)
    }

    /// The pinned and the newest notes, and how many each folder and each tag has.
    private static func newest(_ db: Connection, _ question: Question) throws -> Found {
        let (whole, all) = (question.condition, question.widened.condition)
        let notes = try db.fetchAll(
            Note.self, "SELECT * FROM note WHERE \(whole) ORDER BY pinned DESC, changed DESC, id LIMIT \(question.limit)")
        let folders: [(String, Int)] = try db.fetchAll(
            "SELECT folder, count(*) FROM note WHERE \(all) AND folder IS NOT NULL GROUP BY folder")
        let tags: [(String, Int)] = try db.fetchAll(
            "SELECT tag, count(*) FROM note_tag JOIN note ON id = note_tag.note WHERE \(all) GROUP BY tag")
        return Found(
            hits: notes.map { note in
                let beginning = note.body.dropFirst(200).isEmpty ? note.body : note.body.prefix(200) + "…"
                return Hit(note: note, title: HighlightedText(note.title), excerpt: HighlightedText(beginning))
            },
            total: try db.fetchOne(Int.self, "SELECT count(*) FROM note WHERE \(whole)") ?? 0, isExact: true,
            folders: Dictionary(uniqueKeysWithValues: folders), tags: Dictionary(uniqueKeysWithValues: tags))
    }
}

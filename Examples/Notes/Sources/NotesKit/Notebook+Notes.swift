import Foundation
import SQLCipherKit

extension Notebook {
    /// Adds a note, with its folder and tags where they are new.
    @discardableResult
    public func add(_ title: String, _ body: String, folder: String? = nil, tags: [String] = []) throws -> Note {
        try write { db in
            if let folder { try db.insert(Folder(name: folder), onConflict: .ignore) }
            let note = Note(id: .new, folder: folder, title: title, body: body, changed: .now)
            try db.insert(note)
            for tag in tags {
                try db.insert(Tag(name: tag), onConflict: .ignore)
                try db.insert(NoteTag(note: note.id, tag: tag), onConflict: .ignore)
            }
            return note
        }
    }

    /// Adds the text files below a folder, all in one transaction: a note for each, or for each section of a Markdown file.
    /// - Returns: the number of notes.
    @discardableResult
    public func importFiles(below path: String, into folder: String) throws -> Int {
        let root = URL(fileURLWithPath: path)
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return try write { db in
            try db.insert(Folder(name: folder), onConflict: .ignore)
            var count = 0
            for name in names.sorted() where name.hasSuffix(".md") || name.hasSuffix(".txt") {
                let text = try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
                let sections = name.hasSuffix(".md") ? Self.sections(of: text) : [(title: name, body: text)]
                for section in sections {
                    try db.insert(Note(id: .new, folder: folder, title: section.title, body: section.body, changed: .now))
                }
                count += sections.count
            }
            return count
        }
    }

    /// The parts of a Markdown text that have a heading and a text. The first heading is that of the whole.
    private static func sections(of text: String) -> [(title: String, body: String)] {
        var sections: [(title: String, body: String)] = [], isCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, let heading = line.firstMatch(of: #/^#+ (.+)/#) {
                let title = String(heading.1.filter { $0 != "`" })
                sections.append((title: sections.first.map { "\($0.title): \(title)" } ?? title, body: ""))
            } else if !sections.isEmpty {
                sections[sections.count - 1].body += line + "\n"
            }
        }
        return sections.filter { $0.body.contains { !$0.isWhitespace } }
    }

    /// Changes a note's text: only the columns that differ are written.
    public func change(_ note: Note, title: String? = nil, body: String? = nil) throws {
        try write { db in
            var changed = note
            changed.title = title ?? note.title
            changed.body = body ?? note.body
            changed.changed = .now
            try db.updateChanges(changed, from: note)
        }
    }

    /// Pinned notes come first.
    public func pin(_ id: ID, _ pinned: Bool = true) throws {
        try write { db in _ = try db.updateAll(Note.filter { $0.id == id }) { _, set in set(\.pinned, to: pinned) } }
    }

    public func delete(_ id: ID) throws {
        try write { db in _ = try db.deleteAll(Note.filter { $0.id == id }) }
    }

    public func note(_ id: ID) throws -> Note? { try pool.read { db in try db.fetchOne(Note.self, id: id) } }

    public func attach(_ content: Data, named name: String, to note: ID) throws {
        try write { db in try db.insert(Attachment(id: .new, note: note, name: name, content: content)) }
    }

    public func attachments(of note: Note) throws -> [Attachment] {
        try pool.read { db in try db.fetchAll(Note.attachments.of(note).order { $0.name }) }
    }

    /// A folder with the number of its notes and the pinned and newest ones, each with its tags.
    public struct Shelf: Hashable, Sendable {
        public let folder: Folder
        public let count: Int
        public let newest: [(note: Note, tags: [Tag])]

        public static func == (a: Shelf, b: Shelf) -> Bool {
            a.folder == b.folder && a.count == b.count && a.newest.elementsEqual(b.newest) { $0 == $1 }
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(folder) }
    }

    /// The folders by name: three statements, however many folders and notes there are.
    public func shelves(newest limit: Int = 3) throws -> [Shelf] { try pool.read { db in try Self.shelves(db, limit) } }

    /// The folders now and after each change, whoever makes it.
    public func shelfChanges(newest limit: Int = 3) -> DatabaseObservation<[Shelf]> {
        pool.observe { db in try Self.shelves(db, limit) }
    }

    private static func shelves(_ db: Connection, _ limit: Int) throws -> [Shelf] {
        let newest = Folder.notes.order { note in
            note.pinned.descending
            note.changed.descending
            note.id
        }.limit(limit).including(Note.tags.order { $0.name })
        let query = Folder.order { $0.name }.annotated { Folder.notes.of($0).count }.including(newest)
        return try db.fetchAll(query).map { found, notes in
            Shelf(folder: found.0, count: found.1, newest: notes.map { (note: $0.0, tags: $0.1) })
        }
    }
}

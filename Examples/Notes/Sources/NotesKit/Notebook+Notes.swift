import Foundation
import SQLCipherKit

extension Notebook {
    /// Adds a note, with its folder and tags where they are new.
    /// - Parameter id: the id that was given before, if the note may have been added already: then it is returned as it is.
    @discardableResult
    public func add(
        _ title: String, _ body: String, folder: String? = nil, tags: [String] = [], id: ID? = nil
    ) async throws -> Note {
        try await write { db in
            if let id, let note = try db.fetchOne(Note.self, id: id) { return note }
            if let folder { try db.insert(Folder(name: folder), onConflict: .ignore) }
            let note = Note(id: id ?? .new, folder: folder, title: title, body: body, changed: .now)
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
    public func importFiles(below path: String, into folder: String) async throws -> Int {
        let root = URL(fileURLWithPath: path), names = try FileManager.default.subpathsOfDirectory(atPath: path)
        let count = try await write { db in
            try db.insert(Folder(name: folder), onConflict: .ignore)
            var count = 0
            for name in names.sorted() where name.hasSuffix(".md") || name.hasSuffix(".txt") {
                let text = try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
                let sections = name.hasSuffix(".md") ? Self.sections(of: text) : [(title: name, body: text)]
                let notes = sections.map { Note(id: .new, folder: folder, title: $0.title, body: $0.body, changed: .now) }
                for note in notes { try db.insert(note) }
                count += sections.count
            }
            return count
        }
        // Before someone waits for the first note to open.
        try await makeVectors()
        return count
    }

    /// The parts of a Markdown text that have a heading and a text. The first heading is that of the whole.
    private static func sections(of text: String) -> [(title: String, body: String)] {
        var sections: [(title: String, body: String)] = [], isCode = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, let heading = line.firstMatch(of: #/^#+ (.+)/#) {
                let title = String(heading.1.filter { $0 != "`" })
                sections.append((title: sections.first.map { "\($0.title): \(title)" } ?? title, body: ""))
            } else if let last = sections.indices.last, !sections[last].body.isEmpty || !line.isEmpty {
                sections[last].body += line + "\n"
            }
        }
        return sections.filter { $0.body.contains { !$0.isWhitespace } }
    }

    /// The changes that a person has made to a note, and nothing else.
    public struct Edits: Codable, Sendable {
        /// A text as it is now, and as it was when that person opened it.
        public struct Text: Codable, Sendable {
            public var was, now: String

            public init(_ was: String, _ now: String) { (self.was, self.now) = (was, now) }

            /// A note may be changed if its text is still what was opened, or already what is wanted: saving twice does no harm.
            func fits(_ text: String) -> Bool { text.hasBytes(of: was) || text.hasBytes(of: now) }
        }

        public var title, body: Text?
        public var pinned, deleted: Bool?
        /// The versions that this person has seen, and that the note as it is saved replaces.
        public var settles: [ID]?

        public init(title: Text? = nil, body: Text? = nil, pinned: Bool? = nil, deleted: Bool? = nil, settles: [ID]? = nil) {
            (self.title, self.body, self.pinned, self.deleted, self.settles) = (title, body, pinned, deleted, settles)
        }
    }

    public enum Saved: Sendable {
        case saved(Note)
        /// A text was changed elsewhere after it had been opened, or the note was deleted. Nothing was saved.
        case conflict(Note)
    }

    /// Changes a note: all of the edits, or none.
    /// - Returns: nil if there is no such note.
    @discardableResult
    public func save(_ edits: Edits, to id: ID) async throws -> Saved? {
        try await write { [device] db in
            guard let note = try db.fetchOne(Note.self, id: id) else { return nil }
            var changed = note
            for (edit, path) in [(edits.title, \Note.title), (edits.body, \Note.body)] {
                guard let edit else { continue }
                if !edit.fits(note[keyPath: path]) || note.deleted != nil && edits.deleted == nil { return .conflict(note) }
                changed[keyPath: path] = edit.now
                changed.changed = .now
            }
            changed.pinned = edits.pinned ?? note.pinned
            if let deleted = edits.deleted { changed.deleted = deleted ? note.deleted ?? .now : nil }
            try db.updateChanges(changed, from: note)
            try Self.keepVersions(db, of: note, as: changed, settling: edits.settles ?? [], by: device)
            return .saved(changed)
        }
    }

    /// Removes a note for good.
    /// - Returns: false if there was none.
    @discardableResult
    public func discard(_ id: ID) async throws -> Bool {
        try await write { db in try db.deleteAll(Note.filter { $0.id == id }) > 0 }
    }

    public func note(_ id: ID) async throws -> Note? { try await pool.read { db in try db.fetchOne(Note.self, id: id) } }

    public func attach(_ content: Data, named name: String, to note: ID) async throws {
        try await write { db in try db.insert(Attachment(id: .new, note: note, name: name, content: content)) }
    }

    public func attachments(of note: Note) async throws -> [Attachment] {
        try await pool.read { db in try db.fetchAll(Note.attachments.of(note).order { $0.name }) }
    }

    /// A folder with the number of its notes and the pinned and newest ones, each with its tags.
    public struct Shelf: Hashable, Sendable {
        public struct Entry: Hashable, Sendable { public let note: Note, tags: [Tag] }

        public let folder: Folder
        public let count: Int
        public let newest: [Entry]
    }

    /// The folders by name: three statements, however many folders and notes there are.
    public func shelves(newest limit: Int = 3) async throws -> [Shelf] {
        try await pool.read { db in try Self.shelves(db, limit) }
    }

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
            Shelf(folder: found.0, count: found.1, newest: notes.map { Shelf.Entry(note: $0.0, tags: $0.1) })
        }
    }
}

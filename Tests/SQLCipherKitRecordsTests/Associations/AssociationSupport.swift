import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport

/// A library with each kind of association. Its schema is described; tags have text as their key, and links may be there twice.
enum Library {
    struct Folder: SQLRecord, Hashable {
        var id: Int64?
        var parent: Int64?
        var name: String

        static let table = SQLTable(of: Folder.self) {
            $0.id.primaryKey()
            $0.parent.references(Folder.self)
            $0.name
        }
        static let up = belongsTo(Folder.self)
        static let children = hasMany(Folder.self)
        static let notes = hasMany(Note.self)
        static let cover = hasOne(Cover.self)
        static let tags = hasMany(Tag.self, through: Note.self, from: \.folder, to: \.mainTag)
        static let comments = hasMany(Comment.self, through: Note.self)
    }

    struct Note: SQLRecord, Hashable {
        var id: Int64?
        var folder: Int64?
        var stars: Int
        var mainTag: String?

        static let table = SQLTable(of: Note.self) {
            $0.id.primaryKey()
            $0.folder.references(Folder.self)
            $0.stars
            $0.mainTag.references(Tag.self)
        }
        static let inside = belongsTo(Folder.self)
        static let tags = hasMany(Tag.self, through: Link.self)
        static let comments = hasMany(Comment.self)
    }

    struct Tag: SQLRecord, Hashable {
        var name: String
        var color: Int

        static let table = SQLTable(of: Tag.self, options: .withoutRowID) {
            $0.name.primaryKey()
            $0.color
        }
        static let notes = hasMany(Note.self, through: Link.self)
        static let mains = hasMany(Note.self, by: \.mainTag)
    }

    struct Link: SQLRecord, Hashable {
        var id: Int64?
        var note: Int64
        var tag: String

        static let table = SQLTable(of: Link.self) {
            $0.id.primaryKey()
            $0.note.references(Note.self)
            $0.tag.references(Tag.self)
        }
    }

    struct Cover: SQLRecord, Hashable {
        var id: Int64?
        var folder: Int64
        var image: Data

        static let table = SQLTable(of: Cover.self) {
            $0.id.primaryKey()
            $0.folder.references(Folder.self)
            $0.image
        }
    }

    struct Comment: SQLRecord, Hashable {
        var id: Int64?
        var note: Int64
        var text: String

        static let table = SQLTable(of: Comment.self) {
            $0.id.primaryKey()
            $0.note.references(Note.self)
            $0.text
        }
        static let note = belongsTo(Note.self)
    }

    /// The same notes, read by position.
    struct QuickNote: SQLPositionalRecord, Hashable {
        var id: Int64?
        var folder: Int64?
        var stars: Int
        static let tableName = "note"
        static let recordColumns = SQLRecordColumns(of: QuickNote.self, ["stars": \.stars, "folder": \.folder, "id": \.id])
        static let folderOf = belongsTo(QuickFolder.self, by: \.folder, to: \.id)

        init(columns: inout SQLColumnReader) throws {
            stars = try columns.next()
            folder = try columns.next()
            id = try columns.next()
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(stars)
            try columns.put(folder)
            try columns.put(id)
        }
    }

    struct QuickFolder: SQLPositionalRecord, Hashable {
        var id: Int64?
        var label: String
        static let tableName = "folder"
        static let recordColumns = SQLRecordColumns(of: QuickFolder.self, ["name": \.label, "id": \.id])
        static let notes = hasMany(QuickNote.self, by: \.folder, to: \.id)

        init(columns: inout SQLColumnReader) throws {
            label = try columns.next()
            id = try columns.next()
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(label)
            try columns.put(id)
        }
    }

    static let tables = [Folder.table, Tag.table, Note.table, Link.table, Cover.table, Comment.table]

    /// Random rows.
    struct Content {
        var folders: [Folder] = [], notes: [Note] = [], tags: [Tag] = [], links: [Link] = [], covers: [Cover] = []
        var comments: [Comment] = []

        init(seed: UInt64) {
            var random = SeededGenerator(state: seed)
            func id(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &random) }
            folders = (1...12).map { Folder(id: $0, parent: Bool.random(using: &random) ? id(1...12) : nil, name: "f\($0 % 5)") }
            // Different texts that a C string or Unicode would take for the same text.
            tags = ["a", "A", "a\u{0}b", "a\u{0}c", "e\u{301}", "\u{e9}", "", "1", "'"].map { Tag(name: $0, color: .random(in: 0...3, using: &random)) }
            notes = (1...40).map {
                Note(
                    id: $0 * 7, folder: Int.random(in: 0...4, using: &random) > 0 ? id(1...9) : nil, stars: .random(in: 0...5, using: &random),
                    mainTag: Bool.random(using: &random) ? tags.randomElement(using: &random)?.name : nil)
            }
            links = (1...60).map { Link(id: $0, note: 7 * id(1...40), tag: tags[Int.random(in: 0..<7, using: &random)].name) }
            covers = (1...8).map { Cover(id: $0, folder: id(1...12), image: Data([UInt8($0)])) }
            comments = (1...30).map { Comment(id: $0, note: 7 * id(1...40), text: "c") }
        }

        func insert(into db: Connection) throws {
            for table in Library.tables { try db.create(table) }
            try db.transaction { db in
                try db.execute("PRAGMA defer_foreign_keys = ON")
                try db.insertAll(folders)
                try db.insertAll(tags)
                try db.insertAll(notes)
                try db.insertAll(links)
                try db.insertAll(covers)
                try db.insertAll(comments)
            }
        }

        func notes(of folder: Folder) -> [Note] { notes.filter { $0.folder == folder.id } }
        func tags(of note: Note) -> [Tag] {
            let names = links.filter { $0.note == note.id }.map { Array($0.tag.utf8) }
            return tags.filter { names.contains(Array($0.name.utf8)) }
        }
    }
}

extension Connection {
    /// The statements that a closure runs, without statements that begin and end transactions, and without looks at the schema.
    func statements(_ body: () throws -> Void) throws -> [String] {
        var texts: [String] = []
        let token = try addTraceHook { event in
            guard case .started = event.kind, !["BEGIN", "COMMIT", "PRAGMA"].contains(where: event.sql.hasPrefix) else { return }
            if !event.sql.contains("pragma_"), !event.sql.contains("PRAGMA ") { texts.append(event.sql) }
        }
        try body()
        token.remove()
        return texts
    }
}

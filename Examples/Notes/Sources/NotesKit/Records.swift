import Foundation
import SQLCipherKit

/// A key that no two copies of a notebook choose for different rows, so that they can be synchronized. It is the row's id too,
/// which the full-text index refers to.
public typealias ID = Int64

extension ID {
    static var new: ID { .random(in: 1...(1 << 53)) }
}

/// The key of a folder is its name, as that of a tag: copies that add the same folder have one, and no note loses it.
@Record("folder", options: .strict)
public struct Folder: Hashable, Sendable {
    @PrimaryKey public var name: String
}

@Record("note", options: .strict, indexes: [SQLIndex("note_folder", on: ["folder"])])
public struct Note: Hashable, Sendable {
    @PrimaryKey public var id: ID
    @References(Folder.self, onDelete: .setNull) public var folder: String?
    public var title: String
    public var body: String
    public var changed: Date
    @Column(default: false) public var pinned = false
    /// When it was deleted. It can be restored until it is discarded.
    public var deleted: Date?

    /// Notes that are not deleted.
    static var kept: SQLQuery<Note> { filter { $0.deleted == nil } }
}

/// A text of a note as a copy has saved it, until a copy that has seen it replaces it. Of two copies that edit a note before they
/// meet, each leaves a version: the note has the later text, and the other one is not lost.
@Record("version", options: .strict, indexes: [SQLIndex("version_field", on: ["note", "field"])])
public struct Version: Hashable, Sendable {
    @PrimaryKey public var id: ID
    @References(Note.self, onDelete: .cascade) public var note: ID
    /// `title` or `body`.
    public var field: String
    public var text: String
    public var changed: Date
    /// The name of the copy, if it has one.
    public var device: String?
}

@Record("tag", options: .strict)
public struct Tag: Hashable, Sendable {
    @PrimaryKey public var name: String
}

@Record(
    "note_tag", options: .strict, constraints: [.primaryKey("note", "tag")],
    indexes: [SQLIndex("note_tag_tag", on: ["tag"])])
public struct NoteTag: Hashable, Sendable {
    @References(Note.self, onDelete: .cascade) public var note: ID
    @References(Tag.self, onDelete: .cascade) public var tag: String
}

@Record("attachment", options: .strict, indexes: [SQLIndex("attachment_note", on: ["note"])])
public struct Attachment: Hashable, Sendable {
    @PrimaryKey public var id: ID
    @References(Note.self, onDelete: .cascade) public var note: ID
    public var name: String
    public var content: Data
}

extension Folder {
    static let notes = hasMany(Note.self).filter { $0.deleted == nil }
}

extension Note {
    static let inside = belongsTo(Folder.self)
    static let tags = hasMany(Tag.self, through: NoteTag.self)
    static let attachments = hasMany(Attachment.self)
}

import Foundation
import SQLCipherKit

/// Notes in one encrypted file.
public struct Notebook: Sendable {
    let pool: DatabasePool
    /// The name of this copy, for the others.
    let peer: String

    /// Opens a notebook, or creates it.
    public init(at path: String, key: Encryption) throws {
        pool = try DatabasePool(.file(path), key: key)
        try Self.migrator.migrate(pool)
        // Not synchronised, as it is in none of the logged tables.
        let settings = try SharedKeyValueStore("settings", in: pool)
        peer = try settings.write { store in
            if let peer = try store.get("peer", as: String.self) { return peer }
            let peer = UUID().uuidString
            try store.set("peer", to: peer)
            return peer
        }
        // Creates the log with the tables.
        try pool.write { db in _ = try log(db) }
    }

    public func close() throws { try pool.close() }

    /// In SQL, because a migration that was released never changes, and the records do.
    private static var migrator: Migrator {
        var migrator = Migrator()
        migrator.add("notes, folders, tags and attachments") { db in
            try db.execute(SQLScript("""
                CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE) STRICT;
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY,
                    folder INTEGER REFERENCES folder(id) ON DELETE SET NULL,
                    title TEXT NOT NULL, body TEXT NOT NULL, changed TEXT NOT NULL) STRICT;
                CREATE INDEX note_folder ON note(folder);
                CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL) STRICT;
                CREATE TABLE note_tag(
                    note INTEGER NOT NULL REFERENCES note(id) ON DELETE CASCADE,
                    tag TEXT NOT NULL REFERENCES tag(name) ON DELETE CASCADE, PRIMARY KEY(note, tag)) STRICT;
                CREATE INDEX note_tag_tag ON note_tag(tag);
                CREATE TABLE attachment(
                    id INTEGER PRIMARY KEY, note INTEGER NOT NULL REFERENCES note(id) ON DELETE CASCADE,
                    name TEXT NOT NULL, content BLOB NOT NULL) STRICT;
                CREATE INDEX attachment_note ON attachment(note);
                """))
            try db.create(
                FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: .multilingual()))
        }
        return migrator
    }

    /// The log of changes, through which all writing goes.
    func log(_ db: Connection) throws -> ChangeLog {
        let log = try ChangeLog(db, tables: ["folder", "note", "tag", "note_tag", "attachment"], peer: peer)
        // Received rows are indexed like written ones.
        log.triggers = .run
        return log
    }

    @discardableResult
    func write<R: Sendable>(_ body: (Connection) throws -> R) throws -> R {
        try pool.write { db in try log(db).write(body) }
    }
}

import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// Notes in one encrypted file.
public struct Notebook: Sendable {
    let path: String
    let pool: DatabasePool
    /// The log of changes, through which all writing goes.
    let log: SharedChangeLog
    /// The key of the file, and of what copies leave for each other.
    let key: DatabaseKey

    /// Opens a notebook, or creates it.
    public init(at path: String, key: DatabaseKey) throws { try self.init(at: path, key: key, migratedThrough: nil) }

    /// - Parameter last: the last migration that the application has. Tests are former versions of it with that.
    init(at path: String, key: DatabaseKey, migratedThrough last: String?) throws {
        (self.path, self.key) = (path, key)
        pool = try DatabasePool(.file(path), key: key)
        try Self.migrator.migrate(pool, through: last)
        // The name of this copy. It is not synchronized, as it is in none of the logged tables.
        let settings = try SharedKeyValueStore("settings", in: pool)
        let peer = try settings.write { store in
            if let peer = try store.get("peer", as: String.self) { return peer }
            let peer = UUID().uuidString
            try store.set("peer", to: peer)
            return peer
        }
        log = try SharedChangeLog(pool, tables: ["folder", "note", "tag", "note_tag", "attachment"], localPeer: peer)
    }

    public func close() throws { try pool.close() }

    /// In SQL, because a migration that was released never changes, and the records do.
    private static var migrator: Migrator {
        var migrator = Migrator()
        migrator.add("notes, folders, tags and attachments") { db in
            try db.execute(SQLScript("""
                CREATE TABLE folder(name TEXT PRIMARY KEY NOT NULL) STRICT;
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY,
                    folder TEXT REFERENCES folder(name) ON DELETE SET NULL,
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
        // A copy without this column receives nothing that has it, and loses nothing: it gets that when it is migrated.
        migrator.add("pinned notes") { db in
            try db.execute("ALTER TABLE note ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0")
        }
        return migrator
    }

    @discardableResult
    func write<R: Sendable>(_ body: (Connection) throws -> R) throws -> R { try log.write(body) }
}

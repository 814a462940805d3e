import Foundation
import SQLCipherKit
import SQLCipherKitSync
import SQLCipherKitVectors

/// Notes in one encrypted file.
public struct Notebook: Sendable {
    let path: String
    let pool: DatabasePool
    /// The log of changes, through which all writing goes.
    let log: SharedChangeLog
    /// The key of the file, and of what copies leave for each other.
    let key: DatabaseKey

    /// A key for what a page keeps outside of this notebook, such as drafts. It is in the notebook, and is not synchronized.
    public let draftKey: Data

    /// The name of this copy for the others, such as "Laptop". Default: nil.
    public var device: String?

    /// The tables that are the same in all copies.
    static let shared = ["folder", "note", "version", "tag", "note_tag", "attachment"]

    /// Opens a notebook, or creates it.
    public init(at path: String, key: DatabaseKey) async throws { try await self.init(at: path, key: key, migratedThrough: nil) }

    /// - Parameter last: the last migration that the application has. Tests are former versions of it with that.
    init(at path: String, key: DatabaseKey, migratedThrough last: String?) async throws {
        (self.path, self.key) = (path, key)
        pool = try DatabasePool(.file(path), key: key)
        try await Self.migrator.migrate(pool, through: last)
        // The name of this copy and the key for drafts. They are not synchronized, as they are in none of the logged tables.
        let settings = try SharedKeyValueStore("settings", in: pool)
        let (peer, draftKey) = try await settings.write { store in
            func kept<T: SQLValueConvertible>(_ name: String, _ made: T) throws -> T {
                if let value = try store.get(name, as: T.self) { return value }
                try store.set(name, to: made)
                return made
            }
            var random = SystemRandomNumberGenerator()
            let bytes = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            return (try kept("peer", UUID().uuidString), try kept("draft-key", bytes))
        }
        self.draftKey = draftKey
        // A former version of the application lacks one of them.
        let tables = try await pool.read { db in try Self.shared.filter { try db.main.hasTable($0) } }
        log = try await SharedChangeLog(pool, tables: tables, localPeer: peer)
    }

    public func close() async throws { try await pool.close() }

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
        migrator.add("deleted notes") { db in try db.execute("ALTER TABLE note ADD COLUMN deleted TEXT") }
        migrator.add("versions of texts") { db in
            try db.execute(SQLScript("""
                CREATE TABLE version(
                    id INTEGER PRIMARY KEY, note INTEGER NOT NULL REFERENCES note(id) ON DELETE CASCADE,
                    field TEXT NOT NULL, text TEXT NOT NULL, changed TEXT NOT NULL, device TEXT) STRICT;
                CREATE INDEX version_field ON version(note, field);
                """))
        }
        // Not synchronized: each copy makes its own.
        migrator.add("vectors of notes") { db in
            try db.create(VectorTable(
                "note_vectors", dimensions: 512, of: .int8, content: .external(table: "note", columns: ["title", "body"])))
        }
        return migrator
    }

    @discardableResult
    func write<R: Sendable>(_ body: sending @escaping (Connection) throws -> R) async throws -> R { try await log.write(body) }
}

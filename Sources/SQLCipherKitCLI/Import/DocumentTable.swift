import Foundation
import SQLCipherKit

/// The table of text files, and the full-text index over it.
struct DocumentTable {
    static let index = "document_search"
    static let indexColumns = ["title", "body", "path"]

    private let db: Connection
    private let upsert: Statement
    private let source: String
    /// The documents of this source that are already in the table, by path.
    private var known: [[UInt8]: (size: Int, modified: Date)] = [:]

    /// Creates the table if it does not exist.
    /// - Parameter source: the absolute path of the folder that the documents' paths are relative to.
    init(in db: Connection, source: String, _ tokenizer: ImportCommand.Tokenizer) throws {
        self.db = db
        try db.transaction { db in
            try db.execute(
                SQLScript(
                    """
                    CREATE TABLE IF NOT EXISTS document(
                        id INTEGER PRIMARY KEY,
                        source TEXT NOT NULL,       -- the folder that path is below
                        path TEXT NOT NULL,
                        title TEXT NOT NULL,
                        size INTEGER NOT NULL,      -- bytes of UTF-8
                        modified TEXT NOT NULL,     -- ISO 8601, UTC
                        meta BLOB NOT NULL,         -- JSONB: name, extension, folders, lines, words
                        body TEXT NOT NULL          -- last, so that a query of the others does not read through it
                    ) STRICT;
                    CREATE UNIQUE INDEX IF NOT EXISTS document_path ON document(path, source);
                    """))
            try db.create(
                FTS5Table(
                    Self.index, columns: Self.indexColumns.map { .init($0) }, content: .external(table: "document", rowID: "id"),
                    tokenizer: tokenizer.engine, prefixes: tokenizer.prefixes), ifNotExists: true)
        }
        self.source = source
        upsert = try db.prepare(
            """
            INSERT INTO document(source, path, title, size, modified, meta, body) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (path, source) DO UPDATE SET title = excluded.title, size = excluded.size, modified = excluded.modified,
            meta = excluded.meta, body = excluded.body
            """)
        let rows: [(String, Int, Date)] = try db.fetchAll("SELECT path, size, modified FROM document WHERE source = \(source)")
        for (path, size, modified) in rows { known[path.bytes] = (size, modified) }
    }

    /// Returns whether the table has the file with this size and time. A byte order mark, three bytes, is not stored.
    func has(_ path: String, size: Int, modified: Date) -> Bool {
        guard let known = known[path.bytes] else { return false }
        return (known.size == size || known.size == size - 3) && abs(known.modified.timeIntervalSince(modified)) < 0.002
    }

    /// Adds a document, or replaces the one with the same path.
    func put(_ document: Document) throws {
        try upsert.execute(
            binding: source, document.path, document.title, document.size, document.modified, document.meta, document.body)
    }

    /// Removes the documents of this source whose paths are not in `paths`.
    /// - Returns: the number of documents removed.
    func remove(allBut paths: Set<[UInt8]>) throws -> Int {
        let gone = known.keys.filter { !paths.contains($0) }
        for path in gone {
            try db.execute("DELETE FROM document WHERE source = \(source) AND path = \(String(decoding: path, as: UTF8.self))")
        }
        return gone.count
    }
}

import Foundation
import SQLCipherKit

/// Records how far each file has been imported. It is written in the same transaction as the rows, so that the two always agree.
struct ImportLedger {
    /// A file that rows come from.
    struct Source {
        /// The absolute path.
        let path: String
        let bytes: Int
        let modified: Date
    }

    struct Entry {
        let bytes: Int
        let modified: Date
        let offset: Int
        let line: Int
        let rows: Int
        let isFinished: Bool
    }

    private let db: Connection

    init(_ db: Connection) throws {
        self.db = db
        try db.execute(
            """
            CREATE TABLE IF NOT EXISTS sqlcipherkit_import(
                source TEXT NOT NULL,           -- the file's absolute path
                target TEXT NOT NULL,           -- the table
                bytes INTEGER NOT NULL,         -- the file's size and time when the import began
                modified TEXT NOT NULL,
                position INTEGER NOT NULL,      -- where the next record begins, in bytes
                line INTEGER NOT NULL,          -- and in which line
                rows INTEGER NOT NULL,          -- the rows that are in the table
                is_finished INTEGER NOT NULL,
                made_table INTEGER NOT NULL,    -- whether the import has made the table
                PRIMARY KEY (source, target)
            ) STRICT, WITHOUT ROWID
            """)
    }

    func entry(_ source: Source, _ table: String) throws -> Entry? {
        let row: (Int, Date, Int, Int, Int, Bool)? = try db.fetchOne(
            """
            SELECT bytes, modified, position, line, rows, is_finished FROM sqlcipherkit_import
            WHERE source = \(source.path) AND target = \(table)
            """)
        return row.map { Entry(bytes: $0.0, modified: $0.1, offset: $0.2, line: $0.3, rows: $0.4, isFinished: $0.5) }
    }

    /// Whether an import created the table.
    func hasMade(_ table: String) throws -> Bool {
        try db.fetchOne(Bool.self, "SELECT max(made_table) FROM sqlcipherkit_import WHERE target = \(table) HAVING count(*) > 0")
            ?? false
    }

    /// Forgets what was imported into a table.
    func forget(_ table: String) throws { try db.execute("DELETE FROM sqlcipherkit_import WHERE target = \(table) COLLATE NOCASE") }

    func note(_ source: Source, _ table: RowTable, _ place: SampledRecords.Place, rows: Int, isFinished: Bool) throws {
        try db.execute(
            """
            INSERT OR REPLACE INTO sqlcipherkit_import
            VALUES (\(source.path), \(table.name), \(source.bytes), \(source.modified), \(place.offset), \(place.resumeLine),
                \(rows), \(isFinished), \(table.isMade))
            """)
    }
}

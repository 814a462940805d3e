import Foundation
import SQLCipherKit

/// A database that this command has created, and removes if nothing was imported into it.
struct NewDatabase {
    private let db: Connection
    private let path: String

    /// Returns nil if the database has content: another process has created it, perhaps while the user typed the key.
    init?(_ db: Connection, at path: String) throws {
        (self.db, self.path) = (db, path)
        guard try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") == 0 else { return nil }
    }

    /// Removes the files, unless another process has written rows or uses the database.
    func remove() {
        // After an interruption, the handler would stop these statements as well.
        try? db.settings.setProgressHandler(nil)
        // A process that waits for the lock finds out that its file is gone, and fails.
        guard (try? db.begin(.exclusive)) != nil, (try? hasRows()) == false else { return }
        for name in [path, path + "-journal"] { unlink(name) }
    }

    /// The ledger of imports does not count.
    private func hasRows() throws -> Bool {
        let tables = try db.fetchAll(
            String.self,
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name NOT IN ('sqlite_schema', 'sqlcipherkit_import')
            """)
        return try tables.contains { table in
            try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM main.\(table.quotedSQLIdentifier))")) ?? true
        }
    }
}

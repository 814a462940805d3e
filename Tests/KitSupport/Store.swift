import SQLCipherKitConcurrency
import SQLCipherKitCore
import TestSupport

/// A queue in memory, a queue on disk and a pool.
package enum Store: String, CaseIterable, Sendable {
    case memory, queue, pool

    package func open(_ folder: TemporaryFolder) throws -> DatabaseWriter {
        let database: DatabaseWriter =
            switch self {
            case .memory: try DatabaseQueue(.memory)
            case .queue: try DatabaseQueue(.file(folder.path("a.db")), key: .passphrase("key").quick)
            case .pool: try DatabasePool(.file(folder.path("a.db")), key: .passphrase("key").quick)
            }
        try database.write { db in
            try db.execute(SQLScript("""
                CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, n INTEGER);
                CREATE TABLE tag(name TEXT PRIMARY KEY) WITHOUT ROWID;
                """))
        }
        return database
    }
}

import SQLCipherKitCore
import TestSupport

/// The start of the examples: an encrypted database in a folder of its own, with three notes.
package struct ExampleDesk {
    package let folder: TemporaryFolder
    package let path: String
    package let key: DatabaseKey
    package let db: Connection

    package init() throws {
        folder = try TemporaryFolder()
        path = folder.path("notes.db")
        key = try .passphrase("correct horse").quick
        db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER);
            INSERT INTO note(title, stars) VALUES ('Bakery', 3), ('Mill', NULL), ('Well', 5);
            """))
    }

    /// The path of another file in the folder.
    package func file(_ name: String) -> String { folder.path(name) }

    /// Another connection to the database.
    package func open(_ change: (inout DatabaseConfiguration) -> Void = { _ in }) throws -> Connection {
        var configuration = DatabaseConfiguration()
        change(&configuration)
        return try Connection(.file(path), key: key, configuration: configuration)
    }

    /// The reason of the error that `body` throws.
    package func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
        do { try body() } catch let error as DatabaseError { return error.reason } catch {}
        return nil
    }
}

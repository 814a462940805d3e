import SQLCipherKit

/// A database as the SQL that creates it: its difference from an empty one.
enum DatabaseDump {
    /// Passes the statements of the script to `write`, one after the other.
    static func write(_ db: Connection, to write: (String) throws -> Void) throws {
        let empty = try Connection(.memory)
        try empty.execute(SQL(raw: "PRAGMA encoding = '\(db.fetchOne(String.self, "PRAGMA main.encoding") ?? "UTF-8")'"))
        let diff = try DatabaseDiff(from: empty.main, to: db.main)
        for line in ["PRAGMA foreign_keys = OFF;", "PRAGMA writable_schema = ON;", "BEGIN IMMEDIATE;"] { try write(line) }
        try diff.forEachStatement { statement in
            try Interruption.check()
            try write(statement + ";")
        }
        for line in ["COMMIT;", "PRAGMA writable_schema = RESET;"] { try write(line) }
    }
}

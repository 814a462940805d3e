import SQLCipherKit

/// A database as the SQL that makes it: the difference to an empty one.
enum DatabaseDump {
    /// Writes the script to standard output, statement by statement.
    static func write(_ db: Connection) throws {
        let empty = try Connection(.memory)
        try empty.execute(SQL(raw: "PRAGMA encoding = '\(db.fetchOne(String.self, "PRAGMA main.encoding") ?? "UTF-8")'"))
        let diff = try DatabaseDiff(from: empty.main, to: db.main)
        for line in ["PRAGMA foreign_keys = OFF;", "PRAGMA writable_schema = ON;", "BEGIN IMMEDIATE;"] { Output.line(line) }
        try diff.forEachStatement { statement in
            try Interruption.check()
            Output.line(statement + ";")
        }
        for line in ["COMMIT;", "PRAGMA writable_schema = RESET;"] { Output.line(line) }
    }
}

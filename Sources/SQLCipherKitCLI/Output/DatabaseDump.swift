import SQLCipherKit
import SQLCipherKitSync

/// A database as the SQL that creates it: its difference from an empty one.
enum DatabaseDump {
    /// Writes the script. What it cannot hold is named in a comment and on standard error.
    /// - Parameter leavingOut: given by a command that reads the database and does nothing else; nil in a shell.
    static func write(_ db: Connection, leavingOut: LeaveOutOptions? = nil) throws {
        try statements(db, leavingOut: leavingOut) { sql in
            Output.current.bytes { output in
                output += sql
                output += ";\n".utf8
            }
        }
    }

    /// Passes the statements of the script to `write`, one after the other, in UTF-8 and without their semicolons.
    static func statements(_ db: Connection, leavingOut: LeaveOutOptions? = nil, to write: ([UInt8]) throws -> Void) throws {
        let empty = try Connection(.memory), schema = db.main
        // Not in a shell, whose other statements would compare by what stands in for a collation.
        let checkOrder = try leavingOut == nil ? {} : ForeignName.readingStoredOrder(of: schema)
        try empty.execute(SQL(raw: "PRAGMA encoding = '\(schema.pragma("encoding", as: String.self) ?? "UTF-8")'"))
        var diff = try DatabaseDiff(from: empty.main, to: schema)
        diff.leavesOutOtherModules = true
        func add(_ sql: String) throws { try write(Array(sql.utf8)) }
        for line in ["PRAGMA foreign_keys = OFF", "PRAGMA writable_schema = ON", "BEGIN IMMEDIATE"] { try add(line) }
        for name in try diff.otherModules() {
            let left = OtherModules.said(name)
            Output.error(left)
            try add("/* \(left.replacingOccurrences(of: "*/", with: "* /")) */ SELECT 1")
        }
        try diff.writeStatements { statement in
            try Interruption.check()
            if let statement = leavingOut.map({ $0.apply(to: statement) }) ?? statement { try write(statement) }
        }
        try checkOrder()
        for line in ["COMMIT", "PRAGMA writable_schema = RESET"] { try add(line) }
    }
}

/// Virtual tables of modules that this tool does not have.
enum OtherModules {
    static func said(_ table: String) -> String {
        "left out the virtual table \(table.onOneLine): its module is not here; the tables that hold its content are not left out"
    }
}

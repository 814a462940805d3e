import Foundation
import SQLCipherKit

/// Operations on records and schemas in a process that tests kill.
extension FaultDriver {
    struct Item: SQLRecord {
        var id: Int64?
        var title: String
        static let tableName = "note"
    }

    /// Migrations of a table `t(x)` that rebuild it, each with all its rows.
    static func migrator(_ count: Int) -> Migrator {
        var migrator = Migrator()
        for number in 0..<count {
            migrator.add("rebuild \(number)") { db in
                try db.execute("CREATE TABLE new(x, version INTEGER NOT NULL)")
                try db.execute("INSERT INTO new SELECT x, \(number) FROM t")
                try db.execute("DROP TABLE t")
                try db.main.renameTable("new", to: "t")
            }
        }
        return migrator
    }

    static func runRecords(_ action: String, _ path: String, _ arguments: [String]) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(10)
        let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
        switch action {
        case "records-migrate":
            ready()
            for name in try migrator(Int(arguments[1]) ?? 1).migrate(db) { print(name) }
        case "records-insert":
            // An endless sequence: the process is killed while it is being inserted.
            try db.insertAll((0...).lazy.map { number in
                if number == 20_000 { say("half") }
                return Item(title: "\(number)")
            })
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }
}

import CSQLCipher
import SQLCipherKitCore

extension Connection {
    /// Runs `body` with some or all triggers disabled.
    func withTriggers<R>(_ triggers: ChangesetOptions.Triggers, _ body: () throws -> R) throws -> R {
        switch triggers {
        case .run: return try body()
        case .quiet:
            let handle = try liveForUse()
            var areOn: Int32 = 0
            try check(sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &areOn))
            guard areOn != 0 else { return try body() }
            try check(sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nil))
            // The conflict handler may have closed the connection.
            defer { if let handle = self.handle { _ = sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nil) } }
            return try body()
        case .without(let names):
            return try transaction { db in
                let wanted = names.nameSet
                let entries = try db.main.entries(where: "type = 'trigger'").filter { wanted.contains(SQLName($0.name)) }
                let there = entries.map(\.name).nameSet
                if let unknown = names.first(where: { !there.contains(SQLName($0)) }) {
                    throw DatabaseError.invalidArgument("there is no trigger \(unknown)")
                }
                let statements = try entries.map { try $0.statement() }
                for entry in entries { try db.main.dropTrigger(entry.name) }
                let result = try body()
                for statement in statements { try db.execute(statement.sqlAsWritten(in: db.main)) }
                return result
            }
        }
    }
}

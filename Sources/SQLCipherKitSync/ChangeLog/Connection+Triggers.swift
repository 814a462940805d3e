import CSQLCipher
import SQLCipherKitCore
import SQLCipherKitSearch

extension Connection {
    /// Runs `body` with some triggers disabled, or with all triggers disabled except this package's own triggers.
    /// - Parameter tables: the tables that `body` changes.
    func withTriggers<R>(_ triggers: Changeset.Triggers, changing tables: [String], _ body: () throws -> R) throws -> R {
        switch triggers {
        case .all: return try body()
        case .essentialOnly:
            // SQLite's switch does not turn temporary triggers off.
            let temporary = try temp.entries(where: "type = 'trigger'")
            if !temporary.isEmpty {
                return try transaction { db in
                    let statements = try temporary.map { try $0.statement() }
                    for entry in temporary { try db.temp.dropTrigger(entry.name) }
                    let result = try withTriggers(triggers, changing: tables, body)
                    for statement in statements { try db.execute(statement.sqlAsWritten(in: db.temp)) }
                    return result
                }
            }
            let others = try main.triggersOfOthers(tables.nameSet)
            // Without triggers of others, all triggers run. Without triggers of this package, a switch is enough.
            if others.users.isEmpty { return try body() }
            if others.hasOwn { return try withTriggers(.except(others.users), changing: tables, body) }
            let handle = try liveForUse()
            var areOn: Int32 = 0
            try check(sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &areOn))
            guard areOn != 0 else { return try body() }
            try check(sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nil))
            // The conflict handler may have closed the connection.
            defer { if let handle = self.handle { _ = sqlcipherkit_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nil) } }
            return try body()
        case .except(let names):
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
                if !entries.isEmpty { try ChangeLogStore(db: db).renewTriggers() }
                return result
            }
        }
    }
}

extension Schema {
    /// The triggers to disable, and whether there are triggers that keep full-text indexes and tables of vectors in step with their
    /// content. If the changes have the rows of a table of vectors, its triggers are disabled too.
    fileprivate func triggersOfOthers(_ changed: Set<SQLName>) throws -> (users: [String], hasOwn: Bool) {
        let entries = try entries(where: "type = 'trigger'").filter { !$0.name.hasNamePrefix(ChangeLogStore.outside) }
        if entries.isEmpty { return ([], false) }
        let tables = try objects(.table, .virtual, .shadow).nameSet
        func isOwn(_ name: String) -> Bool {
            ContentSync.Suffix.triggers.contains { suffix in
                guard name.hasSuffix(suffix) else { return false }
                let index = String(name.dropLast(suffix.count))
                return ["", "_config", ContentSync.Suffix.replaced].allSatisfy { tables.contains(SQLName(index + $0)) }
            }
        }
        func keepsVectors(_ name: String) -> Bool {
            guard let index = VectorNames.index(of: name, endingIn: VectorNames.triggers, among: tables) else { return false }
            return !([""] + VectorNames.tables).contains { changed.contains(SQLName(index + $0)) }
        }
        let users = entries.map(\.name).filter { !isOwn($0) && !keepsVectors($0) }
        return (users, users.count < entries.count)
    }
}

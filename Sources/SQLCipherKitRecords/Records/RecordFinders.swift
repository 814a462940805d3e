import SQLCipherKitCore

/// The statements that read records by their primary key: a part of ``RecordStatements``.
final class RecordFinder {
    let statement: Statement
    /// How each column of the key is bound, where some have their own profile.
    let profiles: [ValueProfile]
    let keyCount: Int
    let isDescribed: Bool

    init(_ statement: Statement, _ profiles: [ValueProfile], _ keyCount: Int, isDescribed: Bool) {
        self.statement = statement
        self.profiles = profiles
        self.keyCount = keyCount
        self.isDescribed = isDescribed
    }

    /// The row with a key; the values are as many as the key has columns.
    func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ profile: ValueProfile, _ values: repeat each Value
    ) throws -> Record? {
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        var index = 0
        for value in repeat each values {
            let parameter = Statement.Parameter(
                handle, Int32(truncatingIfNeeded: index + 1), profiles.isEmpty ? profile : profiles[index])
            try parameter.put(value)
            index += 1
        }
        guard try statement.advance(handle) else { return nil }
        let record = try Record(row: Row(handle, statement.names(handle)))
        try statement.finish(handle)
        return record
    }
}

extension RecordStatements {
    /// The statement that reads a record by its key; a new one where the known one is in use.
    func finder<Record: SQLRecord>(_ type: Record.Type, _ db: Connection) throws(DatabaseError) -> RecordFinder {
        let id = ObjectIdentifier(type)
        if let found = finders.find(id), found.isDescribed, found.statement.uses == 0 { return found }
        let table = table(type)
        let layout = try self.layout(type, table, db)
        let known = finders.find(id)
        if let known, known.statement.uses == 0 { return known }
        let condition = layout.key.isEmpty ? "0" : layout.key.map { "\($0.quotedSQLIdentifier) = ?" }.joined(separator: " AND ")
        let profiles = Record.columnProfiles
        let made = RecordFinder(
            try db.prepareKept("SELECT \(layout.selection) FROM \(table.qualifiedName) WHERE \(condition)"),
            profiles.isEmpty ? [] : layout.key.map { profiles[$0] ?? db.profile }, layout.key.count,
            isDescribed: !table.columns.isEmpty)
        if known == nil { finders.add(made, id) }
        return made
    }
}

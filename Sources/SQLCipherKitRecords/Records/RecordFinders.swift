import SQLCipherKitCore

/// A statement that reads records of one type by their primary key.
final class RecordFinder {
    let statement: Statement
    /// The profile by which each column of the key is bound, if some have their own.
    private let profiles: [ValueProfile]
    let keyCount: Int
    private let isFreeOfSchema: Bool

    init(_ statement: Statement, _ profiles: [ValueProfile], _ keyCount: Int, isFreeOfSchema: Bool) {
        self.statement = statement
        self.profiles = profiles
        self.keyCount = keyCount
        self.isFreeOfSchema = isFreeOfSchema
    }

    /// Reads the row with a key.
    /// - Parameter values: as many as the key has columns.
    /// - Returns: whether that was possible.
    func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ profile: ValueProfile, _ values: repeat each Value, found: inout Record?
    ) throws -> StatementRun {
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        var index = 0
        for value in repeat each values {
            let parameter = Statement._Parameter(
                handle, Int32(truncatingIfNeeded: index + 1), profiles.isEmpty ? profile : profiles[index])
            try parameter.put(value)
            index += 1
        }
        guard let isThere = isFreeOfSchema ? try statement.advance(handle) : try statement.advanceAsCompiled(handle) else {
            return .outdated
        }
        if isThere {
            found = try Record(row: Row(handle, statement.names(handle)))
            try statement.finish(handle)
        }
        return .done
    }
}

extension RecordStatements {
    /// Reads the record with a key.
    /// - Returns: false if the key has another number of columns.
    func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ db: Connection, _ values: repeat each Value, found: inout Record?
    ) throws -> Bool {
        var count = 0
        for _ in repeat each values { count += 1 }
        let key = key(RecordFinder.self, Record.self), profile = db.profile
        if let finder: RecordFinder = db.kept(key), finder.keyCount == count,
            case .done = try finder.find(profile, repeat each values, found: &found)
        {
            return true
        }
        let table = table(Record.self)
        for _ in 0..<Self.attempts {
            let layout = try self.layout(Record.self, table, db)
            if layout.key.count != count { return false }
            do {
                let finder = try kept(key, table, db) {
                    let made = try RecordFinder(Record.self, table, layout, db)
                    return (made.statement, made)
                }
                if case .done = try finder.find(profile, repeat each values, found: &found) { return true }
            } catch is SchemaChange {
                continue
            }
            forget(key, db)
        }
        throw DatabaseError.changingSchema
    }
}

extension RecordFinder {
    fileprivate convenience init<Record: SQLRecord>(
        _ type: Record.Type, _ table: SQLTable, _ layout: RecordLayout, _ db: Connection
    ) throws {
        let condition = layout.key.map { "\($0.quotedSQLIdentifier) = ?" }.joined(separator: " AND ")
        let profiles = Record.columnProfiles
        self.init(
            try db.prepareKept("SELECT \(layout.selection) FROM \(table.qualifiedName) WHERE \(condition)"),
            profiles.isEmpty ? [] : layout.key.map { profiles[$0] ?? db.profile }, layout.key.count,
            isFreeOfSchema: !table.columns.isEmpty)
    }
}

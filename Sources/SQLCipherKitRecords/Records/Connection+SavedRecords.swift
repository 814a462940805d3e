import SQLCipherKitCore

extension Connection {
    /// Returns the records with these primary keys, in the order of the keys. Each record is returned once, and keys without a row
    /// are skipped.
    /// ```swift
    /// let notes = try db.fetchAll(Note.self, ids: [3, 1, 2])
    /// ```
    /// The number of keys is not limited. For a primary key of several columns, use ``SQLRowValue/in(_:)`` in a query.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the primary key has several columns, or any error that the record's
    ///   own decoding throws.
    public func fetchAll<Record: SQLRecord, ID: SQLValueConvertible>(
        _ type: Record.Type, ids: some Sequence<ID>, in schema: Schema? = nil
    ) throws -> [Record] {
        let statements = try statements(schema)
        let table = statements.table(type)
        let key = try statements.layout(type, table, self).key
        guard key.count == 1 else {
            throw DatabaseError.invalidArgument(
                "the primary key of \(table.name) has \(key.count) columns, and each id is one value")
        }
        let profile = Record.columnProfiles[key[0]] ?? profile
        let list = AssociationKeys(try ids.map { AssociationKey(try $0.sqlValue(in: profile)) })
        let side = SQLClauses.Side(table: table, alias: table.name)
        let sql: SQL = """
            SELECT sqlcipherkit_key.n, NULL AS \(identifier: SQLSide.separator), \(side.columns) \
            FROM (SELECT n - 1 AS n, value FROM (\(list.source))) AS sqlcipherkit_key \
            JOIN \(side.source) ON \(identifier: side.alias).\(identifier: key[0]) = sqlcipherkit_key.value
            """
        var found = [Record?](repeating: nil, count: list.count)
        try forEachRow(of: sql) { row in
            let sides = try SQLSide.all(row, 2)
            return { row in found[try row.get(0, as: Int.self)] = try sides[1].read(row, as: Record.self) }
        }
        return list.numbers.compactMap { number in
            guard let number else { return nil }
            // Each record once, even if its key is repeated.
            defer { found[number] = nil }
            return found[number]
        }
    }

    /// Updates the row with the record's key, or inserts the record if there is no such row, and reads back the values that the
    /// database has filled in. A record without a key yet is inserted: nil, or 0 in an AUTOINCREMENT key.
    ///
    /// ``upsert(_:onConflict:in:)-53o3j`` does the same in one statement. Unlike it, `save` also works for views with `INSTEAD OF`
    /// triggers and for virtual tables, for which SQLite has no upsert.
    /// - Throws: ``DatabaseError``, or any error that the record's own coding throws; then nothing is changed.
    public func save<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        let statements = try statements(schema)
        var saved = record
        try savepoint { db in
            let isThere = try !statements.isNew(saved, db) && db.isThere(saved, statements)
            guard isThere else { return try db.insert(&saved, in: schema) }
            if try statements.hasMoreThanKey(saved, db) { try db.update(saved, in: schema) }
            try db.refresh(&saved, in: schema)
        }
        record = saved
    }
}

extension AssociationKey {
    init?(_ value: SQLValue) {
        switch value {
        case .null: return nil
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let value): self = .text(Array(value.utf8))
        case .blob(let value): self = .blob(Array(value))
        }
    }
}

extension RecordStatements {
    /// Whether a record has no number yet, although its property cannot be nil.
    fileprivate func isNew<Record: SQLRecord>(_ record: Record, _ db: Connection) throws -> Bool {
        let table = table(Record.self)
        guard let key = try layout(Record.self, table, db).autoincrement else { return false }
        let number = try stored(record, table, db).first { SQLName($0.name) == SQLName(key) }?.value
        return try number?.sqlValue(in: db.profile) == .integer(0)
    }

    /// Whether a record has columns that an update can change.
    fileprivate func hasMoreThanKey<Record: SQLRecord>(_ record: Record, _ db: Connection) throws -> Bool {
        let table = table(Record.self)
        let layout = try self.layout(Record.self, table, db)
        let fixed = layout.generated.union(layout.key.nameSet)
        let names = try table.positions?.names ?? RowEncodingState.collect(record).map(\.name)
        return names.contains { !fixed.contains(SQLName($0)) }
    }
}

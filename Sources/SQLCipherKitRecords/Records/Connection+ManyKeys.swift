import SQLCipherKitCore

extension Connection {
    /// Deletes the records with these primary keys, all of them by one statement. Keys without a row are skipped.
    /// ```swift
    /// let count = try db.delete(Note.self, ids: [3, 1, 2])
    /// ```
    /// - Returns: the number of rows that were deleted.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the primary key has several columns, or any other ``DatabaseError``;
    ///   in each case nothing is deleted.
    @discardableResult
    public func delete<Record: SQLRecord, ID: SQLValueConvertible>(
        _ type: Record.Type, ids: some Sequence<ID>, in schema: Schema? = nil
    ) throws(DatabaseError) -> Int {
        let statements = try statements(schema)
        let table = statements.table(type)
        let key = try statements.layout(type, table, self).key
        guard key.count == 1 else {
            throw .invalidArgument("the primary key of \(table.name) has \(key.count) columns, and each id is one value")
        }
        let profile = Record.columnProfiles[key[0]] ?? profile
        var keys: [AssociationKey?] = []
        for id in ids { keys.append(AssociationKey(try id.sqlValue(in: profile))) }
        let list = AssociationKeys(keys)
        try changeRows(
            "DELETE FROM \(raw: table.qualifiedName) WHERE \(identifier: key[0]) IN (SELECT value FROM (\(list.source)))")
        return changes
    }

    /// Returns the record with a primary key, which must exist.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and the errors of ``fetchOne(_:id:in:)``.
    public func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value, in schema: Schema? = nil
    ) throws -> Record {
        guard let found = try fetchOne(type, id: repeat each values, in: schema) else { throw DatabaseError.noRecord(type) }
        return found
    }

    /// Inserts a record, and returns it with what the database has filled in.
    /// - Throws: the errors of `insert(_:in:)`; then nothing is inserted.
    public func inserted<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws -> Record {
        var record = record
        try insert(&record, in: schema)
        return record
    }

    /// Returns the different values of a query.
    /// - Throws: ``DatabaseError``, or any error that the record's own decoding throws.
    public func fetchSet<Request: SQLRequest>(_ request: Request) throws -> Set<Request.Element> where Request.Element: Hashable {
        Set(try fetchAll(request))
    }

    /// Returns the different values that SQL finds.
    /// - Throws: ``DatabaseError``.
    public func fetchSet<Value: SQLValueConvertible & Hashable>(
        _ type: Value.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> Set<Value> {
        Set(try fetchAll(type, sql, arguments))
    }

    /// Returns whether a SELECT finds a row.
    /// ```swift
    /// let isKnown = try db.exists("SELECT 1 FROM note WHERE title = \(title)")
    /// ```
    /// - Throws: ``DatabaseError``.
    public func exists(_ sql: SQL) throws(DatabaseError) -> Bool { try fetchOne(Bool.self, "SELECT EXISTS (\(sql))") ?? false }

    /// Updates only the columns of these properties in the row with the record's key. Others, which another connection may have
    /// changed meanwhile, keep their values.
    /// ```swift
    /// try db.update(note, columns: \.title, \.stars)       // UPDATE "note" SET "title" = ?, "stars" = ? WHERE "id" = ?
    /// ```
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, or any error that the record's own encoding
    ///   throws.
    public func update<Record: SQLRecord>(
        _ record: Record, columns properties: (PartialKeyPath<Record> & Sendable)..., in schema: Schema? = nil
    ) throws {
        let statements = try statements(schema)
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, self)
        let values = try statements.stored(record, table, self)
        let names = try properties.compactMap { Record.source.linkName($0) }.map { name throws(DatabaseError) in try name.get() }
        if names.isEmpty { throw DatabaseError.misuse("an update of no columns") }
        let key = try layout.key(among: values.map(\.name), table)
        let (changes, condition) = (try equal(names, values), SQL.all(try equal(key, values)))
        let total = totalChanges
        try changeRows("UPDATE \(raw: table.qualifiedName) SET \(list: changes) WHERE \(condition)")
        guard try hasMet(total, { table }) ?? isThere(table, condition) else { throw DatabaseError.noRecord(Record.self) }
    }

    /// Returns the record that has the same unique values as this one, or else inserts it.
    /// ```swift
    /// let tag = try db.findOrInsert(Tag(name: "travel"), on: \.name)
    /// ```
    /// - Parameters:
    ///   - record: the record to insert if there is none.
    ///   - properties: the properties of a unique constraint or index. Default: those of the primary key.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Returns: the row in the database, with all that it has.
    /// - Throws: ``DatabaseError``, or any error that the record's own coding throws; then nothing is inserted.
    public func findOrInsert<Record: SQLRecord>(
        _ record: Record, on properties: (PartialKeyPath<Record> & Sendable)..., in schema: Schema? = nil
    ) throws -> Record {
        let statements = try statements(schema)
        let names = try properties.compactMap { Record.source.linkName($0) }.map { name throws(DatabaseError) in try name.get() }
        return try savepoint { db in
            let table = statements.table(Record.self)
            let layout = try statements.layout(Record.self, table, db)
            let values = try statements.stored(record, table, db)
            let condition = SQL.all(try equal(names.isEmpty ? layout.key : names, values, isCondition: true))
            let side = SQLClauses.Side(table: table, alias: table.name)
            var there: Record?
            try db.forEachRow(of: "SELECT \(side.columns) FROM \(side.source) WHERE \(condition) LIMIT 1") { _ in
                { row in there = try Record(row: row) }
            }
            return try there ?? db.inserted(record, in: schema)
        }
    }

    /// Columns with their values: as assignments, or as conditions.
    private func equal(
        _ names: [String], _ values: [(name: String, value: (any SQLValueConvertible)?)], isCondition: Bool = false
    ) throws(DatabaseError) -> [SQL] {
        try names.map { name throws(DatabaseError) in
            guard let found = values.first(where: { SQLName($0.name) == SQLName(name) }) else {
                throw .misuse("the record has no property for \(name)")
            }
            if let value = found.value { return "\(identifier: name) = \(value)" }
            return isCondition ? "\(identifier: name) IS NULL" : "\(identifier: name) = NULL"
        }
    }
}

extension SQL {
    /// All of these conditions; false without any.
    fileprivate static func all(_ conditions: [SQL]) -> SQL {
        conditions.dropFirst().reduce(conditions.first ?? "0") { "\($0) AND \($1)" }
    }
}

/// Records in the tables of one database, where the same calls of ``Connection`` take the first database that has the table.
/// ```swift
/// try archive.create(Note.table)
/// try archive.insert(&note)
/// let notes = try db.fetchAll(Note.in(archive).filter { $0.stars > 3 })
/// ```
/// For queries see ``SQLQueryable/in(_:)``.
extension Schema {
    /// Inserts a record and reads back what the database made of it; see ``Connection/insert(_:onConflict:)-uh08``.
    /// - Throws: ``DatabaseError``, and what the record's own coding throws; nothing has been inserted then.
    public func insert<Record: SQLRecord>(_ record: inout Record, onConflict conflict: ConflictResolution? = nil) throws {
        record = try records.writing(.insert(conflict, returning: true), record)
    }

    /// Inserts a record, without reading anything back.
    /// - Throws: ``DatabaseError``, and what the record's own encoding throws; nothing has been inserted then.
    public func insert<Record: SQLRecord>(_ record: Record, onConflict conflict: ConflictResolution? = nil) throws {
        try records.run(.insert(conflict, returning: false), record)
    }

    /// Inserts records, all or none, and reads back what the database made of them.
    /// - Throws: ``DatabaseError``, and what the records' own coding throws; nothing has been inserted then.
    public func insertAll<Record: SQLRecord>(_ records: inout [Record], onConflict conflict: ConflictResolution? = nil) throws {
        records = try self.records.writing(.insert(conflict, returning: true), records)
    }

    /// Inserts records, all or none.
    /// - Throws: ``DatabaseError``, and what the records' own encoding throws; nothing has been inserted then.
    public func insertAll<Record: SQLRecord>(
        _ records: some Sequence<Record>, onConflict conflict: ConflictResolution? = nil
    ) throws {
        try self.records.runAll(.insert(conflict, returning: false), records)
    }

    /// Inserts a record, or changes the row that has its key to it, and reads back what the database made of it; see
    /// ``Connection/upsert(_:onConflict:)-47als``.
    /// - Throws: ``DatabaseError``, and what the record's own coding throws; nothing has changed then.
    public func upsert<Record: SQLRecord>(_ record: inout Record, onConflict columns: [String] = []) throws {
        record = try records.writing(.upsert(columns, returning: true), record)
    }

    /// Inserts a record, or changes the row that has its key to it, without reading anything back.
    /// - Throws: ``DatabaseError``, and what the record's own encoding throws; nothing has changed then.
    public func upsert<Record: SQLRecord>(_ record: Record, onConflict columns: [String] = []) throws {
        try records.run(.upsert(columns, returning: false), record)
    }

    /// Changes the row with the record's key to the record. A nil is NULL.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and what the record's own encoding throws.
    public func update<Record: SQLRecord>(_ record: Record) throws { try records.update(record) }

    /// Changes only what differs from the record as it was before; see ``Connection/update(_:from:)``.
    /// - Returns: the names of the columns that were changed.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and what the record's own encoding throws.
    @discardableResult
    public func update<Record: SQLRecord>(_ record: Record, from before: Record) throws -> [String] {
        try records.update(record, from: before)
    }

    /// Deletes the row with the record's key.
    /// - Returns: whether there was one.
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func delete<Record: SQLRecord>(_ record: Record) throws -> Bool { try records.delete(record) }

    /// Reads the row with the record's key again.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and what the record's own decoding throws.
    public func refresh<Record: SQLRecord>(_ record: inout Record) throws { record = try records.refresh(record) }

    /// The record with a primary key, or nil. The values of a key of several columns stand in its order.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has another number of columns.
    public func fetchOne<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value
    ) throws -> Record? {
        try records.fetchOne(type, repeat each values)
    }

    /// Whether there is a record with a primary key.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has another number of columns.
    public func exists<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value
    ) throws(DatabaseError) -> Bool {
        try records.exists(type, repeat each values)
    }

    /// Deletes the record with a primary key.
    /// - Returns: whether there was one.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has another number of columns.
    @discardableResult
    public func delete<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value
    ) throws(DatabaseError) -> Bool {
        try records.delete(type, repeat each values)
    }

    private var records: RecordWriter {
        get throws(DatabaseError) {
            try live()
            return RecordWriter(db: connection, statements: connection.state(SchemaRecordStatements.self)[name])
        }
    }
}

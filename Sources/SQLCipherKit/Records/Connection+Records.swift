/// Writing records, and reading them by their key.
extension Connection {
    /// Inserts a record and reads back what the database made of it: its id, the defaults of properties that are nil, generated
    /// columns. What triggers do afterwards shows with ``refresh(_:)``.
    /// ```swift
    /// var note = Note(title: "Plan")
    /// try db.insert(&note)
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, coalesce(?, 0)) RETURNING *
    /// print(note.id!)
    /// ```
    /// A nil in a column with a default means the default; in any other column it is NULL.
    /// - Parameters:
    ///   - record: what is written; what the database has filled in is put into it.
    ///   - conflict: what to do where a constraint is broken. Default: the statement fails.
    /// - Throws: ``DatabaseError``, and what the record's own coding throws; nothing has been inserted then.
    public func insert<Record: SQLRecord>(_ record: inout Record, onConflict conflict: ConflictResolution? = nil) throws {
        record = try records.writing(.insert(conflict, returning: true), record)
    }

    /// Inserts a record, without reading anything back.
    public func insert<Record: SQLRecord>(_ record: Record, onConflict conflict: ConflictResolution? = nil) throws {
        try records.run(.insert(conflict, returning: false), record)
    }

    /// Inserts records, all or none, and reads back what the database made of them.
    /// - Throws: ``DatabaseError``, and what the records' own coding throws; nothing has been inserted then.
    public func insertAll<Record: SQLRecord>(_ records: inout [Record], onConflict conflict: ConflictResolution? = nil) throws {
        records = try self.records.writing(.insert(conflict, returning: true), records)
    }

    /// Inserts records, all or none.
    public func insertAll<Record: SQLRecord>(
        _ records: some Sequence<Record>, onConflict conflict: ConflictResolution? = nil
    ) throws {
        try self.records.runAll(.insert(conflict, returning: false), records)
    }

    /// Inserts a record, or changes the row that has its key to it (<https://sqlite.org/lang_upsert.html>), and reads back what the
    /// database made of it.
    /// ```swift
    /// try db.upsert(&note)
    /// try db.upsert(&note, onConflict: ["title"])
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, coalesce(?, 0))
    /// // ON CONFLICT("title") DO UPDATE SET "stars" = excluded."stars" RETURNING *
    /// ```
    /// Unlike an insertion that replaces, it deletes nothing: rows that refer to this one stay.
    /// - Parameters:
    ///   - record: what is written; what the database has filled in is put into it.
    ///   - columns: the columns of the unique constraint by which the row is known; empty, the default, for the primary key.
    /// - Throws: ``DatabaseError``, and what the record's own coding throws; nothing has changed then.
    public func upsert<Record: SQLRecord>(_ record: inout Record, onConflict columns: [String] = []) throws {
        record = try records.writing(.upsert(columns, returning: true), record)
    }

    /// Inserts a record, or changes the row that has its key to it, without reading anything back.
    public func upsert<Record: SQLRecord>(_ record: Record, onConflict columns: [String] = []) throws {
        try records.run(.upsert(columns, returning: false), record)
    }

    /// Changes the row with the record's key to the record. A nil is NULL.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and what the record's own encoding throws.
    public func update<Record: SQLRecord>(_ record: Record) throws {
        try records.update(record)
    }

    /// Changes only what differs from the record as it was before: other columns, which another connection may have changed
    /// meanwhile, stay. The row is found by the key that it had before.
    /// ```swift
    /// let before = note
    /// note.stars = 5
    /// try db.update(note, from: before)                   // UPDATE "note" SET "stars" = ? WHERE "id" = ?
    /// ```
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
    public func delete<Record: SQLRecord>(_ record: Record) throws -> Bool {
        try records.delete(record)
    }

    /// Reads the row with the record's key again.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and what the record's own decoding throws.
    public func refresh<Record: SQLRecord>(_ record: inout Record) throws {
        record = try records.refresh(record)
    }

    // MARK: By the key

    /// The record with a primary key, or nil. The values of a key of several columns stand in its order.
    /// ```swift
    /// let note = try db.fetchOne(Note.self, id: 7)
    /// let enrolment = try db.fetchOne(Enrolment.self, id: student, "algebra")
    /// ```
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

    private var records: RecordWriter { RecordWriter(db: self, statements: state(RecordStatements.self)) }
}

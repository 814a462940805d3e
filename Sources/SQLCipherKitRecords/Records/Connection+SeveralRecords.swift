import SQLCipherKitCore

/// Writing several records: all of them or none.
extension Connection {
    /// Inserts records, as `insertAll` does.
    /// - Returns: the number of inserted records, without records whose conflicts were ignored.
    /// - Throws: the errors of `insertAll`; then nothing is inserted.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ records: [Record], onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        try insertAll(records, onConflict: conflict, in: schema)
    }

    /// Inserts records, and reads back the values that the database filled in, as `insertAll` does.
    /// - Returns: the number of inserted records, without records whose conflicts were ignored.
    /// - Throws: the errors of `insertAll`; then nothing is inserted.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ records: inout [Record], onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        try insertAll(&records, onConflict: conflict, in: schema)
    }

    /// Updates the rows with the records' keys.
    /// - Throws: the errors of `update` for one record; then nothing is updated.
    public func update<Record: SQLRecord>(_ records: [Record], in schema: Schema? = nil) throws {
        try savepoint { db in for record in records { try db.update(record, in: schema) } }
    }

    /// Deletes the rows with the records' keys. Records without a row are skipped.
    /// - Returns: the number of rows that were deleted.
    /// - Throws: the errors of `delete(_:in:)` for one record; then nothing is deleted.
    @discardableResult
    public func delete<Record: SQLRecord>(_ records: [Record], in schema: Schema? = nil) throws -> Int {
        try savepoint { db in try records.count { try db.delete($0, in: schema) } }
    }

    /// Saves each record, as ``save(_:in:)`` does.
    /// - Throws: the errors of ``save(_:in:)``; then nothing is changed.
    public func save<Record: SQLRecord>(_ records: inout [Record], in schema: Schema? = nil) throws {
        var saved = records
        try savepoint { db in for index in saved.indices { try db.save(&saved[index], in: schema) } }
        records = saved
    }

    /// Deletes all records of a type.
    /// - Returns: the number of rows that were deleted.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintForeignKey``; nothing is deleted then.
    @discardableResult
    public func deleteAll<Record: SQLRecord>(_ type: Record.Type, in schema: Schema? = nil) throws -> Int {
        try deleteAll(schema.map { Record.all.in($0) } ?? Record.all)
    }

    /// Changes a record in a closure, and updates the columns that differ afterwards.
    /// ```swift
    /// try db.updateChanges(&note) { $0.stars = 5 }
    /// ```
    /// - Returns: the names of the updated columns.
    /// - Throws: the errors of ``updateChanges(_:from:in:)``, or any error that the closure throws; then the record stays as it
    /// was.
    @discardableResult
    public func updateChanges<Record: SQLRecord>(
        _ record: inout Record, in schema: Schema? = nil, _ change: (inout Record) throws -> Void
    ) throws -> [String] {
        var changed = record
        try change(&changed)
        let names = try updateChanges(changed, from: record, in: schema)
        record = changed
        return names
    }
}

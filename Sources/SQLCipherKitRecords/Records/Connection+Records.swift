import Foundation
import SQLCipherKitCore

/// Writing records and reading them by key, either in the first of the connection's databases that has the table, or in `schema`. A
/// `schema` of another connection throws ``DatabaseError/Reason/misuse``.
/// ```swift
/// try archive.create(Note.table)
/// try db.insert(&note, in: archive)
/// let first = try db.fetchOne(Note.self, id: 1, in: archive)
/// ```
/// For queries, see ``SQLQueryable/in(_:)``.
extension Connection {
    /// Inserts a record and reads back what the database has filled in: its id, the defaults of properties that were not set, and
    /// generated columns. To read changes made by triggers afterwards, use ``refresh(_:in:)``.
    /// ```swift
    /// var note = Note(title: "Plan")
    /// try db.insert(&note)
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, ?) RETURNING *
    /// print(note.id!)
    /// ```
    /// Nil means NULL, even in a column that has a default. Only in the primary key does it mean that the database chooses the
    /// value: a row id or the column's default. A column gets its default if the record does not encode its key: a property marked
    /// with ``ColumnDefault`` is not encoded until it is set, and your own `encode(to:)` may omit keys as well.
    ///
    /// An AUTOINCREMENT key numbers rows from 1: there 0 means the same as nil, so that `var id: Int64 = 0` can mark a new record.
    /// Inserting, upserting and saving go by that. In any other key 0 is a value: let the property be optional there.
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Throws: ``DatabaseError``, or any error that the record's own coding throws; in each case nothing is inserted.
    public func insert<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        try write(.insert(nil, returning: true), &record, schema)
    }

    /// Inserts a record, with a choice of what to do if a constraint is violated, and reads back what the database has filled in.
    /// ```swift
    /// guard try db.insert(&note, onConflict: .ignore) else { return }     // there is one with its key
    /// ```
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - conflict: what to do if a constraint is violated; nil to follow the table's definition.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Returns: whether a row was inserted; false if a conflict was ignored.
    /// - Throws: ``DatabaseError``, or any error that the record's own coding throws; in each case nothing is inserted.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ record: inout Record, onConflict conflict: ConflictResolution?, in schema: Schema? = nil
    ) throws -> Bool {
        try write(.insert(conflict, returning: true), &record, schema)
    }

    /// Inserts a record without reading anything back.
    public func insert<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws {
        try statements(schema).run(.insert(nil, returning: false), record, self)
    }

    /// Inserts a record, with a choice of what to do if a constraint is violated, without reading anything back.
    /// - Returns: whether a row was inserted; false if a conflict was ignored.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ record: Record, onConflict conflict: ConflictResolution?, in schema: Schema? = nil
    ) throws -> Bool {
        let before = totalChanges
        let statements = try statements(schema)
        try statements.run(.insert(conflict, returning: false), record, self)
        return try hasMet(before, { statements.table(Record.self) }) ?? false
    }

    /// Inserts either all records or none, and reads back what the database has filled in.
    /// - Throws: ``DatabaseError``, or any error that the records' own coding throws; in each case nothing is inserted.
    /// - Returns: the number of inserted records, without those whose conflicts were ignored.
    @discardableResult
    public func insertAll<Record: SQLRecord>(
        _ records: inout [Record], onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        let statements = try statements(schema)
        var written = records, count = 0
        try savepoint { db in
            for index in written.indices {
                let action = RecordAction.insert(conflict, returning: true)
                guard let record = try statements.written(action, written[index], db, schema) else { continue }
                written[index] = record
                count += 1
            }
        }
        records = written
        return count
    }

    /// Inserts either all records or none.
    public func insertAll<Record: SQLRecord>(
        _ records: some Sequence<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws {
        let statements = try statements(schema)
        try savepoint { db in for record in records { try statements.run(.insert(conflict, returning: false), record, db) } }
    }

    /// Inserts a record, or updates the row that has its key (<https://sqlite.org/lang_upsert.html>), and reads back what the
    /// database has filled in.
    /// ```swift
    /// try db.upsert(&note)
    /// try db.upsert(&note, onConflict: ["title"])
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, ?)
    /// // ON CONFLICT("title") DO UPDATE SET "stars" = excluded."stars" RETURNING *
    /// ```
    /// Unlike an insertion that replaces, it deletes nothing: rows that refer to this one stay. Nil means NULL, as for an
    /// insertion. A column whose key the record does not encode gets its default in a new row and keeps its value in an existing
    /// one.
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - columns: the columns of the unique constraint that identifies the row. Default: empty, for the primary key.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Throws: ``DatabaseError``, or any error that the record's own coding throws; in each case nothing is changed.
    public func upsert<Record: SQLRecord>(
        _ record: inout Record, onConflict columns: [String] = [], in schema: Schema? = nil
    ) throws {
        try write(.upsert(columns, returning: true), &record, schema)
    }

    /// Inserts a record, or updates the row that has its key, without reading anything back.
    public func upsert<Record: SQLRecord>(_ record: Record, onConflict columns: [String] = [], in schema: Schema? = nil) throws {
        try statements(schema).run(.upsert(columns, returning: false), record, self)
    }

    /// Updates the row with the record's key. Nil means NULL. A column whose key the record does not encode, such as a
    /// ``ColumnDefault`` that was not set, keeps its value.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, or any error that the record's own encoding
    ///   throws.
    public func update<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws {
        let statements = try statements(schema), before = totalChanges
        try statements.run(.update(returning: false), record, self)
        guard try hasMet(before, { statements.table(Record.self) }) ?? isThere(record, statements) else {
            throw DatabaseError.noRecord(Record.self)
        }
    }

    /// Updates the row with the record's key, and reads back the values that the database has filled in, such as generated columns.
    /// Use ``refresh(_:in:)`` to read the changes that triggers make after the update.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, or any error that the record's own coding throws;
    ///   then nothing is changed.
    public func update<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        guard try write(.update(returning: true), &record, schema) else { throw DatabaseError.noRecord(Record.self) }
    }

    /// Updates only the columns that differ from the earlier record. Other columns, which another connection may have changed
    /// meanwhile, keep their values. The row is found by the earlier record's key.
    /// ```swift
    /// let before = note
    /// note.stars = 5
    /// try db.update(note, from: before)                   // UPDATE "note" SET "stars" = ? WHERE "id" = ?
    /// ```
    /// - Returns: the names of the updated columns.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, or any error that the record's own encoding
    ///   throws.
    @discardableResult
    public func update<Record: SQLRecord>(_ record: Record, from before: Record, in schema: Schema? = nil) throws -> [String] {
        let statements = try statements(schema)
        if let columns = Record._recordColumns { return try statements.change(record, from: before, columns.positions, self) }
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, self)
        let old = try RowEncodingState.collect(before), new = try RowEncodingState.collect(record)
        let profiles = Record.columnProfiles
        func stored(_ name: String, _ value: (any SQLValueConvertible)?) throws(DatabaseError) -> SQLValue {
            try value?.sqlValue(in: profiles[name] ?? profile) ?? .null
        }
        var changed: [String] = [], assignments: [SQL] = []
        for (name, value) in new where !layout.generated.contains(SQLName(name)) {
            let value = try stored(name, value)
            if let former = old.first(where: { $0.name.isSameText(as: name) }), try stored(name, former.value) == value { continue }
            changed.append(name)
            assignments.append("\(identifier: name) = \(value)")
        }
        let key = try layout.key(among: old.map(\.name), table)
        let condition = RecordLayout.condition(
            key, try key.map { name in try stored(name, old.first { $0.name.isSameText(as: name) }?.value) })
        if changed.isEmpty { return [] }
        let total = totalChanges
        try changeRows("UPDATE \(raw: table.qualifiedName) SET \(list: assignments) WHERE \(condition)")
        guard try hasMet(total, { table }) ?? isThere(table, condition) else { throw DatabaseError.noRecord(Record.self) }
        return changed
    }

    /// Deletes the row with the record's key.
    /// - Returns: whether there was such a row.
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func delete<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws -> Bool {
        let statements = try statements(schema), before = totalChanges
        try statements.run(.delete, record, self)
        return try hasMet(before, { statements.table(Record.self) }) ?? isThere(record, statements)
    }

    /// Reads the row with the record's key again into the record.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, or any error that the record's own decoding
    ///   throws.
    public func refresh<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        var fresh: Record?
        try statements(schema).run(.refresh, record, self) { fresh = try Record(row: $0) }
        guard let fresh else { throw DatabaseError.noRecord(Record.self) }
        record = fresh
    }

    // MARK: By the key

    /// Returns the record with a primary key, or nil if there is none. Give the values of a key with several columns in the key's
    /// order.
    /// ```swift
    /// let note = try db.fetchOne(Note.self, id: 7)
    /// let enrolment = try db.fetchOne(Enrolment.self, id: student, "algebra")
    /// ```
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has a different number of columns.
    public func fetchOne<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value, in schema: Schema? = nil
    ) throws -> Record? {
        if !configuration.errorsShowArguments {
            var found: Record?
            if try statements(schema).find(self, repeat each values, found: &found) { return found }
        }
        let (table, layout, condition) = try find(type, schema, repeat each values)
        let sql: SQL = "SELECT \(raw: layout.selection) FROM \(raw: table.qualifiedName) WHERE \(condition)"
        return try withCached(sql, []) { statement, arguments in
            let handle = try statement.beginUse()
            defer { statement.endUse(handle) }
            try statement.bindAll(arguments, handle)
            guard try statement.advance(handle) else { return nil }
            let record = try Record(row: Row(handle, statement.names(handle)))
            try statement.finish(handle)
            return record
        }
    }

    /// Returns whether there is a record with a primary key.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has a different number of columns.
    public func exists<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value, in schema: Schema? = nil
    ) throws(DatabaseError) -> Bool {
        let (table, _, condition) = try find(type, schema, repeat each values)
        return try isThere(table, condition)
    }

    /// Deletes the record with a primary key. Throws the same errors as ``exists(_:id:in:)``.
    /// - Returns: whether there was such a row.
    @discardableResult
    public func delete<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, id values: repeat each Value, in schema: Schema? = nil
    ) throws(DatabaseError) -> Bool {
        let (table, _, condition) = try find(type, schema, repeat each values)
        let before = totalChanges
        try changeRows("DELETE FROM \(raw: table.qualifiedName) WHERE \(condition)")
        if let met = try hasMet(before, { table }) { return met }
        return try isThere(table, condition)
    }

    private func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ schema: Schema?, _ values: repeat each Value
    ) throws(DatabaseError) -> (SQLTable, RecordLayout, SQL) {
        let statements = try statements(schema)
        let table = statements.table(type)
        let layout = try statements.layout(type, table, self)
        var bound: [any SQLValueConvertible] = []
        for value in repeat each values { bound.append(value) }
        guard bound.count == layout.key.count, !bound.isEmpty else {
            throw .invalidArgument("the primary key of \(table.name) has \(layout.key.count) columns and got \(bound.count) values")
        }
        let profiles = Record.columnProfiles
        if !profiles.isEmpty {
            bound = zip(layout.key, bound).map { key, value in profiles[key].map { ProfiledValue(value, $0) } ?? value }
        }
        return (table, layout, RecordLayout.condition(layout.key, bound))
    }

    /// Writes a record and reads it back. If it cannot be read back, the write is undone.
    /// - Returns: whether there was such a row.
    @discardableResult
    func write<Record: SQLRecord>(_ action: RecordAction, _ record: inout Record, _ schema: Schema?) throws -> Bool {
        let statements = try statements(schema)
        var written: Record?
        try savepoint { db in written = try statements.written(action, record, db, schema) }
        if let written { record = written }
        return written != nil
    }

    func statements(_ schema: Schema?) throws(DatabaseError) -> RecordStatements {
        let statements = state(RecordStatements.self)
        return try name(of: schema).map(statements.of) ?? statements
    }
}

extension RecordStatements {
    /// Writes a record, and returns the row; nil if there is none.
    fileprivate func written<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ db: Connection, _ schema: Schema?
    ) throws -> Record? {
        var written: Record?
        try run(action, record, db) { written = try Record(row: $0) }
        // A virtual table says -1 of a new row's number.
        guard written != nil, case .insert = action, isOfVirtualTable(Record.self) else { return written }
        return try db.fetchOne(Record.self, id: db.lastInsertedRowID, in: schema)
    }
}

extension DatabaseError {
    static func noRecord<Record: SQLRecord>(_ type: Record.Type) -> DatabaseError {
        DatabaseError(
            code: .notFound, reason: .recordNotFound, message: "there is no row of \(type.tableName) with the record's key")
    }
}

/// What the calls for all queries do, compiled into the caller for queries of whole records.
extension Connection {
    /// All rows of a query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchAll<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> [Record] {
        guard let (statement, arguments) = try prepared(query, isFirst: false) else { return try fetchAll(query.selection) }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        return try statement.collect(handle) { try Record(row: $0) }
    }

    /// The first row of a query, or nil if there is none.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> Record? {
        guard let (statement, arguments) = try prepared(query, isFirst: true) else { return try fetchOne(query.selection) }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments, handle)
        guard try statement.advance(handle) else { return nil }
        return try Record(row: Row(handle, statement.names(handle)))
    }

    /// The statement of a query and its values; nil for a query that does not simply read whole records.
    @usableFromInline
    func prepared<Record: SQLRecord>(
        _ query: SQLQuery<Record>, isFirst: Bool
    ) throws(DatabaseError) -> (Statement, StatementArguments)? {
        guard var clauses = query.plainClauses else { return nil }
        if let ready = try clauses.plainStatement(self, isFirst: isFirst) { return ready }
        clauses.isFirst = isFirst
        let sql = try SQLSelection<Record>(clauses, reader: { _ in { row in try Record(row: row) } }).sql(.rows, self)
        return (try cached(sql), sql.arguments)
    }
}

/// Determines whether a statement affected the row that it was meant for.
extension Connection {
    /// SQLite does not count the changes of a view's `INSTEAD OF` triggers (<https://sqlite.org/c3ref/changes.html>). For a view,
    /// any change counts, or else whether the row exists, as a trigger may have nothing to do.
    /// - Parameter before: ``totalChanges`` before the statement.
    /// - Returns: nil for a view if nothing has changed: then check whether the row exists.
    func hasMet(_ before: Int, _ table: () -> SQLTable) throws(DatabaseError) -> Bool? {
        if changes > 0 { return true }
        let table = table()
        guard try schema(of: table).form(of: table.name)?.kind == .view else { return false }
        return totalChanges > before ? true : nil
    }

    func isThere(_ table: SQLTable, _ condition: SQL) throws(DatabaseError) -> Bool {
        try fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM \(raw: table.qualifiedName) WHERE \(condition))") ?? false
    }

    func isThere<Record: SQLRecord>(_ record: Record, _ statements: RecordStatements) throws -> Bool {
        var isThere = false
        try statements.run(.refresh, record, self) { _ in isThere = true }
        return isThere
    }
}

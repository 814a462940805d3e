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
    /// Inserts a record and reads back the values that the database filled in: its id, the defaults of properties that were not
    /// set, and generated columns. To read changes that triggers make after the insertion, use ``refresh(_:in:)``.
    /// ```swift
    /// var note = Note(title: "Plan")
    /// try db.insert(&note)
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, ?) RETURNING *
    /// print(note.id!)
    /// ```
    /// Nil means NULL, even in a column that has a default. Only in the primary key does it mean that the database chooses the
    /// value: a row id or the column's default. If the record does not encode the key of a column, the column gets its default: a
    /// property marked with ``ColumnDefault`` is not encoded until it is set, and your own `encode(to:)` may omit keys as well.
    ///
    /// An AUTOINCREMENT key numbers rows from 1: there 0 means the same as nil, so that `var id: Int64 = 0` can mark a new record.
    /// `insert`, `upsert` and `save` follow this rule. In any other key, 0 is a value: there, make the property optional.
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: ``DatabaseError/Reason/writeIgnored`` if a trigger or a conflict rule of the table left out the row; SQLite's
    ///   error, such as ``ResultCode/constraintUnique`` for a violated constraint; ``DatabaseError/Reason/invalidArgument`` if
    ///   there is no such table, or for a value that cannot be stored; or any error that the record's own coding throws. In each
    ///   case nothing is inserted.
    public func insert<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        try write(.insert(nil, returning: true), &record, schema) { throw DatabaseError.ignored(Record.self) }
    }

    /// Inserts a record, with a choice for violated constraints, and reads back the values that the database filled in.
    /// ```swift
    /// guard try db.insert(&note, onConflict: .ignore) else { return }     // there is one with its key
    /// ```
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - conflict: the behavior if a constraint is violated; nil to follow the table's definition.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: whether a row was inserted; false if a conflict was ignored.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a violated constraint;
    ///   ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot be stored; or any error
    ///   that the record's own coding throws. In each case nothing is inserted.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ record: inout Record, onConflict conflict: ConflictResolution?, in schema: Schema? = nil
    ) throws -> Bool {
        try write(.insert(conflict, returning: true), &record, schema) {}
    }

    /// Inserts a record without reading anything back.
    /// - Parameters:
    ///   - record: the record to insert.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: the errors of `insert(_:in:)` for a variable.
    public func insert<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws {
        try write(.insert(nil, returning: false), record, schema) { hasMet in
            if hasMet == false { throw DatabaseError.ignored(Record.self) }
        }
    }

    /// Inserts a record, with a choice for violated constraints, without reading anything back.
    /// - Returns: whether a row was inserted; false if a conflict was ignored.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a violated constraint;
    ///   ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot be stored; or any error
    ///   that the record's own coding throws. Nothing is changed then.
    @discardableResult
    public func insert<Record: SQLRecord>(
        _ record: Record, onConflict conflict: ConflictResolution?, in schema: Schema? = nil
    ) throws -> Bool {
        try write(.insert(conflict, returning: false), record, schema) ?? false
    }

    /// Inserts a record, and returns it with the values that the database filled in.
    /// - Throws: the errors of `insert(_:in:)`; then nothing is inserted.
    public func inserted<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws -> Record {
        var record = record
        try insert(&record, in: schema)
        return record
    }

    /// Inserts either all records or none, and reads back the values that the database filled in.
    /// - Parameters:
    ///   - records: the records to write, which receive the values that the database filled in.
    ///   - conflict: the behavior if a constraint is violated. Default: nil, for the table's definition.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a violated constraint;
    ///   ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot be stored; or any error
    ///   that a record's own coding throws. In each case nothing is inserted.
    /// - Returns: the number of inserted records, without records whose conflicts were ignored.
    @discardableResult
    public func insertAll<Record: SQLRecord>(
        _ records: inout [Record], onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        let statements = try statements(schema)
        var written = records, count = 0
        try savepoint { db in
            for index in written.indices {
                let action = RecordAction.insert(conflict, returning: true)
                guard let record = try statements.written(action, written[index], db, schema, {}) else { continue }
                written[index] = record
                count += 1
            }
        }
        records = written
        return count
    }

    /// Inserts either all records or none, without reading anything back.
    /// - Parameters:
    ///   - records: the records to insert.
    ///   - conflict: the behavior if a constraint is violated. Default: nil, for the table's definition.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: the number of inserted records, without records whose conflicts were ignored.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a violated constraint;
    ///   ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot be stored; or any error
    ///   that a record's own encoding throws. In each case nothing is inserted.
    @discardableResult
    public func insertAll<Record: SQLRecord>(
        _ records: some Sequence<Record>, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws -> Int {
        let statements = try statements(schema)
        var count = 0
        try savepoint { db in
            for record in records {
                let before = db.totalChanges
                try statements.run(.insert(conflict, returning: false), record, db)
                if try db.hasMet(before, { statements.table(Record.self) }) ?? false { count += 1 }
            }
        }
        return count
    }

    /// Inserts a record, or updates the row that has its key (<https://sqlite.org/lang_upsert.html>), and reads back the values
    /// that the database has filled in.
    /// ```swift
    /// try db.upsert(&note)
    /// try db.upsert(&note, onConflict: ["title"])
    /// // INSERT INTO "note"("id", "title", "stars") VALUES (?, ?, ?)
    /// // ON CONFLICT("title") DO UPDATE SET "stars" = excluded."stars" RETURNING *
    /// ```
    /// Unlike `INSERT OR REPLACE`, it deletes nothing: rows that refer to this row stay. Nil means NULL, as for an insertion. If
    /// the record does not encode the key of a column, the column gets its default in a new row and keeps its value in an existing
    /// row.
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - columns: the columns of the unique constraint that identifies the row. Default: empty, for the primary key.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: ``DatabaseError/Reason/writeIgnored`` if a trigger or a conflict rule of the table left out the row;
    ///   ``DatabaseError/Reason/misuse`` for a table without a primary key; SQLite's error, such as ``ResultCode/constraintUnique``
    ///   for a violated constraint; ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot
    ///   be stored; or any error that the record's own coding throws. In each case nothing is changed.
    public func upsert<Record: SQLRecord>(
        _ record: inout Record, onConflict columns: [String] = [], in schema: Schema? = nil
    ) throws {
        try write(.upsert(columns, returning: true), &record, schema) { throw DatabaseError.ignored(Record.self) }
    }

    /// Inserts a record, or updates the row that has its key, without reading anything back.
    /// - Throws: the errors of `upsert(_:onConflict:in:)` for a variable.
    public func upsert<Record: SQLRecord>(_ record: Record, onConflict columns: [String] = [], in schema: Schema? = nil) throws {
        try write(.upsert(columns, returning: false), record, schema) { hasMet in
            if hasMet == false { throw DatabaseError.ignored(Record.self) }
        }
    }

    /// Updates the row with the record's key. Nil means NULL. A column whose key the record does not encode, such as a
    /// ``ColumnDefault`` that was not set, keeps its value.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, ``DatabaseError/Reason/writeIgnored`` if a
    ///   trigger or a conflict rule of the table left out the update, or any error that the record's own encoding throws.
    public func update<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws {
        let statements = try statements(schema)
        try write(.update(returning: false), record, schema) { hasMet in
            try check(Record.self, hasMet) { try isThere(record, statements) }
        }
    }

    /// Updates the row with the record's key, and reads back the values that the database has filled in, such as generated columns.
    /// Use ``refresh(_:in:)`` to read the changes that triggers make after the update.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, ``DatabaseError/Reason/writeIgnored`` if a
    ///   trigger or a conflict rule of the table left out the update, or any error that the record's own coding throws; then
    ///   nothing is changed.
    public func update<Record: SQLRecord>(_ record: inout Record, in schema: Schema? = nil) throws {
        let (statements, given) = (try statements(schema), record)
        try write(.update(returning: true), &record, schema) { try check(Record.self, false) { try isThere(given, statements) } }
    }

    /// Updates only the columns that differ from the earlier record. Other columns, which another connection may have changed
    /// meanwhile, keep their values. The row is found by the earlier record's key.
    /// ```swift
    /// let before = note
    /// note.stars = 5
    /// try db.updateChanges(note, from: before)                   // UPDATE "note" SET "stars" = ? WHERE "id" = ?
    /// ```
    /// - Parameters:
    ///   - record: the changed record.
    ///   - before: the earlier record.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: the names of the updated columns.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, ``DatabaseError/Reason/writeIgnored`` if a
    ///   trigger or a conflict rule of the table left out the update, or any error that the record's own encoding throws.
    @discardableResult
    public func updateChanges<Record: SQLRecord>(
        _ record: Record, from before: Record, in schema: Schema? = nil
    ) throws -> [String] {
        let statements = try statements(schema)
        if let columns = Record._recordColumns { return try statements.change(record, from: before, columns.positions, self) }
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, self)
        let old = try RowEncodingState.collect(before, profile), new = try RowEncodingState.collect(record, profile)
        let written = try layout.written(new.map(\.name), table)
        let profiles = Record.columnProfiles
        func stored(_ name: String, _ value: (any SQLValueConvertible)?) throws -> SQLValue {
            try value?.sqlValue(in: profiles[name] ?? profile) ?? .null
        }
        var changed: [String] = [], assignments: [SQL] = []
        for (name, value) in new where written.contains(text: name) {
            let value = try stored(name, value)
            if let former = old.first(where: { $0.name.isSameText(as: name) }), try stored(name, former.value) == value { continue }
            changed.append(name)
            assignments.append("\(identifier: name) = \(value)")
        }
        let key = try layout.key(among: old.map(\.name), table)
        let condition = RecordLayout.condition(
            key, try key.map { name in try stored(name, old.first { $0.name.isSameText(as: name) }?.value) })
        if changed.isEmpty { return [] }
        try updateRow(Record.self, "UPDATE \(raw: table.qualifiedName) SET \(list: assignments)", of: table, where: condition)
        return changed
    }

    /// Updates only the columns of these properties in the row with the record's key. Other columns, which another connection may
    /// have changed meanwhile, keep their values.
    /// ```swift
    /// try db.update(note, columns: \.title, \.stars)       // UPDATE "note" SET "title" = ?, "stars" = ? WHERE "id" = ?
    /// ```
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, ``DatabaseError/Reason/writeIgnored`` if a
    ///   trigger or a conflict rule of the table left out the update, or any error that the record's own encoding throws.
    public func update<Record: SQLRecord>(
        _ record: Record, columns properties: (PartialKeyPath<Record> & Sendable)..., in schema: Schema? = nil
    ) throws {
        let statements = try statements(schema)
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, self)
        let values = try statements.stored(record, table, self)
        let names = try properties.compactMap { Record.source.linkName($0) }.map { name in try name.get() }
        if names.isEmpty { throw DatabaseError.misuse("an update needs at least one column") }
        let key = try layout.key(among: values.map(\.name), table)
        let (changes, condition) = (try equal(names, values), SQL.all(try equal(key, values)))
        try updateRow(Record.self, "UPDATE \(raw: table.qualifiedName) SET \(list: changes)", of: table, where: condition)
    }

    /// Deletes the row with the record's key.
    /// - Returns: whether a row was deleted; false if there was no such row, or if a trigger left out the deletion.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a table without a primary key; SQLite's error, such as
    ///   ``ResultCode/constraintForeignKey`` while rows refer to the row; or any error that the record's own encoding throws.
    @discardableResult
    public func delete<Record: SQLRecord>(_ record: Record, in schema: Schema? = nil) throws -> Bool {
        let statements = try statements(schema)
        return try write(.delete, record, schema) ?? isThere(record, statements)
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

    /// Updates the row with the record's key, or inserts the record if there is no such row, and reads back the values that the
    /// database has filled in. A record that has no key yet (nil, or 0 in an AUTOINCREMENT key) is inserted.
    ///
    /// ``upsert(_:onConflict:in:)-53o3j`` does the same in one statement. Unlike it, `save` also works for views with `INSTEAD OF`
    /// triggers and for virtual tables, for which SQLite has no upsert.
    /// - Parameters:
    ///   - record: the record to write, which receives the values that the database filled in.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: the errors of `insert(_:in:)` and `update(_:in:)`, and ``DatabaseError/Reason/recordNotFound`` if a trigger has
    ///   moved the row. Nothing is changed then.
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

    /// Returns the record in the database that has the same unique values as a record. If there is none, inserts the given record.
    /// ```swift
    /// let tag = try db.findOrInsert(Tag(name: "travel"), on: \.name)
    /// ```
    /// - Parameters:
    ///   - record: the record to insert if there is none.
    ///   - properties: the properties of a unique constraint or index. Default: the properties of the primary key.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: the row in the database, with all its values.
    /// - Throws: ``DatabaseError/Reason/misuse`` if the record has no value for one of the properties; and the errors of
    ///   `insert(_:in:)`. Nothing is inserted then.
    public func findOrInsert<Record: SQLRecord>(
        _ record: Record, on properties: (PartialKeyPath<Record> & Sendable)..., in schema: Schema? = nil
    ) throws -> Record {
        let statements = try statements(schema)
        let names = try properties.compactMap { Record.source.linkName($0) }.map { name in try name.get() }
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

    // MARK: By the key

    /// Deletes the record with a primary key.
    /// - Returns: whether there was such a row.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has a different number of columns, or SQLite's error, such as
    ///   for a row that a foreign key refers to. Nothing is deleted then.
    @discardableResult
    public func delete<Record: SQLRecord, ID: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: Record.Type, id value: ID, _ others: repeat each Value, in schema: Schema? = nil
    ) throws -> Bool {
        let (table, _, condition) = try row(type, schema, value, repeat each others)
        return try changeRow("DELETE FROM \(raw: table.qualifiedName)", of: table, where: condition)
    }

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
    ) throws -> Int {
        let (table, key, list) = try keys(type, ids, schema)
        try changeRows(
            "DELETE FROM \(raw: table.qualifiedName) WHERE \(identifier: key) IN (SELECT value FROM (\(list.source)))")
        return changes
    }

    /// Writes a record and reads it back. If it cannot be read back, the write is undone.
    /// - Parameter unwritten: is called if no row was written.
    /// - Returns: whether a row was written.
    @discardableResult
    private func write<Record: SQLRecord>(
        _ action: RecordAction, _ record: inout Record, _ schema: Schema?, _ unwritten: () throws -> Void
    ) throws -> Bool {
        let statements = try statements(schema)
        guard let written = try statements.written(action, record, self, schema, unwritten) else { return false }
        record = written
        return true
    }

    /// Writes a record.
    /// - Parameter ended: is called with the result. If it throws, nothing is changed.
    /// - Returns: as for ``hasMet(_:_:)``.
    @discardableResult
    private func write<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ schema: Schema?, _ ended: (Bool?) throws -> Void = { _ in }
    ) throws -> Bool? {
        let statements = try statements(schema), before = totalChanges
        var met: Bool?
        try statements.run(
            action, record, self,
            ended: {
                met = try hasMet(before) { statements.table(Record.self) }
                try ended(met)
            })
        return met
    }

    /// Columns with their values: as assignments, or as conditions.
    private func equal(
        _ names: [String], _ values: [(name: String, value: (any SQLValueConvertible)?)], isCondition: Bool = false
    ) throws -> [SQL] {
        try names.map { name in
            guard let found = values.first(where: { SQLName($0.name) == SQLName(name) }) else {
                throw DatabaseError.misuse("the record has no property for \(name)")
            }
            if let value = found.value { return "\(identifier: name) = \(value)" }
            return isCondition ? "\(identifier: name) IS NULL" : "\(identifier: name) = NULL"
        }
    }

    func statements(_ schema: Schema?) throws -> RecordStatements {
        let statements = state(RecordStatements.self)
        return try name(of: schema).map(statements.of) ?? statements
    }
}

extension RecordStatements {
    /// Writes a record, and returns the row; nil if there is none.
    /// - Parameter unwritten: is called if there is none. If it throws, nothing is changed.
    fileprivate func written<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ db: Connection, _ schema: Schema?, _ unwritten: () throws -> Void
    ) throws -> Record? {
        var written: Record?
        try run(action, record, db) { written = try Record(row: $0) } ended: {
            if written == nil { return try unwritten() }
            // A virtual table says -1 of a new row's number.
            guard case .insert = action, isOfVirtualTable(Record.self) else { return }
            written = try db.fetchOne(Record.self, id: db.lastInsertedRowID, in: schema)
        }
        return written
    }

    /// Returns whether a record has no number yet, although its property cannot be nil.
    fileprivate func isNew<Record: SQLRecord>(_ record: Record, _ db: Connection) throws -> Bool {
        let table = table(Record.self)
        guard let key = try layout(Record.self, table, db).autoincrement else { return false }
        let number = try stored(record, table, db).first { SQLName($0.name) == SQLName(key) }?.value
        return try number?.sqlValue(in: db.profile) == .integer(0)
    }

    /// Returns whether a record has columns that an update can change.
    fileprivate func hasMoreThanKey<Record: SQLRecord>(_ record: Record, _ db: Connection) throws -> Bool {
        let table = table(Record.self)
        let layout = try self.layout(Record.self, table, db)
        let fixed = layout.generated.union(layout.key.nameSet)
        let names = try table.positions?.names ?? RowEncodingState.collect(record, db.profile).map(\.name)
        return names.contains { !fixed.contains(SQLName($0)) }
    }
}

extension DatabaseError {
    static func noRecord<Record: SQLRecord>(_ type: Record.Type) -> DatabaseError {
        DatabaseError(
            code: .notFound, reason: .recordNotFound, message: "there is no row of \(type.tableName) with the record's key")
    }

    static func ignored<Record: SQLRecord>(_ type: Record.Type) -> DatabaseError {
        DatabaseError(
            code: .constraint, reason: .writeIgnored,
            message: "a trigger or a conflict rule of \(type.tableName) left out the write of the record")
    }
}

/// Determines whether a statement affected the row that it was meant for.
extension Connection {
    /// SQLite does not count the changes of a view's `INSTEAD OF` triggers (<https://sqlite.org/c3ref/changes.html>). For a view,
    /// any change counts, or else whether the row exists, as a trigger may have nothing to do.
    /// - Parameter before: ``totalChanges`` before the statement.
    /// - Returns: nil for a view if nothing has changed: then check whether the row exists.
    func hasMet(_ before: Int, _ table: () -> SQLTable) throws -> Bool? {
        if changes > 0 { return true }
        let table = table()
        guard try schema(of: table).form(of: table.name)?.kind == .view else { return false }
        return totalChanges > before ? true : nil
    }

    /// - Parameter hasMet: the result of ``hasMet(_:_:)`` for an update of a record.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, ``DatabaseError/Reason/writeIgnored`` if it is
    ///   there, but was not updated.
    func check<Record: SQLRecord>(_ type: Record.Type, _ hasMet: Bool?, _ isThere: () throws -> Bool) throws {
        if hasMet == true { return }
        guard try isThere() else { throw DatabaseError.noRecord(type) }
        if hasMet == false { throw DatabaseError.ignored(type) }
    }

    private func updateRow<Record: SQLRecord>(
        _ type: Record.Type, _ change: SQL, of table: SQLTable, where condition: SQL
    ) throws {
        let before = totalChanges
        try changeRows("\(change) WHERE \(condition)")
        try check(type, try hasMet(before, { table })) { try isThere(table, condition) }
    }

    /// Changes the row that meets a condition.
    /// - Returns: whether there is one.
    func changeRow(_ change: SQL, of table: SQLTable, where condition: SQL) throws -> Bool {
        let before = totalChanges
        try changeRows("\(change) WHERE \(condition)")
        if let met = try hasMet(before, { table }) { return met }
        return try isThere(table, condition)
    }

    func isThere(_ table: SQLTable, _ condition: SQL) throws -> Bool {
        try fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM \(raw: table.qualifiedName) WHERE \(condition))") ?? false
    }

    func isThere<Record: SQLRecord>(_ record: Record, _ statements: RecordStatements) throws -> Bool {
        var isThere = false
        try statements.run(.refresh, record, self) { _ in isThere = true }
        return isThere
    }
}

extension SQL {
    /// All of these conditions; false without any.
    fileprivate static func all(_ conditions: [SQL]) -> SQL {
        conditions.dropFirst().reduce(conditions.first ?? "0") { "\($0) AND \($1)" }
    }
}

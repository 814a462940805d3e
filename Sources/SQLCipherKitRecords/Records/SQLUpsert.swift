import SQLCipherKitCore

/// The behavior if a row with the same unique values as an inserted record already exists
/// (<https://sqlite.org/lang_upsert.html>).
/// ```swift
/// // Only the stars of the note with this title, and only if there are more of them.
/// let best = SQLUpsert<Note>(on: \.title, where: "deleted IS NULL")
///     .updating(\.stars)
///     .where { note, new in new.stars > note.stars }
/// let isWritten = try db.upsert(&note, best)
///
/// // A counter.
/// let count = SQLUpsert<Word>(on: \.text).setting { word, new, set in set(\.count, to: word.count + new.count) }
/// try db.upsert(Word(text: "plan", count: 1), count)
/// ```
/// Without ``updating(_:)`` and ``setting(_:)``, all columns of the record are updated, except those of the primary key and of the
/// constraint.
public struct SQLUpsert<Record: SQLRecord>: Sendable {
    private let target: [AssociationLink.Name]
    private let condition: SQL?
    private var updated: [AssociationLink.Name] = []
    private var assignments: [SQL] = []
    private var filter: SQLPredicate?
    private var isIgnoring = false
    private var failure: DatabaseError?

    /// Identifies the existing row.
    /// - Parameters:
    ///   - properties: the properties of a unique constraint or index, in any order. Default: the properties of the primary key.
    ///   - condition: the condition of a partial unique index, as in the index and without bound values; with bound
    ///     values, the upsert throws ``DatabaseError/Reason/misuse``. Default: nil, for an index without a condition.
    public init(on properties: (PartialKeyPath<Record> & Sendable)..., where condition: SQL? = nil) {
        target = properties.compactMap { Record.source.linkName($0) }
        self.condition = condition
        if condition?.arguments.isEmpty == false {
            failure = .misuse("the condition of a partial index cannot have bound values: write them as in the index")
        }
    }

    /// Updates only the columns of these properties, to the values of the record.
    public func updating(_ properties: (PartialKeyPath<Record> & Sendable)...) -> Self {
        var copy = self
        copy.updated += properties.compactMap { Record.source.linkName($0) }
        return copy
    }

    /// Sets columns to values of your own. The closure gets the existing row and the new row, which was to be inserted.
    public func setting(
        _ changes: (_ row: SQLColumns<Record>, _ new: SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) -> Self {
        var copy = self
        var made = SQLAssignments<Record>(table: Record.source)
        SQLScope.within(SQLClauses(Record.source)) { changes(Self.existing, Self.new, &made) }
        copy.assignments += made.list
        copy.failure = failure ?? made.failure
        return copy
    }

    /// Updates the existing row only if it meets a condition. After several calls, it must meet all conditions.
    public func `where`(_ condition: (_ row: SQLColumns<Record>, _ new: SQLColumns<Record>) -> SQLPredicate) -> Self {
        var copy = self
        let condition = SQLScope.within(SQLClauses(Record.source)) { condition(Self.existing, Self.new) }
        copy.filter = filter.map { $0 && condition } ?? condition
        return copy
    }

    /// Leaves an existing row unchanged. Unlike ``ConflictResolution/ignore``, this applies only to the given constraint:
    /// violations of other constraints throw.
    public var ignoring: Self {
        var copy = self
        copy.isIgnoring = true
        return copy
    }

    private static var existing: SQLColumns<Record> { SQLColumns(table: Record.source, alias: Record.source.name) }
    private static var new: SQLColumns<Record> { SQLColumns(table: Record.source, alias: "excluded") }

    /// The clause that follows the insertion.
    /// - Parameter written: the columns that are inserted.
    func clause(_ written: [String], _ layout: RecordLayout, _ table: SQLTable) throws -> SQL {
        if let failure { throw failure }
        var target = try self.target.map { name in try name.get() }
        if target.isEmpty { target = try layout.key(among: written, table) }
        var sql: SQL = "ON CONFLICT(\(names: target))"
        if let condition { sql = "\(sql) WHERE \(condition)" }
        if isIgnoring { return "\(sql) DO NOTHING" }
        var list = assignments
        var changed = try updated.map { name in try name.get() }
        if changed.isEmpty, list.isEmpty {
            let fixed = (target + layout.key).nameSet
            changed = written.filter { !fixed.contains(SQLName($0)) }
            // A row that consists only of its key is overwritten with itself, because RETURNING returns only written rows.
            if changed.isEmpty { changed = [target[0]] }
        }
        list += changed.map { "\(identifier: $0) = excluded.\(identifier: $0)" }
        sql = "\(sql) DO UPDATE SET \(list: list)"
        return filter.map { "\(sql) WHERE \($0.condition)" } ?? sql
    }
}

extension Connection {
    /// Inserts a record, or resolves the conflict with an existing row as `conflict` says, and reads back the written row.
    /// - Parameters:
    ///   - record: the record to write. It receives the values of the written row, and stays unchanged if no row was written.
    ///   - conflict: the unique constraint that identifies an existing row, and the change to that row.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Returns: whether a row was inserted or updated.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique`` for a violated constraint;
    ///   ``DatabaseError/Reason/invalidArgument`` if there is no such table, or for a value that cannot be stored; or any error
    ///   that the record's own coding throws. Nothing is changed then.
    @discardableResult
    public func upsert<Record: SQLRecord>(
        _ record: inout Record, _ conflict: SQLUpsert<Record>, in schema: Schema? = nil
    ) throws -> Bool {
        let (statements, given) = (try statements(schema), record)
        var written: Record?
        try savepoint { db in
            let sql = try statements.upsert(given, conflict, db)
            try db.forEachRow(of: sql) { _ in { row in written = try Record(row: row) } }
        }
        if let written { record = written }
        return written != nil
    }

    /// Inserts a record, or resolves the conflict with an existing row as `conflict` says.
    /// - Returns: whether a row was inserted or updated.
    /// - Throws: the errors of the form for a variable. Nothing is changed then.
    @discardableResult
    public func upsert<Record: SQLRecord>(
        _ record: Record, _ conflict: SQLUpsert<Record>, in schema: Schema? = nil
    ) throws -> Bool {
        var copy = record
        return try upsert(&copy, conflict, in: schema)
    }
}

extension RecordStatements {
    fileprivate func upsert<Record: SQLRecord>(
        _ record: Record, _ conflict: SQLUpsert<Record>, _ db: Connection
    ) throws -> SQL {
        let table = table(Record.self)
        let layout = try self.layout(Record.self, table, db)
        let stored = try self.stored(record, table, db)
        let names = try layout.written(stored.map(\.name), table)
        let values = stored.filter { names.contains(text: $0.name) }
        let insertion = SQL(
            raw: RecordSQL.insertion(table, layout, names, nil), StatementArguments(values.map(\.value)))
        return "\(insertion) \(try conflict.clause(names, layout, table)) RETURNING \(raw: layout.selection)"
    }

    /// The columns that a record writes, with their values.
    func stored<Record: SQLRecord>(
        _ record: Record, _ table: SQLTable, _ db: Connection
    ) throws -> [(name: String, value: (any SQLValueConvertible)?)] {
        if let positions = table.positions {
            let values = try columns(Record.self, positions, db).values(of: record)
            return zip(positions.names, values).compactMap { name, value in value.map { (name: name, value: $0) } }
        }
        let profiles = Record.columnProfiles
        return try RowEncodingState.collect(record, db.profile).map { name, value in
            guard let value, let profile = profiles[name] else { return (name: name, value: value) }
            return (name: name, value: ProfiledValue(value, profile))
        }
    }
}

/// Writing rows from `Encodable` types.
extension Connection {
    /// Inserts a record, with its coding keys as the columns' names.
    /// ```swift
    /// try db.insert(Note(id: 1, title: "Plan", tags: ["work"]), into: "note")
    /// let id = db.lastInsertedRowID
    /// ```
    /// A nil property is NULL, which for an `INTEGER PRIMARY KEY` means a new row id; a property that the record does not encode at
    /// all gets the column's default. Otherwise the rules of ``StatementArguments/init(encoding:)`` apply. The statement is
    /// prepared once for each type and table.
    /// - Parameters:
    ///   - record: the record to insert.
    ///   - table: the table's name.
    ///   - conflict: what to do if a constraint is violated. Default: the statement fails.
    ///   - schema: the database. Default: nil, for the first one that has the table.
    /// - Throws: ``DatabaseError``, or any error that the record's own encoding throws.
    public func insert<T: Encodable>(
        _ record: T, into table: String, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws {
        _ = try live()
        let schema = try name(of: schema)
        let cache = state(InsertionCache.self)
        let target = InsertionCache.Target(
            type: ObjectIdentifier(T.self), table: ExactText(table), schema: schema.map { ExactText($0) }, conflict: conflict)
        if let insertion = cache.insertions.find(target), insertion.statement.uses == 0 {
            if try insertion.run(record) { return }
        }
        // The record has keys that were not seen before, or a different set of them.
        let keys = try RowEncodingState.collect(record).map(\.name)
        let encoding = RowEncodingState(profile, T.self, keys: keys)
        let made = EncodedStatement(try cached(SQL(raw: target.sql(keys))), encoding)
        if cache.insertions.find(target) == nil { cache.insertions.add(made, target) }
        if try !made.run(record) { throw DatabaseError.misuse("\(T.self) encodes different keys each time") }
    }
}

/// What an INSERT or UPDATE does if a constraint is violated (<https://sqlite.org/lang_conflict.html>).
public enum ConflictResolution: String, Hashable, Sendable, CaseIterable {
    /// The statement fails and its changes are undone. SQLite's default.
    case abort = "ABORT"
    /// The statement fails, but its changes to earlier rows remain.
    case fail = "FAIL"
    /// The row is skipped.
    case ignore = "IGNORE"
    /// The conflicting rows are deleted.
    case replace = "REPLACE"
    /// The whole transaction is rolled back.
    case rollback = "ROLLBACK"
}

/// The prepared statements that insert `Codable` values.
final class InsertionCache: ConnectionState {
    struct Target: Hashable {
        let type: ObjectIdentifier
        let table: ExactText
        let schema: ExactText?
        let conflict: ConflictResolution?

        func sql(_ columns: [String]) -> String {
            let name = (schema.map { $0.text.quotedSQLIdentifier + "." } ?? "") + table.text.quotedSQLIdentifier
            let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let parameters = columns.map { _ in "?" }.joined(separator: ", ")
            return "INSERT\(conflict.map { " OR \($0.rawValue)" } ?? "") INTO \(name)(\(names)) VALUES (\(parameters))"
        }
    }

    // Read for each row. A connection is used by one thread at a time, and comparing targets calls no other code.
    @exclusivity(unchecked) var insertions = RecentCache<Target, EncodedStatement>()
}

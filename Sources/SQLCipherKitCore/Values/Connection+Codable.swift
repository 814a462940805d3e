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
    ///   - conflict: the behavior if a constraint is violated. Default: the statement fails.
    ///   - schema: the database. Default: nil, for the first database that has the table.
    /// - Throws: SQLite's error, such as ``ResultCode/constraintUnique``; ``DatabaseError/Reason/invalidArgument`` if two coding
    ///   keys belong to one column; ``DatabaseError/Reason/schemaName`` if `schema` is no longer attached;
    ///   ``DatabaseError/Reason/misuse`` for a type that encodes different keys each time, and inside a hook; or any error that the
    ///   record's own encoding throws.
    public func insert<T: Encodable>(
        _ record: T, into table: String, onConflict conflict: ConflictResolution? = nil, in schema: Schema? = nil
    ) throws {
        _ = try live()
        let schema = try name(of: schema)
        let key = StatementKey(
            EncodedStatement.self, ObjectIdentifier(T.self), conflict?.number ?? 0, text: table, place: schema ?? "")
        if let known: EncodedStatement = kept(key), case .done = try known.run(record) { return }
        // The record has keys that were not seen before, or a different set of them.
        let isRun = try runKept(key, EncodedStatement.self) { try $0.run(record) == .done } make: {
            let columns = try RowEncodingState.collect(record, profile).map(\.name)
            try columns.requireDistinctColumns(table)
            let name = (schema.map { $0.quotedSQLIdentifier + "." } ?? "") + table.quotedSQLIdentifier
            let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let parameters = columns.map { _ in "?" }.joined(separator: ", ")
            let statement = try prepareKept(
                "INSERT\(conflict.map { " OR \($0.rawValue)" } ?? "") INTO \(name)(\(names)) VALUES (\(parameters))")
            return (statement, EncodedStatement(statement, RowEncodingState(profile, T.self, keys: columns)))
        }
        if !isRun { throw DatabaseError.misuse("\(T.self) encodes different keys each time") }
    }
}

extension [String] {
    /// Throws if two of a record's values belong to one column, because SQLite ignores the case of names: one would be lost.
    package func requireDistinctColumns(_ table: String) throws {
        var names: Set<SQLName> = []
        for name in self where !names.insert(SQLName(name)).inserted {
            throw DatabaseError.invalidArgument("the record has two values for the column \(name) of \(table)")
        }
    }
}

/// The behavior of an INSERT or UPDATE if a constraint is violated (<https://sqlite.org/lang_conflict.html>).
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

    /// Not 0, which stands for none.
    package var number: UInt64 {
        switch self {
        case .abort: 1
        case .fail: 2
        case .ignore: 3
        case .replace: 4
        case .rollback: 5
        }
    }
}

/// Rows from and to `Codable` types.
extension Connection {
    /// Each row as a `Decodable` type: its coding keys are the columns' names; see ``Row/decode(_:)``.
    /// ```swift
    /// struct Note: Codable { var id: Int; var title: String?; var tags: [String] }
    /// let notes = try db.fetchAll(decoding: Note.self, "SELECT * FROM note")
    /// ```
    /// - Throws: ``DatabaseError``, and what the type's own decoding throws.
    @inlinable
    public func fetchAll<T: Decodable>(
        decoding type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> [T] {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchAll(decoding: type, arguments) }
    }

    /// The first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: ``DatabaseError``, and what the type's own decoding throws.
    @inlinable
    public func fetchOne<T: Decodable>(
        decoding type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> T? {
        try withCached(sql, arguments) { statement, arguments in try statement.fetchOne(decoding: type, arguments) }
    }

    /// A cursor over rows as a `Decodable` type.
    public func cursor<T: Decodable>(
        decoding type: T.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> RowCursor<T> {
        RowCursor(try openCursor(sql, arguments)) { row in try row.decode(type) }
    }

    /// Inserts a record: its coding keys are the columns' names.
    /// ```swift
    /// try db.insert(Note(id: 1, title: "Plan", tags: ["work"]), into: "note")
    /// let id = db.lastInsertedRowID
    /// ```
    /// A nil property is NULL, which for an `INTEGER PRIMARY KEY` means a new row id; a property that the record does not
    /// encode at all is left to the column's default. The other rules are those of ``StatementArguments/init(encoding:)``. The
    /// statement is prepared once for a type and a table.
    /// - Parameters:
    ///   - record: what to insert.
    ///   - table: the table's name.
    ///   - conflict: what to do where a constraint is broken. Default: the statement fails.
    ///   - schema: the database; nil, the default, for the first one that has the table.
    /// - Throws: ``DatabaseError``, and what the record's own encoding throws.
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
        // Keys that were not seen before, or another set of them.
        let collected = try RowEncodingState.collect(record)
        let sql = target.sql(collected.map(\.name))
        try execute(SQL(raw: sql), StatementArguments(collected.map(\.value)))
        if cache.insertions.find(target) == nil {
            let encoding = RowEncodingState(profile, keys: collected.map(\.name))
            cache.insertions.add(EncodedStatement(try prepareKept(sql), encoding), target)
        }
    }
}

/// What an INSERT or UPDATE does where a constraint is broken (<https://sqlite.org/lang_conflict.html>).
public enum ConflictResolution: String, Hashable, Sendable, CaseIterable {
    /// The statement fails and is undone. SQLite's default.
    case abort = "ABORT"
    /// The statement fails; the rows before the failing one stay.
    case fail = "FAIL"
    /// The row is left out.
    case ignore = "IGNORE"
    /// The rows in the way are deleted.
    case replace = "REPLACE"
    /// The whole transaction is rolled back.
    case rollback = "ROLLBACK"
}

extension Statement {
    /// Each row as a `Decodable` type; see ``Row/decode(_:)``.
    @inlinable
    public func fetchAll<T: Decodable>(decoding type: T.Type, _ arguments: StatementArguments = []) throws -> [T] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        return try collect(handle) { try $0.decode(type) }
    }

    /// The first row as a `Decodable` type, or nil if there is no row.
    @inlinable
    public func fetchOne<T: Decodable>(decoding type: T.Type, _ arguments: StatementArguments = []) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return nil }
        let value = try Row(handle, names(handle)).decode(type)
        try finish(handle)
        return value
    }
}

/// The statements that `Codable` values are inserted with.
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

    // Looked at for each row. A connection is used by one thread at a time, and comparing targets calls no other code.
    @exclusivity(unchecked) var insertions = RecentCache<Target, EncodedStatement>()
}

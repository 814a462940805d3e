import Foundation

/// Writes records, and reads them by their key: in the tables of one database, or of the first one that has them.
struct RecordWriter {
    let db: Connection
    let statements: RecordStatements

    func run<Record: SQLRecord>(_ action: RecordAction, _ record: Record) throws { try statements.run(action, record, db) }

    /// Writes a record and reads it back. A row that cannot be read back is not kept either.
    func writing<Record: SQLRecord>(_ action: RecordAction, _ record: Record) throws -> Record {
        var written = record
        try db.savepoint { db in try statements.run(action, record, db) { written = try $0.decode(Record.self) } }
        return written
    }

    /// Writes records and reads them back, all or none.
    func writing<Record: SQLRecord>(_ action: RecordAction, _ records: [Record]) throws -> [Record] {
        var written = records
        try db.savepoint { db in
            for index in written.indices {
                try statements.run(action, written[index], db) { written[index] = try $0.decode(Record.self) }
            }
        }
        return written
    }

    /// Writes records, all or none.
    func runAll<Record: SQLRecord>(_ action: RecordAction, _ records: some Sequence<Record>) throws {
        try db.savepoint { db in for record in records { try statements.run(action, record, db) } }
    }

    func update<Record: SQLRecord>(_ record: Record) throws {
        try run(.update, record)
        if db.changes == 0 { throw DatabaseError.noRecord(Record.self) }
    }

    func update<Record: SQLRecord>(_ record: Record, from before: Record) throws -> [String] {
        let table = statements.table(Record.self)
        let layout = try statements.layout(Record.self, table, db)
        let old = try RowEncodingState.collect(before, db.dateStrategy), new = try RowEncodingState.collect(record, db.dateStrategy)
        func stored(_ value: (any SQLValueConvertible)?) throws(DatabaseError) -> SQLValue {
            if let date = value as? Date { return try date.sqlValue(db.dateStrategy) }
            return try value?.sqlValue ?? .null
        }
        var changed: [String] = [], assignments: [SQL] = []
        for (name, value) in new where !layout.generated.contains(name.lowercased()) {
            let value = try stored(value)
            if let former = old.first(where: { $0.name == name }), try stored(former.value) == value { continue }
            changed.append(name)
            assignments.append("\(identifier: name) = \(value)")
        }
        let key = try keyCondition(table, layout, old.map { (name: $0.name, value: try stored($0.value)) })
        if changed.isEmpty { return [] }
        try db.execute("UPDATE \(raw: table.qualifiedName) SET \(list: assignments) WHERE \(key)")
        if db.changes == 0 { throw DatabaseError.noRecord(Record.self) }
        return changed
    }

    func delete<Record: SQLRecord>(_ record: Record) throws -> Bool {
        try run(.delete, record)
        return db.changes > 0
    }

    func refresh<Record: SQLRecord>(_ record: Record) throws -> Record {
        var fresh: Record?
        try statements.run(.refresh, record, db) { fresh = try $0.decode(Record.self) }
        guard let fresh else { throw DatabaseError.noRecord(Record.self) }
        return fresh
    }
}

/// By the key.
extension RecordWriter {
    func fetchOne<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ values: repeat each Value
    ) throws -> Record? {
        let (table, layout, condition) = try find(type, repeat each values)
        let columns: SQL = if let columns = layout.columns { "\(names: columns)" } else { "*" }
        return try db.fetchOne(decoding: type, "SELECT \(columns) FROM \(raw: table.qualifiedName) WHERE \(condition)")
    }

    func exists<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ values: repeat each Value
    ) throws(DatabaseError) -> Bool {
        let (table, _, condition) = try find(type, repeat each values)
        return try db.fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM \(raw: table.qualifiedName) WHERE \(condition))") ?? false
    }

    func delete<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ values: repeat each Value
    ) throws(DatabaseError) -> Bool {
        let (table, _, condition) = try find(type, repeat each values)
        try db.execute("DELETE FROM \(raw: table.qualifiedName) WHERE \(condition)")
        return db.changes > 0
    }

    private func find<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ values: repeat each Value
    ) throws(DatabaseError) -> (SQLTable, RecordLayout, SQL) {
        let table = statements.table(type)
        let layout = try statements.layout(type, table, db)
        var bound: [any SQLValueConvertible] = []
        for value in repeat each values { bound.append(value) }
        guard bound.count == layout.key.count, !bound.isEmpty else {
            throw .invalidArgument("the primary key of \(table.name) has \(layout.key.count) columns and got \(bound.count) values")
        }
        let text = layout.key.map { "\($0.quotedSQLIdentifier) = ?" }.joined(separator: " AND ")
        return (table, layout, SQL(raw: text, StatementArguments(bound)))
    }

    private func keyCondition(
        _ table: SQLTable, _ layout: RecordLayout, _ values: [(name: String, value: SQLValue)]
    ) throws(DatabaseError) -> SQL {
        if layout.key.isEmpty { throw .misuse("the table \(table.name) has no primary key") }
        var condition: SQL = ""
        for column in layout.key {
            guard let value = values.first(where: { $0.name.lowercased() == column.lowercased() })?.value else {
                throw .misuse("the record has no property for \(column), which belongs to the primary key of \(table.name)")
            }
            if !condition.text.isEmpty { condition = "\(condition) AND " }
            condition = "\(condition)\(identifier: column) = \(value)"
        }
        return condition
    }
}

extension DatabaseError {
    static func noRecord<Record: SQLRecord>(_ type: Record.Type) -> DatabaseError {
        DatabaseError(
            code: .notFound, reason: .recordNotFound, message: "there is no row of \(type.tableName) with the record's key")
    }
}

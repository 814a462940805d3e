import SQLCipherKitCore

/// The facts about a type of positional records that changing them needs.
final class RecordChangePlan {
    let layout: PositionalLayout
    let table: SQLTable
    /// The places of the key's columns.
    let key: [Int]
    let isGenerated: [Bool]
    /// True if records can be compared without reading their values.
    let isComparable: Bool

    init(_ layout: PositionalLayout, _ table: SQLTable, _ known: RecordLayout) throws {
        self.layout = layout
        self.table = table
        let names = layout.names
        let key = try known.key(among: names, table).map { names.firstIndex(ofText: $0) ?? 0 }
        let isGenerated = names.map { known.generated.contains(SQLName($0)) }
        isComparable = layout.count <= 64 && !key.contains { isGenerated[$0] }
        (self.key, self.isGenerated) = (key, isGenerated)
    }

    /// The places of the columns in which two records differ. A column that the second record leaves out does not differ.
    func changed(_ old: [SQLValue?], _ new: [SQLValue?]) -> [Int] {
        new.indices.filter { new[$0] != nil && !isGenerated[$0] && new[$0] != old[$0] }
    }

    func sql(_ columns: [Int]) -> String {
        func list(_ columns: [Int], _ separator: String) -> String {
            columns.map { "\(layout.names[$0].quotedSQLIdentifier) = ?" }.joined(separator: separator)
        }
        return "UPDATE \(table.qualifiedName) SET \(list(columns, ", ")) WHERE \(list(key, " AND "))"
    }

    func condition(_ old: [SQLValue?]) -> SQL {
        RecordLayout.condition(key.map { layout.names[$0] }, key.map { old[$0] ?? SQLValue.null })
    }
}

/// The update of one set of columns of positional records.
final class RecordChange {
    let statement: Statement
    let columns: [Int]
    let names: [String]

    init(_ statement: Statement, _ columns: [Int], _ names: [String]) {
        (self.statement, self.columns, self.names) = (statement, columns, names)
    }
}

extension RecordStatements {
    /// Changes the columns in which two records differ; see ``Connection/updateChanges(_:from:in:)``.
    func change<Record: SQLRecord>(
        _ record: Record, from before: Record, _ positions: RecordPositions, _ db: Connection
    ) throws -> [String] {
        for attempt in 0..<Self.attempts {
            let plan = try plan(Record.self, positions, db, isChecked: attempt > 0)
            do {
                if let changed = try change(record, from: before, plan, db) { return changed }
            } catch is SchemaChange {
                continue
            }
            return try changeByValues(record, from: before, try self.plan(Record.self, positions, db, isChecked: true), db)
        }
        throw DatabaseError.changingSchema
    }

    private func changeByValues<Record: SQLRecord>(
        _ record: Record, from before: Record, _ plan: RecordChangePlan, _ db: Connection
    ) throws -> [String] {
        let old = try plan.layout.values(of: before), new = try plan.layout.values(of: record)
        for index in plan.key where old[index] == nil {
            throw DatabaseError.misuse(
                "the record leaves out \(plan.layout.names[index]), which belongs to the primary key of \(plan.table.name)")
        }
        let changed = plan.changed(old, new)
        if changed.isEmpty { return [] }
        let total = db.totalChanges
        let values = changed.map { new[$0] ?? .null } + plan.key.map { old[$0] ?? .null }
        try db.changeRows(SQL(raw: plan.sql(changed), StatementArguments(values)))
        try db.check(Record.self, try db.hasMet(total) { plan.table }) { try db.isThere(plan.table, plan.condition(old)) }
        return changed.map { plan.layout.names[$0] }
    }
}

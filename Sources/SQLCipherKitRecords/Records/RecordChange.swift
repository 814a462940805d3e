import CSQLCipher
import SQLCipherKitCore

/// The columns that an update changes, by their places.
struct RecordChange: Hashable {
    let type: ObjectIdentifier
    let columns: [Int]
}

/// What changing positional records of a type has to know of them.
final class RecordChangePlan {
    let layout: PositionalLayout
    let table: SQLTable
    /// The places of the key's columns.
    let key: [Int]
    let isGenerated: [Bool]
    private var comparison: RecordComparison?
    private var known = RecentCache<UInt64, KnownChange>()

    /// The update of one set of columns.
    final class KnownChange {
        let statement: Statement
        let columns: [Int]
        let names: [String]

        init(_ statement: Statement, _ columns: [Int], _ names: [String]) {
            (self.statement, self.columns, self.names) = (statement, columns, names)
        }
    }

    init(_ layout: PositionalLayout, _ table: SQLTable, _ known: RecordLayout) throws(DatabaseError) {
        self.layout = layout
        self.table = table
        let names = layout.names
        key = try known.key(among: names, table).map { names.firstIndex(ofText: $0) ?? 0 }
        isGenerated = names.map { known.generated.contains(SQLName($0)) }
    }

    /// The places of the columns in which two records differ. What the second one leaves out does not differ.
    func changed(_ old: [SQLValue?], _ new: [SQLValue?]) -> [Int] {
        new.indices.filter { new[$0] != nil && !isGenerated[$0] && new[$0] != old[$0] }
    }

    func sql(_ columns: [Int]) -> String {
        func list(_ columns: [Int], _ separator: String) -> String {
            columns.map { "\(layout.names[$0].quotedSQLIdentifier) = ?" }.joined(separator: separator)
        }
        return "UPDATE \(table.qualifiedName) SET \(list(columns, ", ")) WHERE \(list(key, " AND "))"
    }

    /// What compares records without reading their values; nil if that is in use, or not possible for this type.
    func freeComparison(_ db: Connection) throws(DatabaseError) -> RecordComparison? {
        if let comparison { return comparison.statement.uses == 0 ? comparison : nil }
        guard layout.count <= 64, !key.contains(where: { isGenerated[$0] }) else { return nil }
        let made = try RecordComparison(layout, isGenerated, db)
        comparison = made
        return made
    }

    /// The update of the columns with a bit in `bits`.
    func change(_ bits: UInt64, _ db: Connection) throws(DatabaseError) -> KnownChange {
        let found = known.find(bits)
        if let found, found.statement.uses == 0 { return found }
        let columns = layout.names.indices.filter { bits >> UInt64($0) & 1 == 1 }
        let made = KnownChange(try db.prepareKept(sql(columns)), columns, columns.map { layout.names[$0] })
        if found == nil { known.add(made, bits) }
        return made
    }

    func condition(_ old: [SQLValue?]) -> SQL {
        RecordLayout.condition(key.map { layout.names[$0] }, key.map { old[$0] ?? SQLValue.null })
    }
}

extension RecordStatements {
    private func plan<Record: SQLRecord>(_ type: Record.Type, _ positions: RecordPositions, _ db: Connection) throws(DatabaseError)
        -> RecordChangePlan
    {
        let id = ObjectIdentifier(type)
        if let known = positional.plans.find(id), !known.table.columns.isEmpty { return known }
        let table = table(type)
        let layout = try self.layout(type, table, db)
        if let known = positional.plans.find(id) { return known }
        let made = try RecordChangePlan(positional.layout(type, positions, db), table, layout)
        positional.plans.add(made, id)
        return made
    }

    /// Changes the columns in which two records differ; see ``Connection/update(_:from:in:)``.
    func change<Record: SQLRecord>(
        _ record: Record, from before: Record, _ positions: RecordPositions, _ db: Connection
    ) throws -> [String] {
        let plan = try plan(Record.self, positions, db)
        if let changed = try plan.change(record, from: before, db) { return changed }
        let old = try plan.layout.values(of: before), new = try plan.layout.values(of: record)
        for index in plan.key where old[index] == nil {
            throw DatabaseError.misuse(
                "the record leaves out \(positions.names[index]), which belongs to the primary key of \(plan.table.name)")
        }
        let changed = plan.changed(old, new)
        if changed.isEmpty { return [] }
        let change = RecordChange(type: ObjectIdentifier(Record.self), columns: changed)
        let found = positional.changes.find(change)
        var statement = found
        if found == nil || found?.uses != 0 {
            statement = try db.prepareKept(plan.sql(changed))
            if found == nil, let statement { positional.changes.add(statement, change) }
        }
        let total = db.totalChanges
        try statement?.run(changed.map { new[$0] ?? .null } + plan.key.map { old[$0] ?? .null })
        guard try db.hasMet(plan.table, total) ?? db.isThere(plan.table, plan.condition(old)) else {
            throw DatabaseError.noRecord(Record.self)
        }
        return changed.map { positions.names[$0] }
    }
}

extension Statement {
    fileprivate func run(_ values: [SQLValue]) throws {
        let handle = try beginUse()
        defer { endUse(handle) }
        for index in values.indices { try Parameter(handle, Int32(index + 1), connection.profile).put(values[index]) }
        try connection.wholly(handle) { try drain(handle) }
    }
}

import SQLCipherKitCore

/// The statements that a connection writes and finds positional records with: a part of ``RecordStatements``.
final class PositionalStatements {
    struct Target: Hashable {
        let type: ObjectIdentifier
        let action: RecordAction
    }

    private struct Shape: Hashable {
        let target: Target
        let present: [Bool]
    }

    // A connection is used by one thread at a time, and comparing targets calls no other code.
    @exclusivity(unchecked) private var statements = RecentCache<Target, PositionalStatement>()
    private var shapes = RecentCache<Shape, PositionalStatement>()
    @exclusivity(unchecked) var changes = RecentCache<RecordChange, Statement>()
    @exclusivity(unchecked) var plans = RecentCache<ObjectIdentifier, RecordChangePlan>()
    private var layouts: [ObjectIdentifier: PositionalLayout] = [:]

    /// Forgets what was made for tables as they were before the schema changed.
    func removeAll() {
        statements.removeAll()
        shapes.removeAll()
        changes.removeAll()
        plans.removeAll()
    }

    func layout<Record: SQLRecord>(_ type: Record.Type, _ positions: RecordPositions, _ db: Connection) -> PositionalLayout {
        let id = ObjectIdentifier(type)
        if let known = layouts[id] { return known }
        let made = PositionalLayout(positions.names, db.profile, Record.columnProfiles)
        layouts[id] = made
        return made
    }

    /// The statement to run without a look at the table: one that is described.
    @inline(__always)
    func ready(_ target: Target) -> PositionalStatement? {
        guard let found = statements.find(target), found.isDescribed, found.statement.uses == 0 else { return nil }
        return found
    }

    /// Runs an action whose statement is not ready, or is for records that leave out other columns.
    func run<Record: SQLRecord>(
        _ target: Target, _ record: Record, _ positions: RecordPositions, _ table: SQLTable, _ layout: RecordLayout,
        _ db: Connection, _ row: ((borrowing Row) throws -> Void)?
    ) throws {
        if let found = statements.find(target), found.statement.uses == 0, try found.run(record, row) { return }
        let columns = self.layout(Record.self, positions, db)
        let present = try columns.values(of: record).map { $0 != nil }
        let shape = Shape(target: target, present: present)
        var statement = shapes.find(shape)
        if statement == nil || statement?.statement.uses != 0 {
            let names = zip(positions.names, present).filter(\.1).map(\.0)
            let sql = try RecordSQL(target.action, table, layout, names)
            let made = PositionalStatement(
                try db.prepareKept(sql.text), columns, keys: sql.keys, present: present, isDescribed: !table.columns.isEmpty)
            if statement == nil { shapes.add(made, shape) }
            statement = made
        }
        guard let statement, try statement.run(record, row) else {
            throw DatabaseError.misuse("\(Record.self) leaves out other columns each time")
        }
        statements.add(statement, target)
    }
}

extension RecordStatements {
    func runPositional<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ positions: RecordPositions, _ db: Connection,
        _ row: ((borrowing Row) throws -> Void)?
    ) throws {
        let target = PositionalStatements.Target(type: ObjectIdentifier(Record.self), action: action)
        let table = table(Record.self)
        try positional.run(target, record, positions, table, try layout(Record.self, table, db), db, row)
    }
}

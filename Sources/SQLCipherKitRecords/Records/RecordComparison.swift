import CSQLCipher
import SQLCipherKitCore

/// Compares records of one type as values that are bound to a statement, which is never run: for each column of the earlier record,
/// and then for each column of the later record. Values that differ are bound from there to an update.
final class RecordComparison {
    let statement: Statement
    private let layout: PositionalLayout
    /// The parameters of the earlier record's columns, then of the later record's columns; 0 for a generated column.
    private let parameters: UnsafeMutablePointer<Int32>

    init(_ plan: RecordChangePlan, _ db: Connection) throws {
        layout = plan.layout
        let count = layout.count, isGenerated = plan.isGenerated
        statement = try db.prepareKept("SELECT ?\(2 * count)")
        parameters = .allocate(capacity: 2 * count)
        for index in 0..<2 * count {
            (parameters + index).initialize(to: isGenerated[index % count] ? 0 : Int32(truncatingIfNeeded: index + 1))
        }
    }

    deinit { parameters.deallocate() }

    /// Binds a record's values.
    /// - Returns: false if the record leaves out a column.
    func bind<Record: SQLRecord>(_ record: Record, isLater: Bool, _ handle: OpaquePointer) throws -> Bool {
        let count = layout.count
        var writer = SQLColumnWriter(handle, parameters + (isLater ? count : 0), count, layout.profiles, layout.profile)
        try record._write(to: &writer)
        try writer.checkEnd(Record.self)
        return !writer.hasOtherColumns
    }

    /// The columns in which the records differ, as bits.
    func differences(_ handle: OpaquePointer) -> UInt64 {
        var bits: UInt64 = 0
        for index in 0..<layout.count {
            let (former, later) = (parameters[index], parameters[layout.count + index])
            if former != 0, sqlcipherkit_is_same_bound(handle, former, later) == 0 { bits |= 1 << UInt64(index) }
        }
        return bits
    }

    /// Binds the value of one record's column to a parameter of another statement.
    func pass(
        _ column: Int, isLater: Bool, _ handle: OpaquePointer, to parameter: borrowing Statement._Parameter
    ) throws {
        let source = parameters[column + (isLater ? layout.count : 0)]
        try parameter.check(sqlite3_bind_value(parameter.handle, parameter.index, sqlcipherkit_bound_value(handle, source)))
    }
}

extension RecordStatements {
    /// Changes the columns in which two records differ.
    /// - Returns: their names; nil, without a change, if the records have to be compared by their values.
    /// - Throws: ``SchemaChange`` if the plan is of another schema.
    func change<Record: SQLRecord>(
        _ record: Record, from before: Record, _ plan: RecordChangePlan, _ db: Connection
    ) throws -> [String]? {
        guard plan.isComparable else { return nil }
        let comparison = try kept(key(RecordComparison.self, Record.self), plan.table, db) {
            let made = try RecordComparison(plan, db)
            return (made.statement, made)
        }
        let handle = try comparison.statement.beginUse()
        defer {
            // The records' values are not kept.
            sqlite3_clear_bindings(handle)
            comparison.statement.endUse(handle)
        }
        guard try comparison.bind(before, isLater: false, handle), try comparison.bind(record, isLater: true, handle) else {
            return nil
        }
        let bits = comparison.differences(handle)
        if bits == 0 { return [] }
        let changeKey = key(RecordChange.self, Record.self, bits)
        let change = try kept(changeKey, plan.table, db) {
            let columns = plan.layout.names.indices.filter { bits >> UInt64($0) & 1 == 1 }
            let made = RecordChange(
                try db.prepareKept(plan.sql(columns)), columns, columns.map { plan.layout.names[$0] })
            return (made.statement, made)
        }
        let total = db.totalChanges
        if case .outdated = try run(change, plan, comparison, handle, db.profile) {
            forget(changeKey, db)
            throw SchemaChange()
        }
        try db.check(Record.self, try db.hasMet(total) { plan.table }) {
            try db.isThere(plan.table, plan.condition(plan.layout.values(of: before)))
        }
        return change.names
    }

    private func run(
        _ change: RecordChange, _ plan: RecordChangePlan, _ comparison: RecordComparison, _ values: OpaquePointer,
        _ profile: ValueProfile
    ) throws -> StatementRun {
        let handle = try change.statement.beginUse()
        defer { change.statement.endUse(handle) }
        var parameter: Int32 = 0
        for column in change.columns {
            parameter += 1
            try comparison.pass(column, isLater: true, values, to: Statement._Parameter(handle, parameter, profile))
        }
        for column in plan.key {
            parameter += 1
            try comparison.pass(column, isLater: false, values, to: Statement._Parameter(handle, parameter, profile))
        }
        return try change.statement.run(handle, isFreeOfSchema: !plan.table.columns.isEmpty)
    }
}

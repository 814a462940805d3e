import CSQLCipher
import SQLCipherKitCore

/// Compares records of one type as values that are bound to a statement, which is never run: for each column of the earlier record,
/// and then for each column of the later one. Values that differ are bound from there to an update.
final class RecordComparison {
    let statement: Statement
    private let layout: PositionalLayout
    /// The parameters of the earlier record's columns, then those of the later one's; 0 for a generated column.
    private let parameters: UnsafeMutablePointer<Int32>

    init(_ layout: PositionalLayout, _ isGenerated: [Bool], _ db: Connection) throws(DatabaseError) {
        self.layout = layout
        let count = layout.count
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
        _ column: Int, isLater: Bool, _ handle: OpaquePointer, to parameter: borrowing Statement.Parameter
    ) throws(DatabaseError) {
        let source = parameters[column + (isLater ? layout.count : 0)]
        try parameter.check(sqlite3_bind_value(parameter.handle, parameter.index, sqlcipherkit_bound_value(handle, source)))
    }
}

extension RecordChangePlan {
    /// Changes the columns in which two records differ.
    /// - Returns: their names; nil, without a change, if the records have to be compared by their values.
    func change<Record: SQLRecord>(_ record: Record, from before: Record, _ db: Connection) throws -> [String]? {
        guard let comparison = try freeComparison(db) else { return nil }
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
        let change = try change(bits, db)
        let total = db.totalChanges
        try run(change, comparison, handle, db.profile)
        if try db.hasMet(table, total) ?? db.isThere(table, condition(layout.values(of: before))) { return change.names }
        throw DatabaseError.noRecord(Record.self)
    }

    private func run(
        _ change: KnownChange, _ comparison: RecordComparison, _ values: OpaquePointer, _ profile: ValueProfile
    ) throws {
        let handle = try change.statement.beginUse()
        defer { change.statement.endUse(handle) }
        var parameter: Int32 = 0
        for column in change.columns {
            parameter += 1
            try comparison.pass(column, isLater: true, values, to: Statement.Parameter(handle, parameter, profile))
        }
        for column in key {
            parameter += 1
            try comparison.pass(column, isLater: false, values, to: Statement.Parameter(handle, parameter, profile))
        }
        try change.statement.connection.wholly(handle) { try change.statement.drain(handle) }
    }
}

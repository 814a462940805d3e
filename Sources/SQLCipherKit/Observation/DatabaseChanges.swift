/// What a transaction has changed, as the hook of ``Connection/addChangeHook(affecting:_:)`` is told after its commit.
///
/// It may name more than was changed in the end, where a statement failed in the middle and was undone; never less.
public struct DatabaseChanges: Sendable {
    /// The changes to one table.
    struct Table: Hashable, Sendable {
        /// Rows came or went, or their row ids changed.
        var isWhole = false
        /// The columns that got another value by an UPDATE, as bits, of those that were looked at.
        var changed: UInt64 = 0
        /// The columns that were looked at: those that some hook cares for.
        var examined: UInt64 = 0

        func affects(_ columns: UInt64) -> Bool { isWhole || columns & (changed | ~examined) != 0 }
    }

    /// How far a database's write-ahead log went at a moment.
    struct LogPosition: Hashable, Sendable {
        var log: UInt64
        var frame: UInt32
    }

    var changes: [DatabaseTable: Table] = [:]
    /// Whether tables, indexes, views or triggers were made, altered or dropped, or databases attached or detached.
    public internal(set) var isSchemaChanged = false
    /// Whether it is not known what was changed, as after a commit by another process.
    public internal(set) var isUnknown = false
    /// The number of the commit among those that this connection has told of, counted from 1.
    var commit: UInt64 = 0
    /// Where the databases' write-ahead logs, of those that have one, ended with the commit.
    var positions: [String: LogPosition] = [:]

    /// The tables in which rows were inserted, updated or deleted. With a full-text table these are the tables in which it keeps
    /// its index, and the table itself.
    public var tables: Set<DatabaseTable> { Set(changes.keys) }

    /// Whether queries that have read a region may now have another result.
    public func affect(_ region: DatabaseRegion) -> Bool {
        if isSchemaChanged || isUnknown || region.isEverything { return true }
        // The smaller one is gone through.
        if changes.count <= region.columns.count {
            return changes.contains { table, change in region.columns[table].map { change.affects($0.bits) } ?? false }
        }
        return region.columns.contains { table, columns in changes[table]?.affects(columns.bits) ?? false }
    }
}

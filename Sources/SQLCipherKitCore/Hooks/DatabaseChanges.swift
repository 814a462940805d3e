/// The changes of a transaction, passed to change hooks (``Connection/addChangeHook(affecting:_:)``) after the commit.
///
/// The list may contain more than was finally changed, if a statement failed halfway and was undone, but never less.
public struct DatabaseChanges: Sendable {
    package struct Table: Hashable, Sendable {
        /// Rows were inserted or deleted, or their row ids changed.
        var isWhole = false
        /// The examined columns to which an UPDATE gave another value, as bits.
        var changed: UInt64 = 0
        /// The columns that any hook asked for, as bits.
        var examined: UInt64 = 0

        func affects(_ columns: UInt64) -> Bool { isWhole || columns & (changed | ~examined) != 0 }
    }

    /// The end of a database's write-ahead log in a snapshot.
    package struct LogPosition: Hashable, Sendable {
        package var log: UInt64
        package var frame: UInt32
    }

    package var changes: [DatabaseTable: Table] = [:]
    /// True if tables, indexes, views or triggers were created, altered or dropped, or databases attached or detached.
    public internal(set) var isSchemaChanged = false
    /// True if the changes are unknown, as after a commit by another process.
    public internal(set) var isUnknown = false
    /// The number of the commit among those that this connection has reported, counted from 1.
    package var commit: UInt64 = 0
    /// The ends of the databases' write-ahead logs after the commit, for databases that have one.
    package var positions: [SQLName: LogPosition] = [:]

    package init(
        changes: [DatabaseTable: Table] = [:], isSchemaChanged: Bool = false, isUnknown: Bool = false,
        positions: [SQLName: LogPosition] = [:]
    ) {
        (self.changes, self.isSchemaChanged, self.isUnknown) = (changes, isSchemaChanged, isUnknown)
        self.positions = positions
    }

    /// The tables in which rows were inserted, updated or deleted. For a full-text table, these include the tables that hold its
    /// index and the table itself.
    public var tables: Set<DatabaseTable> { Set(changes.keys) }

    /// Adds the changes of a later commit.
    package mutating func formUnion(_ later: DatabaseChanges) {
        for (table, change) in later.changes {
            guard let known = changes[table] else {
                changes[table] = change
                continue
            }
            changes[table] = Table(
                isWhole: known.isWhole || change.isWhole, changed: known.changed | change.changed,
                examined: known.examined & change.examined)
        }
        if later.isSchemaChanged { isSchemaChanged = true }
        if later.isUnknown { isUnknown = true }
        (commit, positions) = (later.commit, later.positions)
    }
}

extension DatabaseRegion {
    /// Returns whether queries that read the region may have a different result after a commit.
    ///
    /// For a region that you made by hand, any change to its tables counts here. The region's columns are compared only by calls
    /// that take the region, such as ``Connection/addChangeHook(affecting:_:)``.
    /// ```swift
    /// try db.addChangeHook { changes in if titles.isAffected(by: changes) { reloadTitles() } }
    /// ```
    public func isAffected(by changes: DatabaseChanges) -> Bool {
        if changes.isSchemaChanged || changes.isUnknown || isEverything { return true }
        // Loops over the smaller of the two.
        if changes.changes.count <= columns.count {
            return changes.changes.contains { table, change in columns[table].map { change.affects($0.bits) } ?? false }
        }
        return columns.contains { table, columns in changes.changes[table]?.affects(columns.bits) ?? false }
    }
}

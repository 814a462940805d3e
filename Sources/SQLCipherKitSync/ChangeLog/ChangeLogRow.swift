import SQLCipherKitCore

/// The facts that a change log stores about a row besides its values: when it was inserted and deleted, and when its values were
/// written.
///
/// Merging is commutative, associative and idempotent, so the order of the changes does not matter. Of two inserts, the later
/// insert wins, together with the updates and deletes of the row that it made. A delete wins over all updates of the same row. Of
/// two updates to a column, the later update wins.
struct ChangeLogRow: Hashable {
    /// The last insert.
    var insert = ChangeStamp.ancient
    /// The time at which the row of that insert was deleted; nil if the row exists.
    var gone: Int64?
    /// The updates since the insert, by column.
    var cells: [SQLName: ChangeStamp] = [:]

    /// The stamp of the last write to the row.
    var version: ChangeStamp { cells.values.reduce(insert, max) }

    /// The name under which tables with the rule ``ChangeLog/MergePolicy/row`` keep one stamp for all columns.
    static let wholeRow = SQLName("")

    /// When a column was last written.
    func written(_ column: SQLName) -> ChangeStamp { cells[column] ?? insert }

    /// - Returns: whether this is the last insert of the key.
    mutating func inserted(_ stamp: ChangeStamp) -> Bool {
        guard stamp > insert else { return false }
        (insert, gone, cells) = (stamp, nil, [:])
        return true
    }

    /// - Returns: whether the row is deleted by this change.
    mutating func deleted(_ base: ChangeStamp, _ stamp: ChangeStamp) -> Bool {
        // The change may belong to an earlier row with the same key.
        guard base == insert else { return false }
        let wasThere = gone == nil
        // Pruning needs the later time.
        (gone, cells) = (max(gone ?? 0, stamp.clock), [:])
        return wasThere
    }

    /// - Returns: whether this is the last write to the column.
    mutating func updated(_ column: SQLName, _ base: ChangeStamp, _ stamp: ChangeStamp) -> Bool {
        guard gone == nil, base == insert, stamp > written(column) else { return false }
        cells[column] = stamp
        return true
    }
}

/// What a change log knows of a row beyond its values: when it was inserted, deleted, and when its values were written.
///
/// Merging is commutative, associative and idempotent, so that the order of the changes does not matter: of two inserts the later
/// one counts, with the updates and the deletes of the row that it made; a delete counts over all updates of the same row; and of
/// two updates the later one counts, by column.
struct ChangeLogRow {
    /// The last insert.
    var insert = ChangeStamp.ancient
    /// When that row was deleted.
    var gone: Int64?
    /// The updates since the insert, by column.
    var cells: [SQLName: ChangeStamp] = [:]
    /// The columns whose stamps have changed since this was read.
    private(set) var written: Set<SQLName> = []
    /// Whether ``insert`` or ``gone`` have changed since this was read. Then the saved stamps of the columns are not valid.
    private(set) var isNew = false

    /// The last time that something was written to it.
    var version: ChangeStamp { cells.values.reduce(insert, max) }

    /// For tables in which the columns of a row go together.
    static let wholeRow = SQLName("")

    /// Whether a change is of this row, rather than of an earlier one with the same key.
    /// - Parameter horizon: up to this time, all peers know the same inserts.
    private func isSame(_ base: ChangeStamp, _ horizon: Int64) -> Bool {
        func normal(_ stamp: ChangeStamp) -> ChangeStamp { stamp.clock <= horizon ? .ancient : stamp }
        return normal(base) == normal(insert)
    }

    /// - Returns: whether this is the last insert of the key.
    mutating func inserted(_ stamp: ChangeStamp) -> Bool {
        guard stamp > insert else { return false }
        (insert, gone, cells, written, isNew) = (stamp, nil, [:], [], true)
        return true
    }

    /// - Returns: whether the row is deleted by this change.
    mutating func deleted(_ base: ChangeStamp, _ stamp: ChangeStamp, _ horizon: Int64) -> Bool {
        guard isSame(base, horizon) else { return false }
        let wasThere = gone == nil
        // The later time, for pruning.
        (gone, cells, written, isNew) = (max(gone ?? 0, stamp.clock), [:], [], true)
        return wasThere
    }

    /// - Returns: whether the value of this column is the last one written.
    mutating func updated(_ column: SQLName, _ base: ChangeStamp, _ stamp: ChangeStamp, _ horizon: Int64) -> Bool {
        guard gone == nil, isSame(base, horizon), stamp > (cells[column] ?? insert) else { return false }
        cells[column] = stamp
        written.insert(column)
        return true
    }
}

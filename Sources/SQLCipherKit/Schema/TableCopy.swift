/// How tables are copied from one database of a connection to another.
public struct TableCopyOptions: Hashable, Sendable {
    /// What happens to a row whose key is taken in the target (<https://sqlite.org/lang_conflict.html>).
    public enum Conflict: String, Hashable, Sendable, CaseIterable {
        /// The copy ends with an error, and nothing has changed.
        case fail = "ABORT"
        /// The target's row stays.
        case keep = "IGNORE"
        /// The source's row takes its place.
        case replace = "REPLACE"
    }

    /// What happens to a row whose key is taken. Default: the copy fails.
    public var conflict = Conflict.fail
    /// Whether the rows that a table has in the target go first. Default: no.
    public var emptiesTarget = false
    /// Whether a table that is new in the target gets its indexes. Default: yes.
    public var includesIndexes = true
    /// Whether a table that is new in the target gets its triggers, once the rows are there: they run in the target from then on.
    /// Leave them out if the source is not your own. Default: yes.
    public var includesTriggers = true

    /// The defaults.
    public init() {}
}

/// How far the copy of tables is.
public struct TableCopyProgress: Hashable, Sendable {
    /// The table that is being copied.
    public let table: String
    /// The rows that are copied, of all tables.
    public let rowsDone: Int
    /// The rows to copy, of all tables.
    public let rowsTotal: Int

    /// What is done, from 0 to 1.
    public var fraction: Double { rowsTotal == 0 ? 1 : Double(rowsDone) / Double(rowsTotal) }
}

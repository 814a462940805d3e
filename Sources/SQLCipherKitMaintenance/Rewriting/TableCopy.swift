/// How tables are copied from one database of a connection to another.
public struct TableCopyOptions: Hashable, Sendable {
    /// How to treat a row with a key that already exists in the target (<https://sqlite.org/lang_conflict.html>).
    public enum Conflict: String, Hashable, Sendable, CaseIterable {
        /// The copy fails with an error, and nothing is changed.
        case fail = "ABORT"
        /// The target's row is kept.
        case keep = "IGNORE"
        /// The source's row replaces it.
        case replace = "REPLACE"
    }

    /// How to treat a row with a key that already exists in the target. Default: the copy fails.
    public var conflict = Conflict.fail
    /// Whether to first delete the existing rows of a table in the target. Default: false.
    public var emptiesTarget = false
    /// Whether a table that is new in the target gets its indexes. Default: true.
    public var includesIndexes = true
    /// Whether a table that is new in the target gets its triggers, after the rows are copied. They run in the target from then on,
    /// so leave them out if the source is untrusted. Default: true.
    public var includesTriggers = true

    /// The defaults.
    public init() {}
}

/// The progress of copying tables.
public struct TableCopyProgress: Hashable, Sendable {
    /// The table that is being copied.
    public let table: String
    /// The number of rows copied so far, in all tables.
    public let rowsDone: Int
    /// The number of rows to copy, in all tables.
    public let rowsTotal: Int

    /// The finished fraction, from 0 to 1.
    public var fraction: Double { rowsTotal == 0 ? 1 : Double(rowsDone) / Double(rowsTotal) }
}

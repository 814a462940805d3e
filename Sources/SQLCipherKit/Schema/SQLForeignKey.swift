/// A foreign key (<https://sqlite.org/foreignkeys.html>).
public struct SQLForeignKey: Hashable, Sendable {
    /// What happens to the rows that refer to one that is deleted, or whose key changes.
    public enum Action: String, Hashable, Sendable, CaseIterable {
        /// The change is an error, unless the key is mended before the statement, or transaction, ends.
        case noAction = "NO ACTION"
        /// The change is an error at once.
        case restrict = "RESTRICT"
        /// Their columns become NULL.
        case setNull = "SET NULL"
        /// Their columns get their defaults.
        case setDefault = "SET DEFAULT"
        /// They are deleted, or change with it.
        case cascade = "CASCADE"
    }

    /// The columns that refer.
    public var columns: [String]
    /// The table that they refer to.
    public var parent: String
    /// The columns that they refer to; empty for the primary key.
    public var parentColumns: [String]
    /// What happens on a delete.
    public var onDelete: Action
    /// What happens on an update.
    public var onUpdate: Action
    /// Whether it is looked at when the transaction commits (`DEFERRABLE INITIALLY DEFERRED`). A database does not tell: it is
    /// false for a key that was read from one.
    public var isDeferred: Bool

    /// A foreign key.
    public init(
        _ columns: [String], references parent: String, _ parentColumns: [String] = [], onDelete: Action = .noAction,
        onUpdate: Action = .noAction, isDeferred: Bool = false
    ) {
        self.columns = columns
        self.parent = parent
        self.parentColumns = parentColumns
        self.onDelete = onDelete
        self.onUpdate = onUpdate
        self.isDeferred = isDeferred
    }

    /// From `REFERENCES` on.
    var clause: SQL {
        var sql: SQL = "REFERENCES \(identifier: parent)"
        if !parentColumns.isEmpty { sql = "\(sql)(\(names: parentColumns))" }
        if onDelete != .noAction { sql = "\(sql) ON DELETE \(raw: onDelete.rawValue)" }
        if onUpdate != .noAction { sql = "\(sql) ON UPDATE \(raw: onUpdate.rawValue)" }
        if isDeferred { sql = "\(sql) DEFERRABLE INITIALLY DEFERRED" }
        return sql
    }
}

extension SQL.StringInterpolation {
    mutating func appendInterpolation(names: [String]) {
        appendInterpolation(raw: names.map(\.quotedSQLIdentifier).joined(separator: ", "))
    }
}

/// A foreign key (<https://sqlite.org/foreignkeys.html>).
public struct SQLForeignKey: Hashable, Sendable {
    /// The action on referring rows when the referenced row is deleted or its key changes.
    public enum Action: String, Hashable, Sendable, CaseIterable {
        /// The change is an error, unless the violation is resolved before the statement or transaction ends.
        case noAction = "NO ACTION"
        /// The change is an error at once.
        case restrict = "RESTRICT"
        /// The referring columns become NULL.
        case setNull = "SET NULL"
        /// The referring columns get their defaults.
        case setDefault = "SET DEFAULT"
        /// The referring rows are deleted or updated as well.
        case cascade = "CASCADE"
    }

    /// The referring columns.
    public var columns: [String]
    /// The referenced table.
    public var parent: String
    /// The referenced columns; empty for the primary key.
    public var parentColumns: [String]
    /// The action on a delete.
    public var onDelete: Action
    /// The action on an update.
    public var onUpdate: Action
    /// True if it is only checked when the transaction commits (`DEFERRABLE INITIALLY DEFERRED`).
    public var isDeferred: Bool

    /// A foreign key.
    /// - Parameters:
    ///   - columns: the referring columns.
    ///   - parent: the referenced table.
    ///   - parentColumns: the referenced columns. Default: empty, for the primary key.
    ///   - onDelete: the action when the referenced row is deleted. Default: an error at the end of the statement.
    ///   - onUpdate: the action when the referenced row's key changes. Default: an error at the end of the statement.
    ///   - isDeferred: whether the reference is only checked when the transaction commits. Default: false.
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

    /// The SQL clause from `REFERENCES` on.
    package var clause: SQL {
        var sql: SQL = "REFERENCES \(identifier: parent)"
        if !parentColumns.isEmpty { sql = "\(sql)(\(names: parentColumns))" }
        if onDelete != .noAction { sql = "\(sql) ON DELETE \(raw: onDelete.rawValue)" }
        if onUpdate != .noAction { sql = "\(sql) ON UPDATE \(raw: onUpdate.rawValue)" }
        if isDeferred { sql = "\(sql) DEFERRABLE INITIALLY DEFERRED" }
        return sql
    }
}

extension SQL.StringInterpolation {
    package mutating func appendInterpolation(names: [String]) {
        appendInterpolation(raw: names.map(\.quotedSQLIdentifier).joined(separator: ", "))
    }
}

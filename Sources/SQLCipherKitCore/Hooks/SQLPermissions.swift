import CSQLCipher

/// Permissions for untrusted SQL: it may only read, and only the tables and columns that you allow.
/// ```swift
/// var access = SQLPermissions.readOnly
/// access.tables = ["note": .columns(["id", "title"]), "tag": .all]
/// access.functions = ["count", "max", "upper"]
/// let rows = try db.withPermissions(access) { db in
///     try db.fetchAll(OwnedRow.self, SQL(raw: untrusted))
/// }
/// ```
/// Each column that a query refers to is checked after its names are resolved, including columns joined by `USING` and `NATURAL`.
/// Each table that the compiled statement opens is checked too, whatever SQL has led to it.
///
/// Permissions limit access, not resources: for SQL that never ends set a progress handler, for results that are too
/// large set limits (``Connection/Settings/setLimit(_:to:)``), and for an untrusted file see ``ConnectionOption``.
public struct SQLPermissions: Sendable {
    /// The columns of a table that may be read.
    public enum Columns: Hashable, Sendable {
        case all
        /// The named columns; the ASCII case of their names is ignored. A row id counts as the column that is its alias, or as
        /// `rowid`.
        case columns(Set<String>)
    }

    /// The tables and views that may be read, in every attached database; nil for all, including SQLite's own tables with the
    /// schema, except `sqlite_stmt`, which shows the SQL that other code has run on the connection.
    ///
    /// For a view, list the tables that it reads as well; for a full-text table with external content, list that table as well.
    /// List a virtual table with all columns or not at all. A table with an index on a hidden column, or on an expression, is read
    /// without its indexes, because the order of its rows would reveal that column. If such a table is also WITHOUT ROWID, it
    /// cannot be read. Row ids, and the key of a table WITHOUT ROWID, still determine the order of rows.
    public var tables: [String: Columns]?
    /// The functions that may be called; nil for all. `->`, `->>`, `LIKE`, `GLOB`, `REGEXP` and `MATCH` count as functions under
    /// these names in lower case. The ASCII case of names is ignored. `json_each` and `json_tree` are functions as well; other
    /// table-valued functions, such as `pragma_table_info`, count as tables.
    public var functions: Set<String>?
    /// True if a column that the query may not read is NULL; false if reading it is an error. Default: false.
    public var hidesColumns = false

    /// Permissions that allow every query, and refuse statements that write, attach, or change settings or transactions.
    public static let readOnly = SQLPermissions()

    private init() {}
}

extension Connection.Settings {
    /// Restricts later statements, or lifts the restriction. The permissions replace an authorizer.
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/misuse`` inside a hook, or
    ///   ``DatabaseError/Reason/invalidArgument`` if ``SQLPermissions/tables`` has a virtual table with only some columns.
    public func setPermissions(_ access: SQLPermissions?) throws { try connection.setAccess(access) }
}

extension Connection {
    fileprivate func setAccess(_ access: SQLPermissions?) throws {
        let before = try usableHooks().hooks.gate
        untilReturn(.authorizer) { db in try db.setGate(before) }
        // An existing restriction may forbid looking up the tables.
        try setGate(.open)
        guard let access else { return }
        do { try setGate(.access(try policy(access))) } catch {
            try? setGate(before)
            throw error
        }
    }

    /// Runs `body` with restricted statements, and then restores the previous authorizer.
    /// - Throws: any error of `body`, and the errors of ``Settings/setPermissions(_:)``.
    @discardableResult
    public func withPermissions<R>(_ access: SQLPermissions, _ body: (Connection) throws -> R) throws -> R {
        let before = try usableHooks().hooks.gate
        try setAccess(access)
        defer { try? setGate(before) }
        return try body(self)
    }

    private func policy(_ access: SQLPermissions) throws -> AccessPolicy {
        guard let tables = access.tables else { return AccessPolicy(access, shadowTables: []) }
        let restricted = tables.filter { $0.value != .all }.keys.nameSet
        var shadowTables: Set<SQLName> = []
        for schema in try schemas() {
            shadowTables.formUnion(try schema.shadowTables())
            for table in try schema.objects(.virtual) where restricted.contains(SQLName(table)) {
                throw DatabaseError.invalidArgument("\(table) is a virtual table: list it with all columns, or not at all")
            }
        }
        return AccessPolicy(access, shadowTables: shadowTables)
    }
}

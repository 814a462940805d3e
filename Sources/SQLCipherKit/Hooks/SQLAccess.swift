import CSQLCipher

/// What untrusted SQL may do: read, and only what it is allowed to.
/// ```swift
/// var access = SQLAccess.readOnly
/// access.tables = ["note": .columns(["id", "title"]), "tag": .all]
/// access.functions = ["count", "max", "upper"]
/// let rows = try db.withAccess(access) { db in
///     try db.fetchAll(RowCopy.self, SQL(raw: textOfAStranger))
/// }
/// ```
/// Each column that a query refers to is checked once its names are resolved, those that `USING` and `NATURAL` join included, and
/// each table that the compiled statement opens, whatever SQL has led to it.
///
/// It decides what may be read, not what may be spent: for SQL that never ends set a progress handler, for results that are too
/// large set limits (``Connection/Settings/setLimit(_:to:)``), and for an untrusted file see ``ConnectionOption``.
public struct SQLAccess: Sendable {
    /// The columns of a table that may be read.
    public enum Columns: Hashable, Sendable {
        case all
        /// These, in any spelling of ASCII case. A row id counts as the column that is its alias, or as `rowid`.
        case columns(Set<String>)
    }

    /// The tables and views that may be read, in every database that is attached; nil for all, those of SQLite's own with the
    /// schema in them included.
    ///
    /// A view needs the tables that it reads to be listed too, and a full-text table with external content that table. A virtual
    /// table is listed with all columns or not at all. A table with an index on a hidden column, or on an expression, is read
    /// without its indexes: in their order its rows would tell about that column. One that is WITHOUT ROWID as well cannot be
    /// read. Row ids, and the key of a table WITHOUT ROWID,
    /// still decide about the order of rows.
    public var tables: [String: Columns]?
    /// The functions that may be called, `->`, `->>`, `LIKE`, `GLOB`, `REGEXP` and `MATCH` among them under these names in lower
    /// case; nil for all. Names are compared without regard to ASCII case. `json_each` and `json_tree` are functions as well;
    /// other table-valued functions, such as `pragma_table_info`, count as tables.
    public var functions: Set<String>?
    /// Whether a column that may not be read is NULL instead of an error. Default: an error.
    public var hidesColumns = false

    /// Any query, and nothing that writes, attaches, changes settings or transactions.
    public static let readOnly = SQLAccess()

    private init() {}
}

extension Connection {
    /// Restricts what statements may do from now on, or lifts the restriction; an authorizer that was set is replaced.
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/misuse`` inside of a hook, or
    ///   ``DatabaseError/Reason/invalidArgument`` if ``SQLAccess/tables`` has a virtual table with some columns only.
    public func setAccess(_ access: SQLAccess?) throws(DatabaseError) {
        let before = try usableHooks().hooks.gate
        untilReturn(.authorizer) { db in try db.setGate(before) }
        // A restriction that is there already may forbid to look the tables up.
        try setGate(.open)
        guard let access else { return }
        do throws(DatabaseError) { try setGate(.access(try policy(access))) } catch {
            try? setGate(before)
            throw error
        }
    }

    /// Runs `body` with what statements may do restricted, and goes back to the authorizer that was there before.
    /// - Throws: what `body` throws, and as ``setAccess(_:)``.
    @discardableResult
    public func withAccess<R>(_ access: SQLAccess, _ body: (Connection) throws -> R) throws -> R {
        let before = try usableHooks().hooks.gate
        try setAccess(access)
        defer { try? setGate(before) }
        return try body(self)
    }

    private func policy(_ access: SQLAccess) throws(DatabaseError) -> AccessPolicy {
        guard let tables = access.tables else { return AccessPolicy(access, shadowTables: []) }
        let restricted = tables.filter { $0.value != .all }.keys.nameSet
        var shadowTables: Set<SQLName> = []
        for schema in try schemas() {
            shadowTables.formUnion(try schema.shadowTables())
            for table in try schema.objects("m.type = 'virtual'") where restricted.contains(SQLName(table)) {
                throw .invalidArgument("\(table) is a virtual table: list it with all columns, or not at all")
            }
        }
        return AccessPolicy(access, shadowTables: shadowTables)
    }
}

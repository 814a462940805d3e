import CSQLCipher

/// Applies ``SQLPermissions`` for the authorizer: while a statement is compiled, and again for the tables that its program opens.
struct AccessPolicy {
    private let tables: [SQLName: Set<SQLName>?]?
    private let functions: Set<SQLName>?
    private let hidesColumns: Bool
    private let shadowTables: Set<SQLName>

    init(_ access: SQLPermissions, shadowTables: Set<SQLName>) {
        tables = access.tables.map { tables in
            Dictionary(
                tables.map { name, columns in
                    if case .columns(let names) = columns { (Self.key(name), names.nameSet) } else {
                        (Self.key(name), nil)
                    }
                }, uniquingKeysWith: { first, _ in first })
        }
        functions = access.functions?.nameSet
        hidesColumns = access.hidesColumns
        self.shadowTables = shadowTables
    }

    /// Returns SQLite's answer, `SQLITE_OK`, `SQLITE_DENY` or `SQLITE_IGNORE`. Unknown codes are denied.
    func decide(_ db: OpaquePointer, _ code: Int32, _ first: String, _ second: String, _ schema: UnsafePointer<CChar>?) -> Int32 {
        if code == SQLITE_READ { return read(db, Self.key(first), SQLName(second), schema) }
        let isAllowed =
            switch code {
            case SQLITE_SELECT, SQLITE_RECURSIVE: true
            case SQLITE_FUNCTION: allows(function: SQLName(second))
            // FTS5 itself runs this pragma while it answers a query; it reveals only that something was written.
            case SQLITE_PRAGMA: first.isSameName(as: "data_version")
            case SQLCIPHERKIT_OPENS_TABLE: allows(table: Self.key(first), db)
            case SQLCIPHERKIT_OPENS_VIRTUAL_TABLE: allows(virtual: Self.key(first), isFunction: schema == nil)
            case SQLCIPHERKIT_SORTS_BY: allows(order: SQLName(second), of: Self.key(first))
            default: false
            }
        return isAllowed ? SQLITE_OK : SQLITE_DENY
    }

    private func allows(function: SQLName) -> Bool { functions?.contains(function) ?? true }

    private func read(_ db: OpaquePointer, _ table: SQLName, _ column: SQLName, _ schema: UnsafePointer<CChar>?) -> Int32 {
        guard let tables else { return table == Self.statements ? SQLITE_DENY : SQLITE_OK }
        guard let columns = tables[table] else {
            return allows(table: table, db) || isPureFunction(table, db, schema) ? SQLITE_OK : SQLITE_DENY
        }
        guard let columns else { return SQLITE_OK }
        // A full-text index reveals every column, even if few are read.
        if sqlcipherkit_find_table(db, schema, table.text, nil).kind == SQLCIPHERKIT_VIRTUAL_TABLE { return SQLITE_DENY }
        // Without a column, only rows are counted.
        if column.text.isEmpty || columns.contains(column) { return SQLITE_OK }
        return hidesColumns ? SQLITE_IGNORE : SQLITE_DENY
    }

    /// The tables that hold the content of a virtual table may be read only by that table: they reveal more than it does, such as
    /// deleted rows.
    private func allows(table: SQLName, _ db: OpaquePointer) -> Bool {
        guard let tables, !tables.keys.contains(table) else { return true }
        // note_fts_data belongs to note_fts.
        guard shadowTables.contains(table), sqlcipherkit_is_inner(db) != 0, let owner = table.text.shadowOwner else { return false }
        return tables.keys.contains(SQLName(owner))
    }

    /// A virtual table is allowed as a whole or not at all.
    private func allows(virtual table: SQLName, isFunction: Bool) -> Bool {
        guard let tables else { return table != Self.statements }
        guard let columns = tables[table] else {
            return isFunction && Self.pureFunctions.contains(table) && allows(function: table)
        }
        return columns == nil
    }

    private func isPureFunction(_ table: SQLName, _ db: OpaquePointer, _ schema: UnsafePointer<CChar>?) -> Bool {
        Self.pureFunctions.contains(table) && allows(function: table)
            && sqlcipherkit_find_table(db, schema, table.text, nil).kind == SQLCIPHERKIT_NO_TABLE
    }

    /// Returns whether rows may be ordered by a column.
    private func allows(order column: SQLName, of table: SQLName) -> Bool {
        guard let tables, let columns = tables[table], let columns else { return true }
        return columns.contains(column)
    }

    /// A table's name, normalized: SQLite's own tables have two.
    private static func key(_ table: String) -> SQLName {
        let name = SQLName(table)
        return switch name {
        case "sqlite_master": "sqlite_schema"
        case "sqlite_temp_master": "sqlite_temp_schema"
        default: name
        }
    }

    /// The table of the connection's statements (<https://sqlite.org/stmt.html>), with the SQL that other code has run: no content
    /// of a database.
    private static let statements: SQLName = "sqlite_stmt"

    /// The table-valued functions that read nothing from a database.
    private static let pureFunctions: Set<SQLName> = ["json_each", "json_tree", "jsonb_each", "jsonb_tree"]
}

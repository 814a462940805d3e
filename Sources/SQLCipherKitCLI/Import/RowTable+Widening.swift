import SQLCipherKit

extension RowTable {
    /// Gives a column the type that holds its values and one more. SQLite cannot change a column's type, so the table is rebuilt
    /// with its rows, indexes and triggers.
    func widen(_ place: Int, by value: ImportValue) throws {
        let former = columns[place]
        let old = try db.main.table(name)?.sql
        let adopted = try db.main.primaryKey(of: name)
        if keyPlaces.isEmpty, ownKey == nil { try takeKey(adopted) }
        let isKey = adopted.contains { $0.sqlName == former.name.sqlName }
        let dependents = try db.fetchAll(
            String.self,
            """
            SELECT sql FROM sqlite_schema WHERE tbl_name = \(name) COLLATE NOCASE AND type <> 'table' AND sql IS NOT NULL
            """)
        // A full-text index refers to rows by an integer key.
        let isReferredTo = isKey && former.type == .integer && !dependents.isEmpty
        guard let old, old.bytes == definition(of: name).bytes, !isReferredTo else {
            throw Failure(
                "its value would change in the column \(former.name), which is \(former.type.rawValue): "
                    + "import it into another table, or make the column text")
        }
        let column = former.name.quotedSQLIdentifier
        var forms = try present(former)
        switch value {
        case .null: break
        case .field(let text): forms.formUnion(.of(field: text, strict: plan.isStrict))
        case .value(let value): forms.formUnion(.of(value))
        }
        columns[place].type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue)
        let names = try db.main.columns(of: name).map { $0.name.quotedSQLIdentifier }
        let values = names.map { $0 == column && columns[place].type == .text ? "CAST(\($0) AS TEXT)" : $0 }
        let other = "sqlcipherkit_import_wider"
        let quoted = name.quotedSQLIdentifier
        layout = nil
        // Rowids stay. References to the table stay as well: without the legacy setting, they would follow the renaming.
        let wasLegacy = try db.fetchOne(Int.self, "PRAGMA legacy_alter_table") ?? 0
        try db.execute("PRAGMA legacy_alter_table = ON")
        defer { try? db.execute(SQL(raw: "PRAGMA legacy_alter_table = \(wasLegacy)")) }
        try db.execute(SQL(raw: definition(of: other)))
        let into = names.joined(separator: ", ")
        let from = values.joined(separator: ", ")
        try db.execute(SQL(raw: "INSERT INTO \(other)(rowid, \(into)) SELECT rowid, \(from) FROM \(quoted)"))
        try db.execute(SQL(raw: "DROP TABLE \(quoted)"))
        try db.execute(SQL(raw: "ALTER TABLE \(other) RENAME TO \(quoted)"))
        for sql in dependents { try db.execute(SQL(raw: sql)) }
    }

    /// The forms of the values in a column.
    private func present(_ column: Column) throws -> ValueForms {
        let name = column.name.quotedSQLIdentifier
        func has(_ condition: String) throws -> Bool {
            let table = self.name.quotedSQLIdentifier
            return try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE \(condition))")) ?? false
        }
        guard try has("\(name) IS NOT NULL") else { return [] }
        switch column.type {
        case .text: return .text
        case .numeric where isByValue: return [.integer, .real, .reshaped, .long]
        case .any, .numeric: return column.type.forms
        case .integer: return .integer
        // How they were written is not known.
        case .real where isByValue: return [.real, .reshaped]
        case .real: return try has("\(name) = CAST(\(name) AS INTEGER)") ? [.real, .wholeReal] : .real
        }
    }
}

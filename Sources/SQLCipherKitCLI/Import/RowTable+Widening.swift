import SQLCipherKit

extension RowTable {
    /// Gives a column the type that holds its values and one more. SQLite cannot change a column's type, so the table is rebuilt
    /// with its rows, indexes and triggers.
    func widen(_ place: Int, by value: ValueForms) throws {
        let former = columns[place]
        let adopted = try db.main.primaryKey(of: name)
        if keyPlaces.isEmpty, ownKey == nil { try takeKey(adopted) }
        // A full-text index refers to rows by an integer key.
        let isReferredTo = try former.type == .integer && adopted.contains { $0.sqlName == former.name.sqlName }
            && !dependents().isEmpty
        guard try isAsMade(), !isReferredTo else {
            throw Failure(
                "its value would change in the column \(former.name), which is \(former.type.rawValue): "
                    + "import it into another table, or make the column text")
        }
        let forms = try present(former).union(value)
        try rebuild { columns[place].type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue) }
    }

    /// Makes the table again after a change of its columns or its key, with its rows.
    func rebuild(after change: () -> Void) throws {
        let dependents = try dependents(), former = columns.map(\.type)
        let rowID = try [db.main.rowIDName(of: name) ?? ownKey].compactMap(\.self)
        change()
        let names = columns.map { $0.name.quotedSQLIdentifier }
        let values = columns.indices.map { index in
            let isTextNow = columns[index].type == .text && former[index] != .text
            return isTextNow ? "CAST(\(names[index]) AS TEXT)" : names[index]
        }
        let other = "sqlcipherkit_import_wider"
        let quoted = name.quotedSQLIdentifier
        layout = nil
        // Rowids stay. References to the table stay as well: without the legacy setting, they would follow the renaming.
        let wasLegacy = try db.fetchOne(Int.self, "PRAGMA legacy_alter_table") ?? 0
        try db.execute("PRAGMA legacy_alter_table = ON")
        defer { try? db.execute(SQL(raw: "PRAGMA legacy_alter_table = \(wasLegacy)")) }
        try db.execute(SQL(raw: definition(of: other)))
        let into = (rowID + names).joined(separator: ", "), from = (rowID + values).joined(separator: ", ")
        try db.execute(SQL(raw: "INSERT INTO \(other)(\(into)) SELECT \(from) FROM \(quoted)"))
        try db.execute(SQL(raw: "DROP TABLE \(quoted)"))
        try db.execute(SQL(raw: "ALTER TABLE \(other) RENAME TO \(quoted)"))
        for sql in dependents { try db.execute(SQL(raw: sql)) }
    }

    /// The statements that make the table's indexes and triggers.
    private func dependents() throws -> [String] {
        try db.fetchAll(
            String.self,
            """
            SELECT sql FROM sqlite_schema WHERE tbl_name = \(name) COLLATE NOCASE AND type <> 'table' AND sql IS NOT NULL
            """)
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

import SQLCipherKitCore

/// Repairs rows that refer to a row that another peer has deleted. `ON DELETE SET NULL` sets the reference to NULL, as SQLite's own
/// action does. With any other action the row is deleted.
extension ChangeLogMerge {
    mutating func repairReferences(_ keys: inout ChangeLogReferences) throws {
        while true {
            if let (table, key) = keys.written.popLast() {
                for reference in table.references {
                    let condition = "\(table.keyCondition) AND \(Self.dangles(reference, table.quotedName))"
                    guard try hasRow(table.quotedName, condition, key) else { continue }
                    try repair(table, key, reference, &keys)
                }
            } else if let (table, values) = keys.former.popLast() {
                for reference in table.referrers { try repairReferrers(of: values, table, reference, &keys) }
            } else {
                return
            }
        }
    }

    /// The condition for a row of the child that refers to a missing row. `+` removes the affinity of the child's column, so that
    /// values are compared with that of the parent's column.
    private static func dangles(_ reference: LoggedTable.Reference, _ child: String) -> String {
        let pairs = zip(reference.columns, reference.parentColumns)
        let isSet = reference.columns.map { "\(child).\($0.quotedSQLIdentifier) IS NOT NULL" }.joined(separator: " AND ")
        let equal = pairs.map { "p.\($1.quotedSQLIdentifier) = +\(child).\($0.quotedSQLIdentifier)" }.joined(separator: " AND ")
        return "\(isSet) AND NOT EXISTS (SELECT 1 FROM main.\(reference.parent.quotedSQLIdentifier) AS p WHERE \(equal))"
    }

    private func hasRow(_ table: String, _ condition: String, _ values: [SQLValue]) throws(DatabaseError) -> Bool {
        try db.fetchOne(
            Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM main.\(table) WHERE \(condition))", StatementArguments(values)))
            ?? false
    }

    /// Repairs the rows that refer to a former row.
    private mutating func repairReferrers(
        of values: [SQLValue], _ parent: LoggedTable, _ reference: LoggedTable.Reference, _ keys: inout ChangeLogReferences
    ) throws {
        var wanted: [SQLValue] = []
        for column in reference.parentColumns {
            // A generated column is not among the values, so there is nothing to look for.
            guard let place = parent.columns.firstIndex(named: column), values[place] != .null else { return }
            wanted.append(values[place])
        }
        let child = reference.child.quotedSQLIdentifier
        let equal = reference.columns.enumerated().map { "\(child).\($1.quotedSQLIdentifier) = ?\($0 + 1)" }
        let condition = "\(equal.joined(separator: " AND ")) AND \(Self.dangles(reference, child))"
        guard let table = tables[reference.child] else {
            // The table is not logged, so neither is the repair.
            let list = reference.columns.map { "\($0.quotedSQLIdentifier) = NULL" }.joined(separator: ", ")
            let sql = reference.setsNull ? "UPDATE main.\(child) SET \(list)" : "DELETE FROM main.\(child)"
            return try db.execute(SQL(raw: "\(sql) WHERE \(condition)", StatementArguments(wanted)))
        }
        let names = table.key.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let rows = try db.fetchAll(
            RowCopy.self, SQL(raw: "SELECT \(names) FROM main.\(child) WHERE \(condition)", StatementArguments(wanted)))
        for row in rows { try repair(table, row.values, reference, &keys) }
    }

    private mutating func repair(
        _ table: LoggedTable, _ key: [SQLValue], _ reference: LoggedTable.Reference, _ keys: inout ChangeLogReferences
    ) throws {
        guard let old = try log.current(table, key)?.values else { return }
        // A row with NULL in its key cannot be logged.
        let isLogged = !key.contains(.null)
        keys.former.append((table, old))
        if reference.setsNull, try setNull(table, key, reference.columns) {
            if isLogged { try asserted(table, key, reference.columns) }
            return outcome.count(table.name) { $0.detached += 1 }
        }
        try delete(table, key)
        if isLogged { try deleted(table, key) }
    }

    /// - Returns: whether the columns were set: false if one belongs to the key or a constraint refuses NULL.
    private func setNull(_ table: LoggedTable, _ key: [SQLValue], _ columns: [String]) throws(DatabaseError) -> Bool {
        let list = columns.map { "\($0.quotedSQLIdentifier) = NULL" }.joined(separator: ", ")
        let keyNames = table.key.nameSet
        if columns.contains(where: { keyNames.contains(SQLName($0)) }) { return false }
        do throws(DatabaseError) {
            try db.execute(
                SQL(
                    raw: "UPDATE OR ABORT main.\(table.quotedName) SET \(list) WHERE \(table.keyCondition)",
                    StatementArguments(key)))
            return true
        } catch {
            if error.code.primary == .constraint { return false }
            throw error
        }
    }
}

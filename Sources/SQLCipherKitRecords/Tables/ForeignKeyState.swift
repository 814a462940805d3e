import SQLCipherKitCore

/// The foreign key violations at one time, for comparison with a later state.
///
/// Row ids and names of tables can change when a table is rebuilt. Violations are therefore identified by a key that is missing in
/// the parent, and the number of a table's rows that refer to it.
package struct ForeignKeyState {
    /// A key that rows of a table refer to and that is missing in the parent.
    struct Gap: Hashable {
        let table: SQLName, parent: SQLName
        let key: [ExactText]
    }

    private(set) var gaps: [Gap: [Schema.ForeignKeyViolation]] = [:]
    /// The tables with foreign keys that SQLite cannot check, for instance because a parent has no unique index, and SQLite's
    /// error.
    private(set) var unchecked: [SQLName: DatabaseError] = [:]
    private let tables: Set<SQLName>

    package init(of schema: Schema) throws {
        let names = try schema.objects(.table)
        tables = names.nameSet
        // Usually there are no violations.
        if let violations = try? schema.foreignKeyViolations(), violations.isEmpty { return }
        for table in names {
            do {
                let keys = Set(try schema.foreignKeyViolations(in: table).map(\.foreignKey))
                for key in keys.sorted() { try add(schema, table, key) }
            } catch let error as DatabaseError where error.code == .error {
                unchecked[SQLName(table)] = error
            }
        }
    }

    private static func order(_ a: Schema.ForeignKeyViolation, _ b: Schema.ForeignKeyViolation) -> Bool {
        (a.table, a.rowID ?? 0, a.foreignKey) < (b.table, b.rowID ?? 0, b.foreignKey)
    }

    /// Adds the rows of a table that violate one of its foreign keys, as SQLite's own check finds them, but with their values.
    private mutating func add(_ schema: Schema, _ table: String, _ foreignKey: Int) throws {
        let columns = try schema.foreignKeyColumns(of: table).filter { $0.id == foreignKey }.sorted { $0.sequence < $1.sequence }
        guard let parent = columns.first?.parent else { return }
        let primaryKey = try schema.primaryKey(of: parent)
        // `+` removes the child column's affinity, so that values are compared with the parent column's.
        let equal = columns.enumerated().map { index, column in
            let to = column.to ?? (index < primaryKey.count ? primaryKey[index] : "")
            return "p.\(to.quotedSQLIdentifier) = +c.\(column.from.quotedSQLIdentifier)"
        }.joined(separator: " AND ")
        let names = columns.map { "c.\($0.from.quotedSQLIdentifier)" }
        var condition = names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        if try schema.hasTable(parent) {
            condition += " AND NOT EXISTS (SELECT 1 FROM \(schema.qualified(parent)) AS p WHERE \(equal))"
        }
        let rowID = try schema.rowIDName(of: table).map { "c.\($0)" } ?? "NULL"
        let list = ([rowID] + names).joined(separator: ", ")
        let rows = try schema.connection.fetchAll(
            OwnedRow.self, SQL(raw: "SELECT \(list) FROM \(schema.qualified(table)) AS c WHERE \(condition) ORDER BY 1"))
        for row in rows {
            var id: Int64?
            if case .integer(let value) = row.values[0] { id = value }
            let key = row.values.dropFirst().map { ExactText(Self.text($0)) }
            let gap = Gap(table: SQLName(table), parent: SQLName(parent), key: key)
            gaps[gap, default: []].append(
                Schema.ForeignKeyViolation(table: table, rowID: id, parent: parent, foreignKey: foreignKey))
        }
    }

    /// A value as text, in the same form for any storage class.
    private static func text(_ value: SQLValue) -> String {
        switch value {
        case .null: ""
        case .integer(let number): "\(number)"
        case .real(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .text(let text): text
        case .blob(let bytes): "x'" + bytes.map { String($0, radix: 16) }.joined(separator: " ")
        }
    }
}

extension ForeignKeyState {
    /// The violations that did not exist before, and the violations that did, in order.
    package func compared(
        with before: ForeignKeyState
    ) -> (new: [Schema.ForeignKeyViolation], former: [Schema.ForeignKeyViolation]) {
        var known: [Gap: [Int64?]] = [:]
        for (gap, violations) in before.gaps {
            for table in before.names(of: gap.table, tables) {
                for parent in before.names(of: gap.parent, tables) {
                    known[Gap(table: table, parent: parent, key: gap.key), default: []] += violations.map(\.rowID)
                }
            }
        }
        var new: [Schema.ForeignKeyViolation] = [], old: [Schema.ForeignKeyViolation] = []
        for (gap, violations) in gaps {
            let same = Gap(table: name(gap.table, before), parent: name(gap.parent, before), key: gap.key)
            let former = known[same] ?? []
            // If row ids have changed, it is not known which of several rows with the same key violated it before.
            let ids = Set(former)
            let ordered = violations.filter { ids.contains($0.rowID) } + violations.filter { !ids.contains($0.rowID) }
            old += ordered.prefix(former.count)
            new += ordered.dropFirst(former.count)
        }
        return (new.sorted(by: Self.order), old.sorted(by: Self.order))
    }

    /// The first table with keys that could be checked before but no longer can.
    package func unchecked(since before: ForeignKeyState) -> (table: String, error: DatabaseError)? {
        let known = Set(before.unchecked.keys.flatMap { before.names(of: $0, tables) })
        return unchecked.filter { !known.contains(name($0.key, before)) }.map { ($0.key.text, $0.value) }.min { $0.0 < $1.0 }
    }

    /// Stands for any table that is not in both states: a new table may be an old table under a new name, or now hold its rows.
    private static let moved = SQLName("")

    private func name(_ table: SQLName, _ before: ForeignKeyState) -> SQLName {
        tables.contains(table) && !before.tables.contains(table) ? Self.moved : table
    }

    /// The names under which to look for a table of the earlier state.
    private func names(of table: SQLName, _ now: Set<SQLName>) -> [SQLName] {
        tables.contains(table) && !now.contains(table) ? [table, Self.moved] : [table]
    }
}

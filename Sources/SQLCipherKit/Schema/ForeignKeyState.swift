/// What broke foreign keys at one time, to be compared with a later one.
///
/// Row ids change where a table is rebuilt, and names of tables as well. So violations are told by what they refer to: a key that
/// the parent lacks, and the number of rows of a table that refer to it.
struct ForeignKeyState {
    /// A key that rows of a table refer to, and that the parent lacks.
    struct Gap: Hashable {
        let table: SQLName, parent: SQLName
        let key: [ExactText]
    }

    private(set) var gaps: [Gap: [ForeignKeyViolation]] = [:]
    /// The tables whose foreign keys SQLite cannot check, as a parent has no unique index for instance, and its error.
    private(set) var unchecked: [SQLName: DatabaseError] = [:]
    private let tables: Set<SQLName>

    init(of schema: Schema) throws {
        let names = try schema.objects("m.type = 'table'")
        tables = names.nameSet
        // Nothing is wrong, as a rule.
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

    private static func order(_ a: ForeignKeyViolation, _ b: ForeignKeyViolation) -> Bool {
        (a.table, a.rowID ?? 0, a.foreignKey) < (b.table, b.rowID ?? 0, b.foreignKey)
    }

    /// The rows of a table that break one of its foreign keys, as SQLite's own check finds them, but with their values.
    private mutating func add(_ schema: Schema, _ table: String, _ foreignKey: Int) throws {
        let columns = try schema.foreignKeys(of: table).filter { $0.id == foreignKey }.sorted { $0.sequence < $1.sequence }
        guard let parent = columns.first?.parent else { return }
        let primaryKey = try schema.primaryKey(of: parent)
        // Without its affinity, a value is compared as the parent's column has it.
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
            RowCopy.self, SQL(raw: "SELECT \(list) FROM \(schema.qualified(table)) AS c WHERE \(condition) ORDER BY 1"))
        for row in rows {
            var id: Int64?
            if case .integer(let value) = row.values[0] { id = value }
            let key = row.values.dropFirst().map { ExactText(Self.text($0)) }
            let gap = Gap(table: SQLName(table), parent: SQLName(parent), key: key)
            gaps[gap, default: []].append(
                ForeignKeyViolation(table: table, rowID: id, parent: parent, foreignKey: foreignKey))
        }
    }

    /// A value in the same form whatever type it is stored as.
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
    /// The violations that were not there before, and the others, in order.
    func compared(
        with before: ForeignKeyState
    ) -> (new: [ForeignKeyViolation], former: [ForeignKeyViolation]) {
        var known: [Gap: [Int64?]] = [:]
        for (gap, violations) in before.gaps {
            for table in before.names(of: gap.table, tables) {
                for parent in before.names(of: gap.parent, tables) {
                    known[Gap(table: table, parent: parent, key: gap.key), default: []] += violations.map(\.rowID)
                }
            }
        }
        var new: [ForeignKeyViolation] = [], old: [ForeignKeyViolation] = []
        for (gap, violations) in gaps {
            let same = Gap(table: name(gap.table, before), parent: name(gap.parent, before), key: gap.key)
            let former = known[same] ?? []
            // Which of several rows with the same key broke it before is not known if row ids have changed.
            let ids = Set(former)
            let ordered = violations.filter { ids.contains($0.rowID) } + violations.filter { !ids.contains($0.rowID) }
            old += ordered.prefix(former.count)
            new += ordered.dropFirst(former.count)
        }
        return (new.sorted(by: Self.order), old.sorted(by: Self.order))
    }

    /// The first table whose keys could be checked before.
    func unchecked(since before: ForeignKeyState) -> (table: String, error: DatabaseError)? {
        let known = Set(before.unchecked.keys.flatMap { before.names(of: $0, tables) })
        return unchecked.filter { !known.contains(name($0.key, before)) }.map { ($0.key.text, $0.value) }.min { $0.0 < $1.0 }
    }

    /// Stands for any table that is not in both states: one may be the other under a new name, or hold its rows now.
    private static let moved = SQLName("")

    private func name(_ table: SQLName, _ before: ForeignKeyState) -> SQLName {
        tables.contains(table) && !before.tables.contains(table) ? Self.moved : table
    }

    /// The names by which a table of the former state is looked for.
    private func names(of table: SQLName, _ now: Set<SQLName>) -> [SQLName] {
        tables.contains(table) && !now.contains(table) ? [table, Self.moved] : [table]
    }
}

import SQLCipherKit

/// Steps that write and read rows with SQL.
extension Sketch {
    mutating func dataStep() -> (any Step)? {
        guard let table = anyTable() else { return createTable() }
        let column = dice.pick(table.columns).quotedSQLIdentifier, call = call()
        let conflict = dice.oneIn(3) ? " OR " + dice.pick(["REPLACE", "IGNORE", "FAIL", "ROLLBACK", "ABORT"]) : ""
        switch dice.below(14) {
        case 0: return SQLStep(sql: "UPDATE\(conflict) \(table.quoted) SET \(column) = ?", values: [dice.value()], call: call)
        case 1: return SQLStep(
            sql: "UPDATE\(conflict) \(table.quoted) SET \(column) = ? WHERE \(table.columns[0].quotedSQLIdentifier) = ?",
            values: [dice.value(), .integer(Int64(dice.below(5)))], call: call)
        case 2: return SQLStep(sql: "DELETE FROM \(table.quoted) WHERE \(column) IS ?", values: [dice.value()], call: call)
        case 3: return SQLStep(sql: dice.pick(["DELETE FROM \(table.quoted)", "DELETE FROM \(table.quoted) WHERE rowid = 1 RETURNING *"]))
        case 4:
            return SQLStep(sql: "INSERT\(conflict) INTO \(table.quoted) SELECT * FROM \((anyTable() ?? table).quoted)", call: .execute)
        case 5:
            return SQLStep(
                sql: "INSERT INTO \(table.quoted)(\(column)) VALUES (:p1) ON CONFLICT DO UPDATE SET \(column) = :p2",
                values: [dice.value(), dice.value()], call: .named)
        case 6:
            return SQLStep(
                sql: "INSERT\(conflict) INTO \(table.quoted)(\(column)) VALUES (?), (?), (?)",
                values: [dice.value(), dice.value(), dice.value()], call: call)
        default:
            let columns = dice.oneIn(4) ? [dice.pick(table.columns)] : table.columns
            let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let values = columns.map { _ in dice.value() }.enumerated().map { index, value in
                columns[index] == "id" ? (dice.oneIn(6) ? value : dice.oneIn(2) ? .null : .integer(Int64(dice.below(9)))) : value
            }
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            let returning = dice.oneIn(5) ? " RETURNING \(dice.pick(["*", "rowid", names]))" : ""
            return SQLStep(
                sql: "INSERT\(conflict) INTO \(table.quoted)(\(names)) VALUES (\(marks))\(returning)", values: values, call: call)
        }
    }

    mutating func queryStep() -> (any Step)? {
        guard let table = anyTable() else { return createTable() }
        let column = dice.pick(table.columns).quotedSQLIdentifier, other = anyTable() ?? table
        let call = dice.pick([SQLStep.Call.forEach, .cursor, .prepared, .stepped, .interpolated, .fetchAll])
        switch dice.below(9) {
        case 0: return SQLStep(sql: "SELECT \(column), count(*) FROM \(table.quoted) GROUP BY 1 HAVING count(*) < ?", values: [3], call: call)
        case 1: return SQLStep(sql: "SELECT * FROM \(table.quoted) WHERE \(column) > ? ORDER BY \(column) DESC", values: [dice.value()], call: call)
        case 2: return SQLStep(sql: "SELECT x.*, y.* FROM \(table.quoted) x LEFT JOIN \(other.quoted) y ON x.\(column) = y.rowid", call: call)
        case 3: return SQLStep(sql: "SELECT \(column), row_number() OVER (ORDER BY \(column)) FROM \(table.quoted)", call: call)
        case 4: return SQLStep(sql: "SELECT ?, typeof(?), quote(?), length(?)", values: dice.same(4), call: call)
        case 5: return SQLStep(
            sql: "SELECT :p1 || :p2, hex(:p1), :p1 = :p2, :p1 IS :p2", values: [dice.value(), dice.value()], call: .named)
        case 6: return SQLStep(
            sql: "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i, i * 0.5 FROM n",
            values: [.integer(Int64(dice.below(7)))], call: call)
        case 7: return SQLStep(sql: "SELECT name, type, \"notnull\", pk, dflt_value FROM pragma_table_xinfo(?, ?)",
            values: [.text(table.name), .text(table.schema)], call: call)
        default: return SQLStep(sql: "SELECT group_concat(\(column), '|'), total(\(column)), max(\(column)), min(rowid) FROM \(table.quoted)", call: call)
        }
    }
}

extension Dice {
    /// One value several times.
    mutating func same(_ count: Int) -> [SQLValue] { Array(repeating: value(), count: count) }
}

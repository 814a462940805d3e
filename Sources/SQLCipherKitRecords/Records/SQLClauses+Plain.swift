import SQLCipherKitCore

extension SQLClauses {
    /// The statement that reads the records of one table by a condition alone, as most queries do: known to the connection if it
    /// differs from an earlier one in values only, and otherwise written in one go.
    func plainSelect(_ db: Connection, isFirst: Bool) -> SQL? {
        guard sides.count == 1, let positions = plainPositions, failure == nil, !isDistinct, groups.isEmpty, having == nil,
            orderings.isEmpty, limit == nil, offset == 0
        else { return nil }
        guard let filter else { return SQL(raw: positions.select + (isFirst ? " LIMIT 1" : "")) }
        if case .terms(let terms) = filter.fragment, terms.names === positions.identity {
            return SQL(raw: db.state(PlainQueries.self).text(positions, terms, isFirst: isFirst), terms.values)
        }
        let sql = filter.condition, condition = sql.text
        var text = ""
        text.reserveCapacity(positions.select.utf8.count + condition.utf8.count + 16)
        text += positions.select
        text += " WHERE "
        text += condition
        if isFirst { text += " LIMIT 1" }
        return SQL(raw: text, sql.arguments)
    }

    /// The columns of the first table if its statement names it by its own name alone.
    private var plainPositions: RecordPositions? {
        let side = sides[0]
        guard let positions = side.table.positions, side.table.schema == nil, side.query == nil,
            side.alias.isSameText(as: positions.table), side.table.name.isSameText(as: positions.table)
        else { return nil }
        return positions
    }
}

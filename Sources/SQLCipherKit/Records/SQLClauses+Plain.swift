extension SQLClauses {
    /// The statement that reads the records of one table by a condition alone, as most queries do: written in one go.
    func plainSelect() -> SQL? {
        guard sides.count == 1, let positions = sides[0].table.positions, failure == nil, !isDistinct, groups.isEmpty,
            having == nil, orderings.isEmpty, limit == nil, offset == 0, sides[0].table.schema == nil,
            sides[0].alias.isSameText(as: positions.table), sides[0].table.name.isSameText(as: positions.table)
        else { return nil }
        guard let filter else { return SQL(raw: positions.select + (isFirst ? " LIMIT 1" : "")) }
        let condition = filter.sql.text
        var text = ""
        text.reserveCapacity(positions.select.utf8.count + condition.utf8.count + 16)
        text += positions.select
        text += " WHERE "
        text += condition
        if isFirst { text += " LIMIT 1" }
        return SQL(raw: text, filter.sql.arguments)
    }
}

import SQLCipherKitCore

extension SQLClauses {
    /// The statement that reads the records of one table by a condition alone, as most queries do, written in one go.
    func plainSelect(isFirst: Bool) -> SQL? {
        guard let (_, select) = plainRecords else { return nil }
        guard let filter else { return SQL(raw: select + (isFirst ? " LIMIT 1" : "")) }
        let sql = filter.condition, condition = sql.text
        var text = ""
        text.reserveCapacity(select.utf8.count + condition.utf8.count + 16)
        text += select
        text += " WHERE "
        text += condition
        if isFirst { text += " LIMIT 1" }
        return SQL(raw: text, sql.arguments)
    }

    /// The same as a statement with its values, which is kept for the columns and comparisons of the condition.
    func plainStatement(_ db: Connection, isFirst: Bool) throws(DatabaseError) -> (Statement, StatementArguments)? {
        guard let filter, case .terms(let terms) = filter.fragment, let (names, _) = plainRecords, terms.names === names else {
            return nil
        }
        let key = StatementKey(PlainSelect.self, ObjectIdentifier(names), terms.code, text: isFirst ? "1" : "")
        if let known: PlainSelect = db.kept(key) { return (known.statement, terms.values) }
        guard let sql = plainSelect(isFirst: isFirst) else { return nil }
        let made = PlainSelect(try db.prepareKept(sql.text), names)
        db.keep(made.statement, made, key)
        return (made.statement, terms.values)
    }

    /// The names of the first table's columns, and the statement that reads all its records, if the query reads nothing else and
    /// the table has its own name alone.
    private var plainRecords: (RecordNames, String)? {
        guard sides.count == 1, common.isEmpty, failure == nil, !isDistinct, groups.isEmpty, having == nil, orderings.isEmpty,
            limit == nil, offset == 0
        else { return nil }
        let side = sides[0]
        let records = side.table.positions.map { ($0.identity, $0.select) } ?? side.table.plain.map { ($0.names, $0.select) }
        guard let records, side.table.schema == nil, side.query == nil, side.alias.isSameText(as: records.0.table),
            side.table.name.isSameText(as: records.0.table)
        else { return nil }
        return records
    }
}

/// The statement of a plain query. The names are kept with it, so that no other object has their identity.
private final class PlainSelect {
    let statement: Statement
    private let names: RecordNames

    init(_ statement: Statement, _ names: RecordNames) { (self.statement, self.names) = (statement, names) }
}

/// Statements in which terms over the content table's columns stand: an order, a facet.
///
/// They see the content table under no other name, and of the index only the row id and, as `search_rank`, the rank; otherwise a
/// column that both have would be ambiguous. Snippets are left to a second step, as SQLite would compute them for every match
/// before it sorts.
extension SearchRequest {
    /// Row id and rank of each hit, in order.
    func rankingStatement(_ db: Connection, simplified: Bool) throws(DatabaseError) -> SQL {
        var text: String
        var arguments: [(any SQLValueConvertible)?]
        if case .sql(let terms) = order {
            guard terms.arguments.named.isEmpty else { throw Self.namedArguments("an order") }
            let source = try matches(db, simplified: simplified)
            text = "SELECT \(source.rowID), search_rank FROM \(source.from) ORDER BY \(terms.text), 1"
            arguments = source.arguments + terms.arguments.positional
        } else {
            let condition = try condition(db, simplified: simplified, order: order)
            text = "SELECT f.rowid, f.rank FROM \(from)\(condition.text)"
            arguments = condition.arguments
        }
        if let limit {
            text += " LIMIT ?"
            arguments.append(max(0, limit))
        } else if offset > 0 {
            text += " LIMIT -1"
        }
        if offset > 0 {
            text += " OFFSET ?"
            arguments.append(offset)
        }
        return SQL(raw: text, StatementArguments(arguments))
    }

    /// The values of an expression and how many hits have each.
    func facetStatement(_ db: Connection, _ expression: SQL, simplified: Bool) throws(DatabaseError) -> SQL {
        guard expression.arguments.named.isEmpty else { throw Self.namedArguments("a facet") }
        let source = try matches(db, simplified: simplified)
        var text = "SELECT (\(expression.text)), count(*) FROM \(source.from) GROUP BY 1 ORDER BY 2 DESC, 1"
        var arguments = expression.arguments.positional + source.arguments
        if let limit {
            text += " LIMIT ?"
            arguments.append(max(0, limit))
        }
        return SQL(raw: text, StatementArguments(arguments))
    }

    /// The matches joined with the content.
    private func matches(
        _ db: Connection, simplified: Bool
    ) throws(DatabaseError) -> (from: String, rowID: String, arguments: [(any SQLValueConvertible)?]) {
        let condition = try condition(db, simplified: simplified, order: nil)
        let schema = try db.fullTextSchema(table, schema: schema)
        guard let content = schema.content else {
            // Its own content, or none: the columns are the full-text table's.
            let columns = schema.columns.map { "f.\($0.quotedSQLIdentifier)" }.joined(separator: ", ")
            let inner = "(SELECT f.rowid AS \"sqlcipherkit_row\", f.rank AS search_rank, \(columns) FROM \(from)\(condition.text))"
            return (inner, "\"sqlcipherkit_row\"", condition.arguments)
        }
        let rows = "\(schema.schema.quotedSQLIdentifier).\(content.table.quotedSQLIdentifier)"
        let inner = "(SELECT f.rowid AS \"sqlcipherkit_row\", f.rank AS search_rank FROM \(from)\(condition.text)) AS h"
        let outer = "(SELECT \(content.rowID) AS \"sqlcipherkit_id\", t.* FROM \(rows) AS t\(content.join))"
        return ("\(inner) JOIN \(outer) ON \"sqlcipherkit_id\" = h.\"sqlcipherkit_row\"", "h.\"sqlcipherkit_row\"", condition.arguments)
    }

    static func namedArguments(_ what: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .parameters, message: "the values of \(what) are interpolated or given by position")
    }
}

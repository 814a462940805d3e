import CSQLCipher

/// A row of `sqlite_schema` (<https://sqlite.org/schematab.html>): an object that a database claims to have.
///
/// An untrusted file may contain anything here. Code that executes the text must only get it through ``text()``.
package struct SchemaEntry {
    package let type: String
    package let name: String
    /// The table that an index or a trigger belongs to; otherwise the same as the name.
    package let table: String
    /// Whether it has no content of its own: virtual tables, views and triggers.
    package let isVirtual: Bool
    /// Nil for an index that belongs to a constraint.
    package let sql: String?

    package init(type: String, name: String, table: String, isVirtual: Bool, sql: String?) {
        (self.type, self.name, self.table, self.isVirtual, self.sql) = (type, name, table, isVirtual, sql)
    }

    /// The text, verified to be exactly one CREATE statement of this kind and name. Nil for an index that belongs to a constraint.
    /// - Throws: ``DatabaseError/Reason/schemaText``.
    package func text() throws(DatabaseError) -> SchemaText? {
        guard let sql else {
            if type == "index" { return nil }
            throw refusal("it has no text")
        }
        guard let kind = SchemaText.Kind(self) else { throw refusal("there is no such kind of object") }
        return try SchemaText(sql, kind, self)
    }

    /// The statement that creates the object.
    /// - Throws: the same errors as ``text()``, also for an index that belongs to a constraint.
    package func statement() throws(DatabaseError) -> SchemaText {
        guard let text = try text() else { throw refusal("it has no text") }
        return text
    }

    /// The tables without which a virtual table cannot be used: of an R-Tree (<https://sqlite.org/rtree.html>) and of a full-text
    /// index (<https://sqlite.org/fts5.html>). Empty for anything else.
    package var parts: [String] {
        guard type == "table", isVirtual, let module = (try? text())?.module else { return [] }
        return (Self.partsOfModules[module] ?? []).map { "\(name)_\($0)" }
    }

    private static let partsOfModules: [SQLName: [String]] = [
        SQLName("rtree"): ["node", "rowid", "parent"], SQLName("rtree_i32"): ["node", "rowid", "parent"],
        SQLName("geopoly"): ["node", "rowid", "parent"], SQLName("fts5"): ["data", "idx", "config"],
        SQLName("fts3"): ["segments", "segdir"], SQLName("fts4"): ["segments", "segdir"],
    ]

    package func refusal(_ what: String) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .schemaText, message: "the schema's text for the \(type) \(name) cannot be used: \(what)")
    }
}

extension Schema {
    /// The rows of `sqlite_schema` that match a condition, in order.
    package func entries(where condition: SQL = "1") throws(DatabaseError) -> [SchemaEntry] {
        let rows: [(String, String, String, Int?, String?)] = try connection.fetchAll(
            """
            SELECT type, name, tbl_name, rootpage, sql FROM \(raw: qualified("sqlite_schema")) WHERE \(condition) ORDER BY rowid
            """)
        return rows.map { SchemaEntry(type: $0.0, name: $0.1, table: $0.2, isVirtual: ($0.3 ?? 0) == 0, sql: $0.4) }
    }
}

extension String {
    /// Whether this is the name of a table that the engine keeps from SQL: a database's own record of who may open it.
    package var isKeptFromSQL: Bool { sqlcipherkit_is_slot_mark(self) != 0 }
}

import SQLCipherKitCore

/// The triggers that keep the index of external content in step with its table.
///
/// To remove an entry, FTS5 must be given the exact text that was indexed. The usual three triggers take that text from `old`. They
/// leave stale entries when `REPLACE` deletes a row without firing a trigger, and damage the index when another trigger of the
/// table writes to the same row.
/// The engine of this package fires the delete triggers below for `REPLACE` too, whatever `recursive_triggers` says
/// (`Engine/replaced_rows.h`). In addition, before a row may change, the triggers save its indexed text in the table
/// `<name>_replaced`. After the change, they remove the index entries of the saved rows that have changed or are gone, and index
/// the new text of the row. One invariant keeps this correct for any nesting of triggers and any conflict clause: the text saved
/// for a row is the text that the index has for it.
package struct ContentSync {
    let schema: Schema
    let table: FTS5Table
    let content: ContentTable

    private var prefix: String { schema.quotedName + "." }
    // Names in a trigger must not be qualified: its tables are those of its own schema.
    private var index: String { table.name.quotedSQLIdentifier }
    private var rows: String { content.name.quotedSQLIdentifier }
    private var replaced: String { (table.name + Suffix.replaced).quotedSQLIdentifier }
    private var keys: String { (table.name + Suffix.keys).quotedSQLIdentifier }
    private var columns: [String] { table.columns.map { $0.name.quotedSQLIdentifier } }
    private var columnList: String { columns.joined(separator: ", ") }

    package enum Suffix {
        package static let replaced = "_replaced"
        static let keys = "_keys"
        static let source = "_source"
        package static let triggers = [
            "_before_insert", "_after_insert", "_before_update", "_after_update", "_before_delete", "_after_delete",
        ]
    }

    /// The view that FTS5 reads, and its column with the row id. SQLite adapts the view when the content table or its columns are
    /// renamed. No column of a full-text table can be named `rowid`.
    var source: (table: String, rowID: String) { (table.name + Suffix.source, "rowid") }

    private var sourceTable: String { source.table.quotedSQLIdentifier }
    private var sourceRowID: String { "s." + source.rowID.quotedSQLIdentifier }

    // MARK: Tables

    /// The statements that create the tables and the view beside the full-text table.
    func companions() -> [String] {
        var statements = [
            // Columns without a type store each value unchanged.
            "CREATE TABLE \(prefix)\(replaced)(seq INTEGER PRIMARY KEY, id INTEGER UNIQUE, \(slots.joined(separator: ", ")))"
        ]
        if case .mapped(let key) = content.rowID {
            let columns = key.map { column in
                "\(column.column.quotedSQLIdentifier) \(column.type) COLLATE \(column.collation.quotedSQLIdentifier) NOT NULL"
            }
            let list = key.map(\.column.quotedSQLIdentifier).joined(separator: ", ")
            let known = key.map { "\($0.column.quotedSQLIdentifier) IS NOT NULL" }.joined(separator: " AND ")
            statements.append(
                "CREATE TABLE \(prefix)\(keys)(\(keyID) INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")), UNIQUE(\(list)))")
            // Every row of the content table gets an id in the table of keys.
            statements.append("INSERT INTO \(prefix)\(keys)(\(list)) SELECT \(list) FROM \(prefix)\(rows) WHERE \(known)")
        }
        let expressions = table.columns.map { column in
            let name = column.name.quotedSQLIdentifier
            return "\(column.expression.map { "(\($0))" } ?? "t.\(name)") AS \(name)"
        }
        var from = "\(rows) AS t"
        var id = ""
        switch content.rowID {
        case .integer(let column): id = "t.\(column.quotedSQLIdentifier)"
        case .mapped(let key):
            id = "k.\(keyID)"
            // The key's columns are renamed, because an expression that names one of them would be ambiguous.
            let renamed = key.enumerated().map { "\($1.column.quotedSQLIdentifier) AS \(keySlot($0))" }
            from = "(SELECT \(keyID), \(renamed.joined(separator: ", ")) FROM \(keys)) AS k JOIN \(rows) AS t ON "
                + key.enumerated().map { "k.\(keySlot($0)) = t.\($1.column.quotedSQLIdentifier)" }.joined(separator: " AND ")
        }
        statements.append(
            "CREATE VIEW \(prefix)\(sourceTable) AS SELECT \(id) AS \"rowid\", \(expressions.joined(separator: ", ")) FROM \(from)")
        return statements
    }

    /// Returns the content table's name from the text of the view, where it is the last name before ` AS t`.
    static func contentTable(inView sql: String) -> String? {
        let bytes = Array(sql.utf8), quote = UInt8(ascii: "\"")
        let mark = Array("\" AS t".utf8)
        guard bytes.count > mark.count,
            let end = (0...(bytes.count - mark.count)).last(where: { bytes[$0..<($0 + mark.count)].elementsEqual(mark) })
        else { return nil }
        var start = end - 1
        while start >= 0 {
            if bytes[start] != quote {
                start -= 1
            } else if start > 0, bytes[start - 1] == quote {
                start -= 2
            } else {
                let name = String(decoding: bytes[(start + 1)..<end], as: UTF8.self)
                return name.replacing("\"\"", with: "\"")
            }
        }
        return nil
    }

    private var slots: [String] { table.columns.indices.map { "c\($0)" } }
    private var keyID: String { "\"sqlcipherkit_id\"" }
    private func keySlot(_ index: Int) -> String { "\"sqlcipherkit_key\(index)\"" }

    // MARK: Triggers

    func triggers() -> [String] {
        [
            trigger("_before_insert", "BEFORE INSERT", prepare(conflicts(changed: nil))),
            trigger("_after_insert", "AFTER INSERT", registerKey + sweep(changed: id(of: "new")) + [add]),
            trigger("_before_update", "BEFORE UPDATE\(updateColumns)", prepare(conflicts(changed: "old"))),
            trigger("_after_update", "AFTER UPDATE\(updateColumns)", registerKey + sweep(changed: id(of: "new")) + [add]),
            trigger("_before_delete", "BEFORE DELETE", [capture([id(of: "old")])]),
            trigger("_after_delete", "AFTER DELETE", sweep(changed: nil)),
        ]
    }

    private func trigger(_ suffix: String, _ event: String, _ statements: [String]) -> String {
        let name = (table.name + suffix).quotedSQLIdentifier
        let body = statements.map { "  \($0);\n" }.joined()
        return "CREATE TRIGGER \(prefix)\(name) \(event) ON \(rows) BEGIN\n\(body)END"
    }

    /// Limits the update triggers to the columns that the index or a unique key uses, where these are known.
    private var updateColumns: String {
        var watched = table.columns.map(\.name)
        guard table.columns.allSatisfy({ $0.expression == nil }) else { return "" }
        switch content.rowID {
        case .integer(let column): watched.append(column)
        case .mapped(let key): watched += key.map(\.column)
        }
        watched += content.uniqueKeys.flatMap { $0.terms.compactMap(\.column) }
        let expressions = content.uniqueKeys.flatMap(\.expressions).joined(separator: " ").lowercased()
        watched += content.columns.filter { expressions.contains($0.lowercased()) }
        // Generated columns change without being named in an UPDATE.
        guard content.generated.isDisjoint(with: watched.nameSet) else { return "" }
        var seen: Set<SQLName> = []
        let list = watched.filter { seen.insert(SQLName($0)).inserted }.map(\.quotedSQLIdentifier)
        return " OF " + list.joined(separator: ", ")
    }

    /// An SQL expression for the row id of `new` or `old`.
    private func id(of row: String) -> String {
        switch content.rowID {
        case .integer(let column): return "\(row).\(column.quotedSQLIdentifier)"
        case .mapped(let key):
            let match = key.map { "k.\($0.column.quotedSQLIdentifier) = \(row).\($0.column.quotedSQLIdentifier)" }
            return "(SELECT k.\(keyID) FROM \(keys) AS k WHERE \(match.joined(separator: " AND ")))"
        }
    }

    /// Expressions for the ids of the rows that the statement may change or, with `OR REPLACE`, delete.
    /// The triggers for the unique indexes are for programs with another engine: this engine fires the delete triggers for each row
    /// that REPLACE deletes.
    private func conflicts(changed: String?) -> [String] {
        var selects = [id(of: "new")]
        if let changed { selects.append(id(of: changed)) }
        for key in content.uniqueKeys {
            switch content.rowID {
            case .integer(let column):
                selects.append("(SELECT \(rows).\(column.quotedSQLIdentifier) FROM \(rows) WHERE \(match(key)))")
            case .mapped(let primary):
                if key.isKey(primary.map(\.column)) { continue }
                let names = primary.enumerated().map { "\($1.column.quotedSQLIdentifier) AS \(keySlot($0))" }
                let join = primary.enumerated().map { "k.\($1.column.quotedSQLIdentifier) = t.\(keySlot($0))" }
                selects.append(
                    "(SELECT k.\(keyID) FROM (SELECT \(names.joined(separator: ", ")) FROM \(rows) WHERE \(match(key))) AS t"
                        + " JOIN \(keys) AS k ON \(join.joined(separator: " AND ")))")
            }
        }
        return selects
    }

    /// The condition that a row of the content table has the same unique key as `new`.
    private func match(_ key: ContentTable.UniqueKey) -> String {
        let terms = key.terms.map { term in
            let collation = "COLLATE \(term.collation.quotedSQLIdentifier)"
            if let column = term.column?.quotedSQLIdentifier { return "\(rows).\(column) = new.\(column) \(collation)" }
            // The expression may qualify columns with the table's name, so the subquery has that name.
            let values = content.columns.map(\.quotedSQLIdentifier).map { "new.\($0) AS \($0)" }.joined(separator: ", ")
            return "(\(term.expression)\n) = (SELECT \(term.expression)\n FROM (SELECT \(values)) AS \(rows)) \(collation)"
        }
        return (terms + (key.condition.map { ["(\($0)\n)"] } ?? [])).joined(separator: " AND ")
    }

    /// Saves the indexed text of rows, unless it is saved already.
    private func capture(_ ids: [String]) -> String {
        let values = columns.map { "s.\($0)" }.joined(separator: ", ")
        let indexed = table.storesColumnSizes ? " AND EXISTS (SELECT 1 FROM \(sizes) AS d WHERE d.id = \(sourceRowID))" : ""
        return "INSERT INTO \(replaced)(id, \(slots.joined(separator: ", "))) SELECT \(sourceRowID), \(values)"
            + " FROM \(sourceTable) AS s WHERE \(sourceRowID) IN (\(ids.joined(separator: ", ")))"
            + " AND NOT EXISTS (SELECT 1 FROM \(replaced) AS r WHERE r.id = \(sourceRowID))\(indexed)"
    }

    /// Saves the text of the rows that the statement may change.
    ///
    /// `OR IGNORE` leaves saved text behind, which is harmless but useless: all but the newest few are deleted here. The text that
    /// this statement needs is first moved to the end, so that statements nested in it by other triggers do not delete it. Saved
    /// text of rows that are gone is kept: the enclosing statement still has to remove their entries.
    private func prepare(_ ids: [String]) -> [String] {
        let last = "(SELECT max(seq) FROM \(replaced))"
        let exists = "EXISTS (SELECT 1 FROM \(sourceTable) AS s WHERE \(sourceRowID) = \(replaced).id)"
        return ids.map { "UPDATE \(replaced) SET seq = \(last) + 1 WHERE id = \($0) AND seq < \(last)" } + [
            capture(ids), "DELETE FROM \(replaced) WHERE seq <= \(last) - \(16 + content.uniqueKeys.count) AND \(exists)",
        ]
    }

    /// Removes the index entries of saved rows that have changed or are gone.
    private func sweep(changed: String?) -> [String] {
        // A DELETE in a trigger cannot give its table an alias.
        let gone = "NOT EXISTS (SELECT 1 FROM \(sourceTable) AS s WHERE \(sourceRowID) = \(replaced).id)"
        let condition = changed.map { "\(replaced).id = \($0) OR \(gone)" } ?? gone
        let values = slots.joined(separator: ", ")
        var statements = [
            "INSERT INTO \(index)(\(index), rowid, \(columnList))"
                + " SELECT 'delete', id, \(values) FROM \(replaced) WHERE \(condition)"
        ]
        if case .mapped = content.rowID {
            statements.append("DELETE FROM \(keys) WHERE \(keyID) IN (SELECT id FROM \(replaced) WHERE \(gone))")
        }
        statements.append("DELETE FROM \(replaced) WHERE \(condition)")
        return statements
    }

    private var registerKey: [String] {
        guard case .mapped(let key) = content.rowID else { return [] }
        let list = key.map(\.column.quotedSQLIdentifier).joined(separator: ", ")
        let values = key.map { "new.\($0.column.quotedSQLIdentifier)" }
        let known = values.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        return [
            "INSERT INTO \(keys)(\(list)) SELECT \(values.joined(separator: ", ")) WHERE \(known) AND \(id(of: "new")) IS NULL"
        ]
    }

    /// Indexes the row's current text, unless a nested statement has done so.
    private var add: String {
        let values = columns.map { "s.\($0)" }.joined(separator: ", ")
        let missing = table.storesColumnSizes ? " AND NOT EXISTS (SELECT 1 FROM \(sizes) AS d WHERE d.id = \(sourceRowID))" : ""
        return "INSERT INTO \(index)(rowid, \(columnList)) SELECT \(sourceRowID), \(values) FROM \(sourceTable) AS s"
            + " WHERE \(sourceRowID) = \(id(of: "new"))\(missing)"
    }

    /// FTS5's own table, which has a row for each entry of the index.
    private var sizes: String { "\(table.name)_docsize".quotedSQLIdentifier }
}

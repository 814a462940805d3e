import SQLCipherKit

/// Steps that change the schema.
extension Sketch {
    mutating func createTable() -> any Step {
        let schema = dice.oneIn(8) ? "temp" : dice.pick(schemas), name = dice.pick(Self.tableNames)
        var table = Table(schema: schema, name: name, columns: [])
        var parts: [String] = []
        let hasRowID = !dice.oneIn(7), isStrict = dice.oneIn(7)
        if dice.oneIn(3), hasRowID {
            table.columns = ["a"]
            parts = [isStrict ? "a ANY" : "a"]
        } else {
            table.columns = ["id"]
            parts = [hasRowID ? "id INTEGER PRIMARY KEY\(dice.oneIn(3) ? " AUTOINCREMENT" : "")" : "id INTEGER PRIMARY KEY"]
        }
        for column in ["b", "c", "d \"e"].prefix(dice.below(4)) {
            table.columns.append(column)
            let type = dice.pick(isStrict ? ["INTEGER", "REAL", "TEXT", "BLOB", "ANY"] : ["", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC"])
            let rule = dice.pick([
                "", "", "", "", "NOT NULL", "UNIQUE", "UNIQUE ON CONFLICT REPLACE", "DEFAULT 'it''s'", "DEFAULT 7", "COLLATE NOCASE",
                "CHECK (\(column.quotedSQLIdentifier) <> 0)", "NOT NULL ON CONFLICT ROLLBACK", "NOT NULL DEFAULT x'00'",
            ])
            parts.append("\(column.quotedSQLIdentifier) \(type) \(rule)")
        }
        if dice.oneIn(8) { parts.append("g AS (typeof(\(table.columns.last!.quotedSQLIdentifier))) \(dice.pick(["VIRTUAL", "STORED"]))") }
        if dice.oneIn(6), let parent = tables.last(where: { $0.schema == schema && $0.columns[0] == "id" }) {
            let column = table.columns.last!.quotedSQLIdentifier
            parts.append("FOREIGN KEY (\(column)) REFERENCES \(parent.name.quotedSQLIdentifier)(id) "
                + dice.pick(["", "ON DELETE CASCADE", "ON DELETE SET NULL", "DEFERRABLE INITIALLY DEFERRED"]))
        }
        let options = (hasRowID ? [] : ["WITHOUT ROWID"]) + (isStrict ? ["STRICT"] : [])
        tables.removeAll { $0.schema == schema && $0.name == name }
        tables.append(table)
        return SQLStep(
            sql: "CREATE TABLE \(dice.oneIn(5) ? "IF NOT EXISTS " : "")\(table.quoted)(\(parts.joined(separator: ", "))) "
                + options.joined(separator: ", "), call: dice.pick([.execute, .script, .forEach]))
    }

    mutating func schemaStep() -> (any Step)? {
        guard let table = anyTable() else { return createTable() }
        let schema = table.schema.quotedSQLIdentifier, name = table.name.quotedSQLIdentifier
        let column = dice.pick(table.columns).quotedSQLIdentifier, number = count("object")
        let sql: String
        switch dice.below(11) {
        case 0, 1: return createTable()
        case 2: sql = "CREATE \(dice.oneIn(3) ? "UNIQUE " : "")INDEX \(schema).\"i \(number)\" ON \(name)(\(column)\(dice.pick(["", " DESC", " COLLATE NOCASE"])))"
        case 3: sql = "CREATE INDEX \(schema).i\(number) ON \(name)(length(\(column))) WHERE \(column) IS NOT NULL"
        case 4:
            let event = dice.pick(["AFTER INSERT", "BEFORE INSERT", "AFTER DELETE", "AFTER UPDATE"])
            let row = event.contains("DELETE") ? "OLD" : "NEW"
            let action = dice.oneIn(2)
                ? "SELECT RAISE(\(dice.pick(["ABORT", "FAIL", "ROLLBACK"])), 'no') WHERE \(row).\(column) = 'b';"
                : "UPDATE \(name) SET \(column) = 1 WHERE \(column) = 3;"
            sql = "CREATE TRIGGER \(schema).r\(number) \(event) ON \(name) BEGIN \(action) END"
        case 5:
            // Not double quotes, which are a string where the column is gone.
            sql = "CREATE VIEW \(schema).v\(number) AS SELECT count(*) AS n, max([\(dice.pick(table.columns))]) AS m FROM \(name)"
        case 6: sql = "ALTER TABLE \(table.quoted) ADD COLUMN n\(number) \(dice.pick(["", "TEXT", "INTEGER DEFAULT 5"]))"
        case 7:
            let other = dice.pick(Self.tableNames)
            sql = "ALTER TABLE \(table.quoted) RENAME TO \(other.quotedSQLIdentifier)"
            if let index = tables.firstIndex(where: { $0.schema == table.schema && $0.name == table.name }) { tables[index].name = other }
        case 8: sql = "DROP TABLE \(table.quoted)"
        case 9: sql = "ALTER TABLE \(table.quoted) DROP COLUMN \(column)"
        default: sql = dice.pick([
            "REINDEX", "ANALYZE \(schema)", "PRAGMA \(schema).user_version = \(dice.below(100))", "PRAGMA \(schema).application_id = -5",
            "DROP INDEX IF EXISTS \(schema).\"i 1\"", "PRAGMA defer_foreign_keys = ON", "PRAGMA recursive_triggers = ON",
        ])
        }
        return SQLStep(sql: sql, call: dice.pick([.execute, .script, .prepared]))
    }
}

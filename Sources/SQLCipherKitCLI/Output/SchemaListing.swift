import SQLCipherKit

/// The contents of a connection's databases, for `schema` and for the shell.
enum SchemaListing {
    /// The names of the tables and views, with the database's name before those of attached databases. What belongs to virtual
    /// tables, to full-text indexes and to this tool is left out.
    /// - Parameter pattern: the pattern, as in LIKE, that a name must match; nil for all names.
    static func tables(_ db: Connection, like pattern: String? = nil) throws -> [String] {
        let rows: [(String, String)] = try db.fetchAll(
            """
            SELECT schema, name FROM pragma_table_list AS t
            WHERE type <> 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            AND name NOT LIKE 'sqlcipherkit\\_%' ESCAPE '\\' AND NOT EXISTS (
                SELECT 1 FROM pragma_table_list AS v
                WHERE v.schema = t.schema AND v.type = 'virtual'
                AND t.name IN (v.name || '_replaced', v.name || '_keys', v.name || '_source'))
            AND name LIKE \(pattern ?? "%")
            ORDER BY schema <> 'main', schema, name
            """)
        return rows.map { schema, name in schema == "main" ? name : "\(schema).\(name)" }
    }

    /// The names of the indexes of all tables, or of one, with the database's name before those of attached databases.
    static func indexes(_ db: Connection, of table: String? = nil) throws -> [String] {
        try db.schemas().flatMap { schema in
            let names = try db.fetchAll(
                String.self,
                """
                SELECT name FROM \(identifier: schema.name).sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
                AND tbl_name LIKE \(table ?? "%") ORDER BY name
                """)
            return names.map { schema.name == "main" ? $0 : "\(schema.name).\($0)" }
        }
    }

    /// A table, index, view or trigger, and the SQL that would make it again.
    struct Part {
        let database: String, type: String, name: String, table: String, sql: String

        /// The SQL as a statement, after a comment that names the database unless it is the main one.
        var statement: String { (database == "main" ? "" : "-- in \(database.onOneLine)\n") + sql + ";" }
    }

    /// The tables, indexes, views and triggers.
    /// - Parameter names: which of them; all if empty. A table's name includes its indexes and triggers.
    static func parts(_ db: Connection, _ names: [String] = []) throws -> [Part] {
        var parts: [Part] = []
        var missing = Set(names)
        for schema in try db.schemas().map(\.name) {
            let rows: [(String, String, String, String)] = try db.fetchAll(
                """
                SELECT type, name, tbl_name, sql FROM \(identifier: schema).sqlite_schema
                WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                AND tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE schema = \(schema) AND type = 'shadow')
                ORDER BY rowid
                """)
            for (type, name, table, sql) in rows {
                let found = names.filter { wanted in
                    let prefix = (schema + ".").sqlName
                    let bare = wanted.sqlName.starts(with: prefix) ? Array(wanted.sqlName.dropFirst(prefix.count)) : wanted.sqlName
                    return [name.sqlName, table.sqlName].contains(bare)
                }
                missing.subtract(found)
                if names.isEmpty || !found.isEmpty {
                    parts.append(Part(database: schema, type: type, name: name, table: table, sql: sql))
                }
            }
        }
        if let name = missing.sorted().first {
            throw Failure("there is no table, index, view or trigger \(name): sqlcipherkit schema without a name shows all")
        }
        return parts
    }
}

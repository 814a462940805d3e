import SQLCipherKit

/// The names that a connection knows. Each access reads them again, so that they are current.
struct SchemaWords {
    let db: Connection

    var schemas: [String] { (try? db.schemas().map(\.name)) ?? [] }

    /// Tables and views, of one schema or of all.
    func tables(in schema: String? = nil) -> [String] {
        strings(
            """
            SELECT DISTINCT name FROM pragma_table_list
            WHERE type <> 'shadow' AND \(schema ?? "") IN ('', schema) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """)
    }

    /// Returns the columns of every table and view.
    func columns() -> [String] {
        strings(
            """
            SELECT DISTINCT c.name FROM pragma_table_list AS t, pragma_table_xinfo(t.name, t.schema) AS c
            WHERE t.type <> 'shadow' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.hidden <> 1 ORDER BY 1
            """)
    }

    func columns(of table: String) -> [String] {
        strings("SELECT name FROM pragma_table_xinfo(\(table)) WHERE hidden <> 1 ORDER BY cid")
    }

    var functions: [String] {
        strings("SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*' ORDER BY name")
    }

    var pragmas: [String] { strings("SELECT name FROM pragma_pragma_list ORDER BY name") }

    var collations: [String] { strings("SELECT name FROM pragma_collation_list ORDER BY name") }

    private func strings(_ sql: SQL) -> [String] { (try? db.fetchAll(String.self, sql)) ?? [] }
}

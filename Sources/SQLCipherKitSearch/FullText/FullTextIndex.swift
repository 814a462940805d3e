import SQLCipherKitCore

/// A full-text table (FTS5) of a database.
///
/// ```swift
/// let notes = try db.fullText("note_fts")
/// for hit in try notes.search(field.text, limit: 20).hits {
///     print(hit.rowID, hit.score, hit.snippet ?? "")
/// }
/// ```
/// A `FullTextIndex` is only a handle: a connection's database and the table's name. Use it on the connection's thread. If the
/// table has been dropped or its database detached, each call throws.
public struct FullTextIndex {
    /// The database that the table is in.
    public let schema: Schema
    /// The table's name.
    public let name: String
    /// Whether the table's declaration has the option `detail`, so that it may have no positions. Each search then reads the
    /// declaration again.
    let declaresDetail: Bool

    /// The connection that the index belongs to.
    public var connection: Connection { schema.connection }

    /// Returns the names of the table's columns, in order.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func columns() throws(DatabaseError) -> [String] {
        // The hidden columns are the one named like the table, and `rank`.
        let columns = try connection.fetchAll(
            String.self, "SELECT name FROM pragma_table_xinfo(\(name), \(schema.name)) WHERE hidden = 0 ORDER BY cid")
        guard !columns.isEmpty else { throw schema.noFullText(name) }
        return columns
    }

    package var qualifiedName: String { schema.qualified(name) }

    /// The name of a table or view that belongs to the index, qualified and quoted for SQL.
    func companion(_ suffix: String) -> String { schema.qualified(name + suffix) }
}

extension Schema {
    /// Returns the full-text table with a name, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is none of that name; ``DatabaseError/Reason/schemaName`` if the
    ///   database is detached.
    public func fullText(_ table: String) throws(DatabaseError) -> FullTextIndex {
        guard let index = try fullTextIndexes(where: "name = \(table) COLLATE NOCASE").first else { throw noFullText(table) }
        return index
    }

    /// Returns the full-text tables (FTS5) of the database, sorted by name.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is detached.
    public func fullTextIndexes() throws(DatabaseError) -> [FullTextIndex] { try fullTextIndexes(where: "1") }

    func hasFullText(_ table: String) throws(DatabaseError) -> Bool {
        try !fullTextIndexes(where: "name = \(table) COLLATE NOCASE").isEmpty
    }

    func noFullText(_ table: String) -> DatabaseError { .invalidArgument("there is no full-text table \(name).\(table)") }

    private func fullTextIndexes(where condition: SQL) throws(DatabaseError) -> [FullTextIndex] {
        try live()
        let objects = qualified("sqlite_schema")
        let tables: [(String, Bool)] = try connection.fetchAll(
            """
            SELECT name, sql LIKE '%detail%' FROM \(raw: objects) AS t
            WHERE type = 'table' AND \(condition) AND sql LIKE 'CREATE VIRTUAL TABLE%USING%fts5%' AND sql NOT LIKE '%fts5vocab%'
            AND EXISTS (SELECT 1 FROM \(raw: objects) AS d WHERE d.name = t.name || '_data') ORDER BY name
            """)
        return tables.map { FullTextIndex(schema: self, name: $0.0, declaresDetail: $0.1) }
    }
}

extension Connection {
    /// Returns the full-text table with a name in the main database, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is none of that name.
    public func fullText(_ table: String) throws(DatabaseError) -> FullTextIndex { try main.fullText(table) }
}

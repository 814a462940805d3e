import CSQLCipher

/// Answers questions about a database's tables for the rest of the library. Nothing else in the library queries SQLite for these.
extension Schema {
    package struct TableForm {
        /// The name as the database spells it.
        package let name: String
        package let kind: Table.Kind
        package let isWithoutRowID: Bool
        package let isStrict: Bool
    }

    /// The kind of a table; nil if there is no table, view or virtual table of that name.
    package func form(of table: String) throws -> TableForm? { try forms(table).first }

    /// The names of the objects of some kinds, in the order of their bytes.
    package func objects(_ kinds: Table.Kind...) throws -> [String] {
        try forms().filter { kinds.contains($0.kind) }.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The tables, views and virtual tables; with a name, the one of that name.
    ///
    /// The pragma reads this database alone. The function `pragma_table_list` takes no database: it would lock every attached file
    /// for reading, wait for their writers, and in a transaction keep those locks until the end.
    func forms(_ table: String? = nil) throws -> [TableForm] {
        let rows: [(String, String, Table.Kind, Int, Bool, Bool)] = try rows("table_list", table)
        return rows.map { TableForm(name: $0.1, kind: $0.2, isWithoutRowID: $0.4, isStrict: $0.5) }
    }

    /// The tables in which virtual tables keep their content.
    package func shadowTables() throws -> Set<SQLName> { try objects(.shadow).nameSet }

    /// The ordinary columns of a table, neither generated nor hidden, in order.
    package func storedColumns(of table: String) throws -> [String] {
        try columns(of: table).filter { $0.kind == .normal }.map(\.name)
    }

    /// A name for the row id of a table, `rowid`, `_rowid_` or `oid`; nil for a table without row ids, or if columns hide all three
    /// names (<https://sqlite.org/lang_createtable.html#rowid>).
    package func rowIDName(of table: String) throws -> String? {
        guard let form = try form(of: table), !form.isWithoutRowID else { return nil }
        let taken = try columns(of: table).map(\.name).nameSet
        return ["rowid", "_rowid_", "oid"].first { !taken.contains(SQLName($0)) }
    }

    /// Returns whether the database has a table, index, trigger or view of a name, including SQLite's own tables.
    package func has(_ object: String) throws -> Bool {
        try live()
        return try connection.fetchOne(
            Bool.self,
            "SELECT EXISTS (SELECT 1 FROM \(raw: qualified("sqlite_schema")) WHERE name = \(object) COLLATE NOCASE)") ?? false
    }

    /// The unique indexes of a table and their origins.
    package func uniqueIndexes(of table: String) throws -> [(name: String, origin: Index.Origin)] {
        try live()
        let rows: [(String, Index.Origin)] = try connection.fetchAll(
            """
            SELECT name, origin FROM pragma_index_list(\(table.cName("the name of a table")), \(name))
            WHERE "unique" ORDER BY seq
            """)
        return rows.map { (name: $0.0, origin: $0.1) }
    }

    /// The columns that an index sorts by, with their collations, but without expressions and the row id.
    package func keyColumns(ofIndex index: String) throws -> [(column: String, collation: String)] {
        try live()
        let terms: [(String?, String)] = try connection.fetchAll(
            "SELECT name, coll FROM pragma_index_xinfo(\(index), \(name)) WHERE \"key\" ORDER BY seqno")
        return terms.compactMap { term in term.0.map { (column: $0, collation: term.1) } }
    }

    /// The columns of the foreign keys of a table.
    package func foreignKeyColumns(of table: String) throws -> [ForeignKeyColumn] {
        let rows: [(Int, Int, String, String, String?, String, String)] = try rows("foreign_key_list", table)
        return rows.map { $0 }
    }

    /// The rows of a pragma that returns a table.
    func rows<A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible>(
        _ pragma: String, _ argument: String?
    ) throws -> [(A, B, repeat each T)] {
        try live()
        let argument = try argument?.cName("the name of a table").quotedSQLLiteral
        let text = "PRAGMA \(quotedName).\(pragma)" + (argument.map { "(\($0))" } ?? "")
        return try connection.prepare(SQL(raw: text)).fetchAll()
    }
}

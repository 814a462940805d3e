import SQLCipherKitCore

/// Tables whose columns have all three names of the row id, so that no SQL names it.
struct HiddenRowIDs {
    private let tables: [(name: String, column: String)]
    private let copy: Connection

    /// - Parameters:
    ///   - names: the tables to look at.
    ///   - copy: a new database, which has them.
    init(_ names: [String], _ copy: Connection) throws {
        self.copy = copy
        tables = try names.compactMap { table in
            let hasRowIDs = try copy.main.form(of: table)?.isWithoutRowID == false
            guard hasRowIDs, try copy.main.rowIDName(of: table) == nil else { return nil }
            let column = try copy.main.columns(of: table).first { SQLName($0.name) == SQLName("oid") }
            return column.map { (table, $0.name) }
        }
    }

    func contains(_ table: String) -> Bool { tables.contains { $0.name == table } }

    /// Meanwhile `oid` is the row id, and the column has another name. The schema's texts are as before afterwards.
    func whileNamed(_ body: () throws -> Void) throws {
        let texts: [(Int64, String)] = try tables.flatMap { table, _ in
            try copy.fetchAll("SELECT rowid, sql FROM sqlite_schema WHERE tbl_name = \(table) COLLATE NOCASE AND sql IS NOT NULL")
        }
        func rename(_ table: String, _ from: String, _ to: String) throws {
            let names = [from, to].map(\.quotedSQLIdentifier).joined(separator: " TO ")
            try copy.execute(SQL(raw: "ALTER TABLE \(copy.main.qualified(table)) RENAME COLUMN \(names)"))
        }
        for (table, column) in tables { try rename(table, column, Self.name) }
        try body()
        for (table, column) in tables { try rename(table, Self.name, column) }
        for (id, text) in texts { try copy.execute("UPDATE sqlite_schema SET sql = \(text) WHERE rowid = \(id)") }
    }

    private static let name = "sqlcipherkit hidden"
}

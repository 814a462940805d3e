import CSQLCipher
import SQLCipherKit

/// The content of every database that is attached, in both worlds.
enum Contents {
    /// Compares the schemas' texts, every table and every view, row by row in the order in which SQLite reads them, and the
    /// settings that files have.
    static func compare(_ world: World) throws {
        let names = "SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq"
        try compare(names, world.db, world.reference)
        for schema in ["main", "temp"] + world.attached.map(\.name) { try compare(schema: schema, world.db, world.reference) }
    }

    /// - Parameter comparesJournal: whether both have the same journal mode; a copy may have another.
    static func compare(schema: String, _ db: Connection, _ reference: Reference, comparesJournal: Bool = true) throws {
        let quoted = schema.quotedSQLIdentifier
        // A rewrite puts tables before what belongs to them, and drops the sequences if there is none. The package keeps a table of
        // the words of an index in temp.
        let list = """
            SELECT type, name, tbl_name, sql FROM \(quoted).sqlite_schema \
            WHERE name <> 'sqlite_sequence' AND tbl_name NOT LIKE 'sqlcipherkit%' ORDER BY 1, 2
            """
        let objects = try compare(list, db, reference)
        for object in objects {
            guard case .text(let type) = object[0], case .text(let name) = object[1], type == "table" || type == "view" else { continue }
            let sql = if case .text(let sql) = object[3] { sql } else { "" }
            // The counts of ANALYZE depend on the order of the tables.
            if sql.hasPrefix("CREATE VIRTUAL") || isShadow(name) || name.hasPrefix("sqlite_stat") { continue }
            if name == "jdoc" {
                // The same document may have several forms in JSONB.
                try compare("SELECT id, typeof(doc), json(doc) FROM \(quoted).jdoc", db, reference)
                continue
            }
            // Of a view, only that it can be read.
            let hasRowID = type == "table" && !sql.contains("WITHOUT ROWID")
            try compare("SELECT \(hasRowID ? "rowid, " : "")* FROM \(quoted).\(name.quotedSQLIdentifier)", db, reference)
        }
        try compareSequences(quoted, db, reference)
        if schema != "temp" {
            for pragma in ["user_version", "application_id"] + (comparesJournal ? ["journal_mode"] : []) { try compare("PRAGMA \(quoted).\(pragma)", db, reference) }
        }
    }

    private static func compareSequences(_ schema: String, _ db: Connection, _ reference: Reference) throws {
        let sql = "SELECT name, seq FROM \(schema).sqlite_sequence ORDER BY 1"
        let expected = reference.run(sql)
        let found = try Outcome.of { .rows(try rows(db, SQL(raw: sql))) }
        let none = Outcome.rows([])
        if (expected.isError ? none : expected) != (found.isError ? none : found) {
            throw Mismatch(description: "\(sql)\n    expected \(expected)\n    found    \(found)")
        }
    }

    /// Tables of full-text indexes, whose bytes depend on when they were merged.
    static func isShadow(_ name: String) -> Bool {
        ["_data", "_idx", "_content", "_docsize", "_config"].contains { name.hasSuffix($0) }
    }

    @discardableResult
    static func compare(_ sql: String, _ db: Connection, _ reference: Reference) throws -> [[SQLValue]] {
        let expected = reference.run(sql)
        let found = try Outcome.of { .rows(try rows(db, SQL(raw: sql))) }
        guard expected.agrees(with: found) else {
            throw Mismatch(description: "\(sql)\n    expected \(expected)\n    found    \(found)")
        }
        if case .rows(let rows) = expected { return rows }
        return []
    }

    /// All rows of a query of the package.
    static func rows(_ db: Connection, _ sql: SQL, _ arguments: StatementArguments = []) throws -> [[SQLValue]] {
        var rows: [[SQLValue]] = []
        try db.forEach(sql, arguments) { row in
            var values: [SQLValue] = []
            for index in 0..<row.count { values.append(try row[index]) }
            rows.append(values)
        }
        return rows
    }
}

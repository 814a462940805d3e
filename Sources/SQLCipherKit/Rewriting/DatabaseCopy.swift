import CSQLCipher

/// Copies a whole database into an empty one of another connection, object by object, as `VACUUM` does
/// (<https://sqlite.org/lang_vacuum.html>).
///
/// SQLCipher's own `sqlcipher_export` loses the row ids of tables without an integer primary key, which full-text tables with
/// external content and much else go by; and it works within one connection, whose hooks and authorizer would see the copy.
struct DatabaseCopy {
    private let source: Connection
    private let schema: String
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(_ source: Connection, _ schema: String, _ copy: Connection, _ reporter: RewriteReporter?) {
        self.source = source
        self.schema = schema.quotedSQLIdentifier
        self.copy = copy
        self.reporter = reporter
    }

    func run() throws {
        // An existing row is right whatever the checks say by now, names that begin with sqlite_ are allowed, and so are
        // strings in double quotes, which a schema may have from an engine that took them.
        for pragma in ["foreign_keys = OFF", "ignore_check_constraints = ON", "writable_schema = ON"] {
            try copy.execute(SQL(raw: "PRAGMA \(pragma)"))
        }
        var now: Int32 = 0
        for option in [SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML] {
            try copy.check(sqlcipherkit_db_config(copy.live(), option, 1, &now))
        }
        try reporter?.report(0)
        try copy.begin()
        try copyTables()
        for sql in try source.fetchAll(
            String.self, SQL(raw: "SELECT sql FROM \(schema).sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"))
        {
            try copy.execute(SQL(raw: sql))
            try reportPages()
        }
        if try source.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(schema).sqlite_schema WHERE name = 'sqlite_sequence'")) == 1 {
            // Made by the first table that has AUTOINCREMENT, and filled by the rows that went into it. A file without such a
            // table any more still has the sequence's own.
            if try copy.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'") == 0 {
                try copy.execute(SQLScript("CREATE TABLE sequence_maker(id INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE sequence_maker"))
            }
            try copy.execute("DELETE FROM sqlite_sequence")
            try copyRows(of: "sqlite_sequence")
        }
        try copyTextOnly()
        for pragma in ["user_version", "application_id"] {
            let value = try source.fetchOne(Int.self, SQL(raw: "PRAGMA \(schema).\(pragma)")) ?? 0
            try copy.execute(SQL(raw: "PRAGMA \(pragma) = \(value)"))
        }
        try copy.commit()
    }

    private func copyTables() throws {
        let tables: [(String, String)] = try source.fetchAll(
            SQL(raw: """
                SELECT name, sql FROM \(schema).sqlite_schema
                WHERE type = 'table' AND rootpage > 0 AND name <> 'sqlite_sequence' ORDER BY rowid
                """))
        for (_, sql) in tables { try copy.execute(SQL(raw: sql)) }
        for (name, _) in tables {
            try copyRows(of: name)
            try reportPages()
        }
    }

    /// Views, triggers and virtual tables have no content of their own, only their text.
    private func copyTextOnly() throws {
        let insert = try copy.prepare("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)")
        let objects: [(String, String, String, String)] = try source.fetchAll(
            SQL(raw: """
                SELECT type, name, tbl_name, sql FROM \(schema).sqlite_schema
                WHERE type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0) ORDER BY rowid
                """))
        for (type, name, table, sql) in objects { try insert.execute(binding: type, name, table, sql) }
    }

    private func copyRows(of table: String) throws {
        let name = table.quotedSQLIdentifier
        // Generated columns are computed anew.
        var columns = try copy.fetchAll(String.self, "SELECT name FROM pragma_table_xinfo(\(table)) WHERE hidden = 0 ORDER BY cid")
            .map(\.quotedSQLIdentifier)
        let isWithoutRowID = try copy.fetchOne(Bool.self, "SELECT wr FROM pragma_table_list(\(table)) WHERE schema = 'main'") ?? false
        if !isWithoutRowID, let rowID = try copy.rowIDName(of: table) { columns.insert(rowID, at: 0) }
        let list = columns.joined(separator: ", ")
        let read = try source.prepare(SQL(raw: "SELECT \(list) FROM \(schema).\(name) NOT INDEXED"))
        let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let write = try copy.prepare(SQL(raw: "INSERT INTO main.\(name)(\(list)) VALUES (\(marks))"))
        let from = try read.live(), to = try write.live()
        var row = 0
        while try read.step() {
            for column in 0..<Int32(columns.count) {
                try copy.check(sqlite3_bind_value(to, column + 1, sqlite3_column_value(from, column)))
            }
            try write.step()
            row += 1
            if row % 64 == 0 { try reportPages() }
        }
    }

    private func reportPages() throws {
        guard let reporter else { return }
        let pages = try copy.fetchOne(SQLValue.self, "PRAGMA page_count")
        if case .integer(let pages) = pages { try reporter.report(Int(pages)) }
    }
}

extension Connection {
    /// A name for the row id that no column of the main database's table hides.
    func rowIDName(of table: String) throws(DatabaseError) -> String? {
        let columns = Set(try fetchAll(String.self, "SELECT lower(name) FROM pragma_table_xinfo(\(table))"))
        return ["rowid", "_rowid_", "oid"].first { !columns.contains($0) }
    }
}

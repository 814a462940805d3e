import CSQLCipher
import SQLCipherKitCore

/// Copies a whole database into another connection's empty database, object by object, as `VACUUM` does
/// (<https://sqlite.org/lang_vacuum.html>).
///
/// SQLCipher's own `sqlcipher_export` loses the row ids of tables without an integer primary key, which full-text tables with
/// external content and other features rely on. It also works within one connection, where hooks and the authorizer would see the
/// copy.
struct DatabaseCopy {
    private let schema: Schema
    private let source: Connection
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(from schema: Schema, to copy: Connection, _ reporter: RewriteReporter?) {
        self.schema = schema
        source = schema.connection
        self.copy = copy
        self.reporter = reporter
    }

    func run() throws { try source.withRoomForRowID { try copy.withRoomForRowID { try copyAll() } } }

    private func copyAll() throws {
        let entries = try schema.entriesToRun()
        // Allow names that begin with sqlite_, and strings in double quotes, which a schema may have from an engine that accepted
        // them.
        for pragma in ["foreign_keys = OFF", "writable_schema = ON"] { try copy.execute(SQL(raw: "PRAGMA \(pragma)")) }
        var now: Int32 = 0
        for option in [SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML] {
            try copy.check(sqlcipherkit_db_config(copy.live(), option, 1, &now))
        }
        try reporter?.report(0)
        try copy.begin()
        // The database's record of its key slots is copied too.
        try copy.main.allowSlotMark()
        try copyTables(entries)
        for index in entries where index.type == "index" {
            guard let text = try index.text() else { continue }
            try copy.execute(SQL(raw: text.sql))
            try reportPages()
        }
        if try hasSequences(schema) { try copySequences() }
        try copyTextOnly(entries)
        for pragma in ["user_version", "application_id"] {
            let value = try source.fetchOne(Int.self, SQL(raw: "PRAGMA \(schema.quotedName).\(pragma)")) ?? 0
            try copy.execute(SQL(raw: "PRAGMA \(pragma) = \(value)"))
        }
        try copy.commit()
    }

    private func copyTables(_ entries: [SchemaEntry]) throws {
        let tables = entries.filter { $0.type == "table" && !$0.isVirtual && $0.name != "sqlite_sequence" }
        for table in tables { try copy.execute(SQL(raw: table.statement().sql)) }
        try copy.main.ignoreConstraints()
        let hiding = try HiddenRowIDs(tables.map(\.name), copy)
        try hiding.whileNamed {
            for table in tables {
                try hiding.contains(table.name) ? copyRecords(of: table.name) : copyRows(of: table.name)
                try reportPages()
            }
        }
    }

    /// Copies the rows of a table from its pages, for no SQL reads their ids.
    private func copyRecords(of table: String) throws {
        let name = try source.fetchOne(String.self, "PRAGMA encoding")
        let encoding = StoredRecord.Encoding.names.first { $0.value == name }?.key ?? .utf8
        let root = try source.fetchOne(
            Int.self,
            "SELECT rootpage FROM \(raw: schema.qualified("sqlite_schema")) WHERE type = 'table' AND name = \(table)") ?? 0
        let pages = try PageReader(schema)
        let map = try PageMap(pages, header: pages.page(1), isFirstPageLost: false, WorkMeter(.none)) { _ in try reportPages() }
        var reader = TreeReader(map), rows = try SalvagedRows(copy, table, encoding), isWhole = true
        try reader.readRows(root: root) { rowID, bytes in
            guard let record = StoredRecord(bytes) else { return isWhole = false }
            try rows.insert(rowID, record)
            if rows.rows % 64 == 0 { try reportPages() }
        }
        guard isWhole, reader.losses.isEmpty, rows.refused == 0 else {
            throw DatabaseError(
                code: .corrupt, reason: .conversionFailed,
                message: "the table \(table) has rows that cannot be copied; the old file stays", path: source.location.path)
        }
    }

    private func hasSequences(_ schema: Schema) throws -> Bool {
        try schema.connection.fetchOne(
            Int.self, SQL(raw: "SELECT count(*) FROM \(schema.quotedName).sqlite_schema WHERE name = 'sqlite_sequence'")) == 1
    }

    /// The first table with AUTOINCREMENT creates the table of sequences, and inserted rows fill it. The table of sequences remains
    /// even after the last such table was dropped.
    private func copySequences() throws {
        if try !hasSequences(copy.main) {
            try copy.execute("CREATE TABLE sequence_maker(id INTEGER PRIMARY KEY AUTOINCREMENT)")
            try copy.execute("DROP TABLE sequence_maker")
        }
        try copy.execute("DELETE FROM sqlite_sequence")
        try copyRows(of: "sqlite_sequence")
    }

    /// Copies the text of views, triggers and virtual tables, which have no content of their own.
    private func copyTextOnly(_ entries: [SchemaEntry]) throws {
        let insert = try copy.prepare("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)")
        for entry in entries where entry.type != "index" && entry.isVirtual {
            try insert.execute(binding: entry.type, entry.name, entry.table, entry.statement().sql)
        }
    }

    private func copyRows(of table: String) throws {
        // Generated columns are computed again.
        var columns = try copy.main.storedColumns(of: table).map(\.quotedSQLIdentifier)
        if let rowID = try copy.main.rowIDName(of: table) { columns.insert(rowID, at: 0) }
        let list = columns.joined(separator: ", ")
        let read = try source.prepare(SQL(raw: "SELECT \(list) FROM \(schema.qualified(table)) NOT INDEXED"))
        let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let write = try copy.prepare(SQL(raw: "INSERT INTO \(copy.main.qualified(table))(\(list)) VALUES (\(marks))"))
        try write.insertRows(of: read) { row in if row % 64 == 0 { try reportPages() } }
    }

    private func reportPages() throws {
        guard let reporter else { return }
        let pages = try copy.fetchOne(SQLValue.self, "PRAGMA page_count")
        if case .integer(let pages) = pages { try reporter.report(Int(pages)) }
    }
}

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

/// Compares a database with its copy: schema, settings and every row byte for byte. Then checks the structure of the copy.
struct DatabaseComparison {
    private let original: Schema
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(of original: Schema, with copy: Connection, _ reporter: RewriteReporter?) {
        self.original = original
        self.copy = copy
        self.reporter = reporter
    }

    /// - Throws: ``DatabaseError/Reason/conversionFailed`` with a message that says where they differ, or any error that the
    ///   progress handler throws.
    func run() throws {
        try original.connection.withRoomForRowID { try copy.withRoomForRowID { try compareRows() } }
        try reporter?.report()
        // The copy's rows violate the same constraints as the original's.
        try copy.main.ignoreConstraints()
        if let problem = try copy.main.structuralProblems(texts: false, foreignKeys: false).first {
            throw differs("in its structure: \(problem)")
        }
        if let info = try copy.main.cipher, try copy.main.path != nil, let problem = try copy.main.damagedPages(info).first {
            throw differs("in its pages: \(problem)")
        }
    }

    private func compareRows() throws {
        for pragma in ["user_version", "application_id", "auto_vacuum", "encoding"] {
            let a = try original.connection.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(original.quotedName).\(pragma)"))
            let b = try copy.fetchOne(SQLValue.self, SQL(raw: "PRAGMA main.\(pragma)"))
            if a != b { throw differs("in \(pragma)") }
        }
        try compare("SELECT type, name, tbl_name, sql FROM", "sqlite_schema", "ORDER BY type, name")
        for table in try copy.fetchAll(String.self, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0") {
            let rowID = try copy.main.rowIDName(of: table)
            try compare("SELECT \(rowID.map { $0 + ", " } ?? "")* FROM", table, "NOT INDEXED")
        }
    }

    /// Steps through the same query on both sides, which store their rows in the same order.
    private func compare(_ select: String, _ table: String, _ rest: String) throws {
        let a = try RawStatement(original.connection, "\(select) \(original.qualified(table)) \(rest)")
        let b = try RawStatement(copy, "\(select) \(copy.main.qualified(table)) \(rest)")
        var row = 0
        while true {
            let more = try a.step()
            guard try b.step() == more else { throw differs("in the number of rows of \(table)") }
            guard more else { return }
            row += 1
            if row % 256 == 0 { try reporter?.report() }
            guard a.equals(b) else { throw differs("in row \(row) of \(table)") }
        }
    }

    private func differs(_ what: String) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .conversionFailed, message: "the new file differs from the old one \(what); the old one stays",
            path: original.connection.location.path)
    }
}

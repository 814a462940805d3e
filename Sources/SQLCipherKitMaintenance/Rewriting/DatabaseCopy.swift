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

/// Compares a database with its copy: schema, settings, and every row byte for byte. Then checks the copy's own structure.
struct DatabaseComparison {
    private let original: Connection
    private let schema: String
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(_ original: Connection, _ schema: String, _ copy: Connection, _ reporter: RewriteReporter?) {
        self.reporter = reporter
        self.original = original
        self.schema = schema
        self.copy = copy
    }

    /// - Throws: ``DatabaseError/Reason/conversionFailed`` that says where they differ, and what the progress handler throws.
    func run() throws {
        let quoted = schema.quotedSQLIdentifier
        for pragma in ["user_version", "application_id", "auto_vacuum", "encoding"] {
            let a = try original.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(quoted).\(pragma)"))
            let b = try copy.fetchOne(SQLValue.self, SQL(raw: "PRAGMA main.\(pragma)"))
            if a != b { throw differs("in \(pragma)") }
        }
        try compare("SELECT type, name, tbl_name, sql FROM", "sqlite_schema", "ORDER BY type, name")
        let tables: [(String, Bool)] = try copy.fetchAll(
            """
            SELECT s.name, l.wr FROM sqlite_schema AS s JOIN pragma_table_list(s.name) AS l ON l.schema = 'main' AND l.name = s.name
            WHERE s.type = 'table' AND s.rootpage > 0
            """)
        for (table, isWithoutRowID) in tables {
            let rowID = isWithoutRowID ? nil : try copy.rowIDName(of: table)
            try compare("SELECT \(rowID.map { $0 + ", " } ?? "")* FROM", table, "NOT INDEXED")
        }
        try reporter?.report()
        let structure = try copy.fetchAll(String.self, "PRAGMA integrity_check(1)")
        if structure != ["ok"] { throw differs("in its structure: \(structure.first ?? "no answer")") }
        if let info = try copy.cipherInfo, info.settings.usesHMAC {
            let pages = try copy.fetchAll(String.self, "PRAGMA cipher_integrity_check")
            if let problem = pages.first { throw differs("in its pages: \(problem)") }
        }
    }

    /// Steps through the same query on both sides. They are stored in the same order.
    private func compare(_ select: String, _ table: String, _ rest: String) throws {
        let name = table.quotedSQLIdentifier
        let a = try RawStatement(original, "\(select) \(schema.quotedSQLIdentifier).\(name) \(rest)")
        let b = try RawStatement(copy, "\(select) main.\(name) \(rest)")
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
            path: original.location.path)
    }
}

import SQLCipherKitCore

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

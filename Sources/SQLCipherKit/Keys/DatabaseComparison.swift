import CSQLCipher
import Foundation

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
        let a = try Side(original, "\(select) \(schema.quotedSQLIdentifier).\(name) \(rest)")
        let b = try Side(copy, "\(select) main.\(name) \(rest)")
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

/// One side's statement. It goes past the cache and past anything that looks at values, as there are very many of them.
private final class Side {
    private let connection: Connection
    private let statement: OpaquePointer
    private let columns: Int32

    init(_ connection: Connection, _ sql: String) throws(DatabaseError) {
        self.connection = connection
        var statement: OpaquePointer?
        let rc = sqlite3_prepare_v2(try connection.live(), sql, -1, &statement, nil)
        guard rc == SQLITE_OK, let statement else { throw connection.failure(rc, sql: sql) }
        self.statement = statement
        columns = sqlite3_column_count(statement)
    }

    deinit { sqlite3_finalize(statement) }

    func step() throws(DatabaseError) -> Bool {
        let rc = sqlite3_step(statement)
        if rc == SQLITE_ROW { return true }
        if rc == SQLITE_DONE { return false }
        throw connection.failure(rc)
    }

    func equals(_ other: Side) -> Bool {
        guard columns == other.columns else { return false }
        for column in 0..<columns {
            let type = sqlite3_column_type(statement, column)
            guard type == sqlite3_column_type(other.statement, column) else { return false }
            switch type {
            case SQLITE_INTEGER:
                if sqlite3_column_int64(statement, column) != sqlite3_column_int64(other.statement, column) { return false }
            case SQLITE_FLOAT:
                if sqlite3_column_double(statement, column) != sqlite3_column_double(other.statement, column) { return false }
            case SQLITE_TEXT, SQLITE_BLOB:
                // As a blob, text is not converted from the database's encoding, and compared as it is stored.
                let a = sqlite3_column_blob(statement, column), b = sqlite3_column_blob(other.statement, column)
                let count = sqlite3_column_bytes(statement, column)
                guard count == sqlite3_column_bytes(other.statement, column) else { return false }
                if count > 0 {
                    guard let a, let b, memcmp(a, b, Int(count)) == 0 else { return false }
                }
            default: break
            }
        }
        return true
    }
}

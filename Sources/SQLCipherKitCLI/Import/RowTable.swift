import SQLCipherKit

/// The table that records go into.
final class RowTable {
    let name: String
    /// Whether the table was made by an import, so that a member that has no column yet may get one.
    let isMade: Bool
    private let db: Connection
    private var known: Set<[UInt8]>
    private var statement: (columns: [String], insert: Statement)?

    /// - Parameters:
    ///   - wasMade: whether an earlier import has made the table, if it is there.
    ///   - columns: the columns of a table to be made.
    init(_ db: Connection, _ name: String, wasMade: Bool, columns: [String]) throws {
        self.db = db
        self.name = name
        let present = try db.main.columns(of: name).map(\.name.sqlName)
        known = Set(present)
        isMade = wasMade || present.isEmpty
        if present.isEmpty { try make(columns) }
    }

    func insert(_ record: ImportRecord) throws {
        if let statement, statement.columns.elementsEqual(record.columns, by: { $0.bytes == $1.bytes }) {
            try statement.insert.execute(StatementArguments(record.values.map { $0 }))
            return
        }
        try Self.requireDistinct(record.columns)
        for column in record.columns where !known.contains(column.sqlName) {
            guard isMade else {
                throw Failure("the table \(name) has no column \(column): ALTER TABLE adds one, and --table names another table")
            }
            try db.execute("ALTER TABLE \(identifier: name) ADD COLUMN \(identifier: column) ANY")
            known.insert(column.sqlName)
        }
        let columns = record.columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let marks = Array(repeating: "?", count: record.columns.count).joined(separator: ", ")
        let values = record.columns.isEmpty ? "DEFAULT VALUES" : "(\(columns)) VALUES (\(marks))"
        let insert = try db.prepare(SQL(raw: "INSERT INTO \(name.quotedSQLIdentifier)\(record.columns.isEmpty ? " " : "")\(values)"))
        statement = (record.columns, insert)
        try insert.execute(StatementArguments(record.values.map { $0 }))
    }

    /// A table whose columns hold whatever value comes, and with a key of its own.
    private func make(_ columns: [String]) throws {
        try Self.requireDistinct(columns)
        let taken = Set(columns.map(\.sqlName))
        let key = ["id", "row_id", "import_row_id"].first { !taken.contains($0.sqlName) } ?? "sqlcipherkit_row_id"
        let list = ["\(key) INTEGER PRIMARY KEY"] + columns.map { $0.quotedSQLIdentifier + " ANY" }
        try db.execute(SQL(raw: "CREATE TABLE \(name.quotedSQLIdentifier)(\(list.joined(separator: ", "))) STRICT"))
        known = taken.union([key.sqlName])
    }

    private static func requireDistinct(_ columns: [String]) throws {
        var seen: Set<[UInt8]> = []
        for column in columns where !seen.insert(column.sqlName).inserted {
            throw Failure("two values are named \(column), which as columns would be one")
        }
    }
}

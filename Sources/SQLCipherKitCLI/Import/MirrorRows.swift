import SQLCipherKit

/// The rows of a table that are in the input: a mirror removes the others at the end.
final class MirrorRows {
    private static let table = "temp.sqlcipherkit_mirror"

    private let db: Connection
    private let name: String
    private let insert: Statement

    /// - Parameter name: the table. Rows that an earlier file has kept stay.
    init(_ db: Connection, _ name: String) throws {
        (self.db, self.name) = (db, name)
        let columns = "(target TEXT, id INTEGER, PRIMARY KEY (target, id)) WITHOUT ROWID"
        try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS \(Self.table)\(columns)"))
        insert = try db.prepare(SQL(raw: "INSERT OR IGNORE INTO \(Self.table) VALUES (?, ?)"))
    }

    /// The name of the row id, which the table's columns leave.
    var rowID: String {
        get throws {
            guard let rowID = try db.main.rowIDName(of: name) else {
                throw Failure("--mirror needs row ids, which the table \(name) does not have or does not name", status: .usage)
            }
            return rowID
        }
    }

    func keep(_ row: Int64) throws { try insert.execute(binding: name, row) }

    /// - Returns: the number of rows removed.
    func removeOthers() throws -> Int {
        let kept = "SELECT id FROM \(Self.table) WHERE target = \(name.quotedSQLLiteral)"
        try db.execute(SQL(raw: "DELETE FROM \(name.quotedSQLIdentifier) WHERE \(rowID) NOT IN (\(kept))"))
        return Int(db.changes)
    }
}

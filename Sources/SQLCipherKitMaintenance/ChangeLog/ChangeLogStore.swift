import Foundation
import SQLCipherKitCore

/// The tables of a change log. Nothing of them is kept in memory, so a rollback undoes everything.
struct ChangeLogStore {
    static let prefix = "changelog"

    let db: Connection

    func create() throws(DatabaseError) {
        for table in [
            // The entries in the order of their arrival: each after those that it depends on.
            """
            changelog(id INTEGER PRIMARY KEY, peer TEXT NOT NULL, sequence INTEGER NOT NULL, clock INTEGER NOT NULL, \
            changes BLOB NOT NULL, UNIQUE (peer, sequence))
            """,
            // When and where a row was last inserted, and when it was deleted. Rows without a record here are older than the log or
            // than its horizon.
            """
            changelog_row(tbl TEXT NOT NULL, key BLOB NOT NULL, clock INTEGER NOT NULL, peer TEXT NOT NULL, gone INTEGER, \
            PRIMARY KEY (tbl, key)) WITHOUT ROWID
            """,
            // When and where a value was last written. The column is empty for tables that merge whole rows.
            """
            changelog_cell(tbl TEXT NOT NULL, key BLOB NOT NULL, col TEXT NOT NULL, clock INTEGER NOT NULL, peer TEXT NOT NULL, \
            PRIMARY KEY (tbl, key, col)) WITHOUT ROWID
            """,
            // For each peer, the last entry of each peer that it is known to have. The row with the origin '' stands for the peer
            // itself, with the sequence -1 if it was removed.
            """
            changelog_peer(peer TEXT NOT NULL, origin TEXT NOT NULL, sequence INTEGER NOT NULL, clock INTEGER NOT NULL, \
            PRIMARY KEY (peer, origin)) WITHOUT ROWID
            """,
            "changelog_state(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        ] { try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS main.\(table)")) }
    }

    func drop() throws(DatabaseError) {
        try dropWatching()
        for table in TablesMadeLater.changeLog { try db.execute(SQL(raw: "DROP TABLE IF EXISTS main.\(table)")) }
    }

    // MARK: State

    func state<T: SQLValueConvertible>(_ name: String, as type: T.Type) throws(DatabaseError) -> T? {
        try db.fetchOne(T.self, "SELECT value FROM main.changelog_state WHERE name = \(name)")
    }

    func setState(_ name: String, to value: SQLValue) throws(DatabaseError) {
        try db.execute("INSERT OR REPLACE INTO main.changelog_state VALUES (\(name), \(value))")
    }

    /// The last reading of the clock.
    var clock: Int64 { get throws(DatabaseError) { try state("clock", as: Int64.self) ?? 0 } }

    /// All peers have all entries up to this time, and these have been pruned.
    var horizon: Int64 { get throws(DatabaseError) { try state("horizon", as: Int64.self) ?? 0 } }

    // MARK: Peers

    /// The peers, and whether each has been removed.
    func members() throws(DatabaseError) -> [String: Bool] {
        let rows: [(String, Int64)] = try db.fetchAll("SELECT peer, sequence FROM main.changelog_peer WHERE origin = ''")
        return Dictionary(rows.map { ($0.0, $0.1 < 0) }) { first, _ in first }
    }

    func add(member: String) throws(DatabaseError) {
        try db.execute("INSERT OR IGNORE INTO main.changelog_peer VALUES (\(member), '', 0, 0)")
    }

    func remove(member: String) throws(DatabaseError) {
        try db.execute("DELETE FROM main.changelog_peer WHERE peer = \(member)")
        try db.execute("INSERT INTO main.changelog_peer VALUES (\(member), '', -1, 0)")
    }

    func position(of peer: String) throws(DatabaseError) -> ChangePosition {
        let rows: [(String, Int64, Int64)] = try db.fetchAll(
            "SELECT origin, sequence, clock FROM main.changelog_peer WHERE peer = \(peer) AND origin <> ''")
        var position = ChangePosition()
        for row in rows { position.marks[row.0] = ChangePosition.Mark(sequence: row.1, clock: row.2) }
        return position
    }

    func setPosition(_ position: ChangePosition, of peer: String) throws(DatabaseError) {
        for (origin, mark) in position.marks {
            try db.execute(
                "INSERT OR REPLACE INTO main.changelog_peer VALUES (\(peer), \(origin), \(mark.sequence), \(mark.clock))")
        }
    }

    // MARK: Entries

    func insert(_ entry: ChangeLogEntry) throws(DatabaseError) {
        try db.execute(
            """
            INSERT INTO main.changelog(peer, sequence, clock, changes)
            VALUES (\(entry.peer), \(entry.sequence), \(entry.clock), \(entry.bytes))
            """)
    }

    /// The time of an entry; nil if it has been pruned.
    func clock(ofEntry sequence: Int64, of peer: String) throws(DatabaseError) -> Int64? {
        try db.fetchOne(Int64.self, "SELECT clock FROM main.changelog WHERE peer = \(peer) AND sequence = \(sequence)")
    }

    // MARK: Rows

    func isKnown(_ table: LoggedTable, _ key: [SQLValue]) throws(DatabaseError) -> Bool {
        let bytes = SQLValue.blob(Data(table.bytes(key)))
        return try db.fetchOne(
            Bool.self,
            """
            SELECT EXISTS (SELECT 1 FROM main.changelog_row WHERE tbl = \(table.name) AND key = \(bytes) AND gone IS NULL)
            """) ?? false
    }

    func row(_ table: LoggedTable, _ key: [SQLValue]) throws(DatabaseError) -> ChangeLogRow {
        let bytes = SQLValue.blob(Data(table.bytes(key)))
        var row = ChangeLogRow()
        let found: (Int64, String, Int64?)? = try db.fetchOne(
            "SELECT clock, peer, gone FROM main.changelog_row WHERE tbl = \(table.name) AND key = \(bytes)")
        if let found { (row.insert, row.gone) = (ChangeStamp(clock: found.0, peer: found.1), found.2) }
        let cells: [(String, Int64, String)] = try db.fetchAll(
            "SELECT col, clock, peer FROM main.changelog_cell WHERE tbl = \(table.name) AND key = \(bytes)")
        for cell in cells { row.cells[SQLName(cell.0)] = ChangeStamp(clock: cell.1, peer: cell.2) }
        return row
    }

    func save(_ row: ChangeLogRow, _ table: LoggedTable, _ key: [SQLValue]) throws(DatabaseError) {
        let bytes = SQLValue.blob(Data(table.bytes(key)))
        if row.isNew {
            try db.execute("DELETE FROM main.changelog_cell WHERE tbl = \(table.name) AND key = \(bytes)")
            try db.execute(
                """
                INSERT OR REPLACE INTO main.changelog_row
                VALUES (\(table.name), \(bytes), \(row.insert.clock), \(row.insert.peer), \(row.gone as Int64?))
                """)
        }
        for column in row.written {
            guard let stamp = row.cells[column] else { continue }
            try db.execute(
                """
                INSERT OR REPLACE INTO main.changelog_cell
                VALUES (\(table.name), \(bytes), \(column.text), \(stamp.clock), \(stamp.peer))
                """)
        }
    }
}

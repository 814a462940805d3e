import SQLCipherKitCore

extension Schema {
    /// Moves the rows of a table that meet a condition to the table of the same name in another database of the connection. Even
    /// after an error or a crash, each row is in exactly one of the two tables.
    ///
    /// ```swift
    /// let archive = try db.attach(.file("archive.db"), as: "archive", key: archiveKey)
    /// let moved = try db.main.moveRows(of: "note", to: archive, where: "year < \(2020)")
    /// ```
    /// A transaction that deletes in one file and inserts in another is not always atomic across both files: see
    /// ``Connection/Settings/isAtomicAcrossFiles``. This call works in steps, each of which writes one file in one transaction: the
    /// rows are moved to a separate table in this database, copied from there to the other database, and then removed here. If the
    /// process dies between two steps, the next call between the two databases, or ``finishMoves(to:)``, finishes the move.
    ///
    /// The rows are deleted and inserted as if by SQL: triggers run on both sides, and foreign keys hold. If other rows refer to a
    /// moved row by a foreign key that is enforced, that is an error, whatever `ON DELETE` says: move those rows first. The
    /// target's table must have all columns of the source's table, by name; generated columns are computed again. A row id that is
    /// not a column of the table is assigned by the target.
    /// - Parameters:
    ///   - table: the table's name.
    ///   - target: the database to move to.
    ///   - condition: the condition that the rows meet, as after `WHERE`.
    /// - Returns: the number of rows moved.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, or if the databases belong to different connections;
    ///   ``DatabaseError/Reason/schemaName`` if a database is no longer attached or both are the same;
    ///   ``DatabaseError/Reason/invalidArgument`` if one of them has no such ordinary table, if a column is missing, or if rows
    ///   that are not moved refer to the moved rows; or an error of the condition, of deleting or of inserting. In each case
    ///   nothing has been moved.
    @discardableResult
    public func moveRows(of table: String, to target: Schema, where condition: SQL) throws -> Int {
        let mover = try RowMover(self, target)
        try mover.finish()
        return try mover.move(table, condition)
    }

    /// Finishes interrupted calls of ``moveRows(of:to:where:)`` between the two databases.
    /// - Returns: the number of interrupted calls.
    /// - Throws: the errors of ``moveRows(of:to:where:)``. The rows are then kept for the next call.
    @discardableResult
    public func finishMoves(to target: Schema) throws -> Int {
        try RowMover(self, target).finish()
    }
}

/// Moves rows between two databases of a connection, in transactions that write one of them.
private struct RowMover {
    let source: Schema, target: Schema
    var db: Connection { source.connection }

    /// In the source, the moves under way: their number, the table, and the identity of the database that the rows go to. The rows
    /// of each are in a table of their own. Number 0 is the source's own identity.
    private static let moves = "sqlcipherkit_move"
    /// In the target, its identity, with number 0, and the moves that have arrived and may still be noted in the source, with the
    /// source's identity.
    private static let arrivals = "sqlcipherkit_arrival"

    /// The column that has the row ids of rows under way.
    private static let rowID = "sqlcipherkit_row_id"

    private struct Move: SQLRowConvertible {
        let number: Int64, table: String

        init(number: Int64, table: String) { (self.number, self.table) = (number, table) }
        init(row: borrowing Row) throws { (number, table) = try row.values() }

        /// The table with the rows.
        var rows: String { "sqlcipherkit_move_\(number)" }
    }

    init(_ source: Schema, _ target: Schema) throws {
        try source.live()
        try target.live()
        guard source.connection === target.connection else {
            throw DatabaseError.misuse("rows cannot be moved to a database of another connection: attach it to this connection")
        }
        if source.isSame(as: target) {
            throw DatabaseError(code: .misuse, reason: .schemaName, message: "the database \(source.name) is source and target")
        }
        if source.connection.isInTransaction {
            throw DatabaseError.misuse("rows cannot be moved inside a transaction: the two files are committed separately")
        }
        (self.source, self.target) = (source, target)
    }

    // MARK: The steps

    func move(_ table: String, _ condition: SQL) throws -> Int {
        let columns = try columns(of: table), key = try key(of: table)
        let identity = try identify(target, Self.arrivals, "number INTEGER PRIMARY KEY, identity BLOB", "0, randomblob(16)")
        _ = try identify(
            source, Self.moves, "number INTEGER PRIMARY KEY, source TEXT NOT NULL, identity BLOB NOT NULL", "0, '', randomblob(16)")
        // Each step is on the disk before the next one, in the other file, relies on it.
        try target.makeDurable()
        var move = Move(number: 0, table: table), count = 0
        // The rows leave the table. The condition and triggers may read the target.
        try transaction(locking: source, target) { db in
            try requireUnreferred(table, condition)
            repeat { move = Move(number: .random(in: 1...(.max)), table: table) } while try isKnown(move)
            try db.execute("INSERT INTO \(raw: source.qualified(Self.moves)) VALUES (\(move.number), \(table), \(identity))")
            let rows = source.qualified(move.rows), place = source.qualified(table), list = columns.joined(separator: ", ")
            // Columns without a type keep each value as it is.
            try db.execute("CREATE TABLE \(raw: rows)(\(raw: Self.rowID), \(raw: list))")
            try db.execute(
                """
                INSERT INTO \(raw: rows) SELECT \(raw: key.isRowID ? key.columns : "NULL"), \(raw: list)
                FROM \(raw: place) AS \(identifier: table) WHERE \(condition)
                """)
            count = db.changes
            let keys = key.isRowID ? Self.rowID : key.columns
            try db.execute("DELETE FROM \(raw: place) WHERE (\(raw: key.columns)) IN (SELECT \(raw: keys) FROM \(raw: rows))")
            guard db.changes == count else {
                throw DatabaseError.invalidArgument("a trigger of \(table) prevents the deletion of rows")
            }
        }
        try source.makeDurable()
        do { try arrive(move) } catch {
            try putBack(move, key.isRowID ? key.columns : nil)
            throw error
        }
        try forget(move)
        return count
    }

    /// - Returns: how many moves were unfinished.
    @discardableResult
    func finish() throws -> Int {
        guard try has(Self.moves, in: source), let identity = try identity(of: target, Self.arrivals) else { return 0 }
        let moves: [Move] = try db.fetchAll(
            "SELECT number, source FROM \(raw: source.qualified(Self.moves)) WHERE number > 0 AND identity = \(identity)")
        for move in moves {
            try arrive(move)
            try forget(move)
        }
        // Notes of moves whose rows are gone from the source, which is read after them: there a move is noted first.
        let arrived: [Int64] = try db.fetchAll(
            """
            SELECT number FROM \(raw: target.qualified(Self.arrivals))
            WHERE number > 0 AND identity = \(self.identity(of: source, Self.moves))
            """)
        if arrived.isEmpty { return moves.count }
        let unfinished: [Int64] = try db.fetchAll("SELECT number FROM \(raw: source.qualified(Self.moves))")
        try source.makeDurable()
        for number in Set(arrived).subtracting(unfinished) {
            try db.execute("DELETE FROM \(raw: target.qualified(Self.arrivals)) WHERE number = \(number)")
        }
        return moves.count
    }

    /// Inserts the rows into the target, unless that has been done.
    private func arrive(_ move: Move) throws {
        try transaction(locking: source, target) { db in
            // Another process may have finished it.
            guard try has(move.rows, in: source), try !hasArrived(move) else { return }
            let list = try columns(in: move).joined(separator: ", ")
            // Whatever the table's own constraints say, no other row makes way, and none is left out.
            try db.execute(
                """
                INSERT OR ABORT INTO \(raw: target.qualified(move.table))(\(raw: list))
                SELECT \(raw: list) FROM \(raw: source.qualified(move.rows))
                """)
            guard try db.changes == self.count(of: source.qualified(move.rows)) else {
                throw DatabaseError.invalidArgument("a trigger of \(move.table) prevents the insertion of rows")
            }
            try db.execute(
                """
                INSERT INTO \(raw: target.qualified(Self.arrivals))
                SELECT \(move.number), identity FROM \(raw: source.qualified(Self.moves)) WHERE number = 0
                """)
        }
    }

    /// Removes the rows that have arrived, and then the note of it.
    private func forget(_ move: Move) throws {
        try target.makeDurable()
        try transaction(locking: source) { _ in try dropRows(move) }
        try source.makeDurable()
        try db.execute("DELETE FROM \(raw: target.qualified(Self.arrivals)) WHERE number = \(move.number)")
    }

    /// Puts rows that could not arrive back where they were.
    private func putBack(_ move: Move, _ rowID: String?) throws {
        try transaction(locking: source, target) { db in
            guard try has(move.rows, in: source), try !hasArrived(move) else { return }
            let list = try columns(in: move).joined(separator: ", ")
            let (into, from) = rowID.map { ($0 + ", " + list, Self.rowID + ", " + list) } ?? (list, list)
            try db.execute(
                """
                INSERT OR ABORT INTO \(raw: source.qualified(move.table))(\(raw: into))
                SELECT \(raw: from) FROM \(raw: source.qualified(move.rows))
                """)
            try dropRows(move)
        }
    }

    private func dropRows(_ move: Move) throws {
        try db.execute("DROP TABLE IF EXISTS \(raw: source.qualified(move.rows))")
        try db.execute("DELETE FROM \(raw: source.qualified(Self.moves)) WHERE number = \(move.number)")
    }

    /// Runs `body` while no other connection writes the databases. It reads no others: with a rollback journal, a commit waits for
    /// readers of the file, and two that read what the other one commits would wait for each other.
    ///
    /// The files are locked in one order, by their numbers. An immediate transaction would lock them in the order in which the
    /// connection has attached them, which may be the reverse in another program: each would wait for the file that the other has.
    private func transaction(locking schemas: Schema..., body: (Connection) throws -> Void) throws {
        let files = try schemas.map { schema in (schema, try schema.path.flatMap(DatabaseFile.identity) ?? []) }
        try db.transaction(.deferred) { db in
            for (schema, _) in files.sorted(by: { $0.1.lexicographicallyPrecedes($1.1) }) {
                // Locks the file, though it has no row to delete.
                let notes = schema.isSame(as: source) ? Self.moves : Self.arrivals
                try db.execute("DELETE FROM \(raw: schema.qualified(notes)) WHERE false")
            }
            try body(db)
        }
    }

    // MARK: What is there

    /// Throws if other rows refer to the rows. Deleting these would fail, or act on the others, which then belonged to no file.
    private func requireUnreferred(_ table: String, _ condition: SQL) throws {
        guard try db.settings.isEnabled(.foreignKeys) else { return }
        for child in try source.tables() {
            for key in child.foreignKeys where key.parent.isSameName(as: table) {
                let parents = key.parentColumns.isEmpty ? try source.primaryKey(of: table) : key.parentColumns
                let isOwn = child.name.isSameName(as: table)
                let refers: SQL = """
                    SELECT EXISTS (SELECT 1 FROM \(raw: source.qualified(child.name)) AS \(identifier: isOwn ? table : "child")
                    WHERE (\(names: key.columns)) IN (
                        SELECT \(names: parents) FROM \(raw: source.qualified(table)) AS \(identifier: table)
                        WHERE \(condition)) AND \(isOwn ? "(\(condition)) IS NOT TRUE" as SQL : "TRUE" as SQL))
                    """
                guard try db.fetchOne(Bool.self, refers) == true else { continue }
                let isRefused = [.noAction, .restrict].contains(key.onDelete)
                throw DatabaseError.invalidArgument(
                    "rows of \(child.name) refer to rows of \(table) to be moved, "
                        + (isRefused ? "which a foreign key forbids" : "and the deletion would cause \(key.onDelete.rawValue)")
                        + ": move or change the rows of \(child.name) first")
            }
        }
    }

    /// The columns to move, quoted.
    private func columns(of table: String) throws -> [String] {
        for schema in [source, target] {
            guard let form = try schema.form(of: table), form.kind == .table, !form.name.isKeptFromSQL else {
                throw DatabaseError.invalidArgument("the database \(schema.name) has no ordinary table \(table)")
            }
        }
        let stored = try source.storedColumns(of: table), there = try target.storedColumns(of: table).nameSet
        if let missing = stored.first(where: { !there.contains(SQLName($0)) }) {
            throw DatabaseError.invalidArgument(
                "the table \(table) of \(target.name) has no column \(missing) that can be written")
        }
        return stored.map(\.quotedSQLIdentifier)
    }

    /// The identity of the source or the target, from its notes; nil if no rows have ever been moved from or to it.
    private func identity(of schema: Schema, _ notes: String) throws -> SQLValue? {
        guard try has(notes, in: schema) else { return nil }
        return try db.fetchOne(SQLValue.self, "SELECT identity FROM \(raw: schema.qualified(notes)) WHERE number = 0")
    }

    /// Gives a database notes and an identity, if it has none. Each statement locks that file alone.
    private func identify(_ schema: Schema, _ notes: String, _ columns: String, _ first: String) throws -> SQLValue {
        if let identity = try identity(of: schema, notes) { return identity }
        try db.execute("CREATE TABLE IF NOT EXISTS \(raw: schema.qualified(notes))(\(raw: columns))")
        try db.execute("INSERT OR IGNORE INTO \(raw: schema.qualified(notes)) VALUES (\(raw: first))")
        guard let identity = try identity(of: schema, notes) else {
            throw DatabaseError.misuse("the table \(notes) does not belong to this package")
        }
        return identity
    }

    /// Returns whether a database has a table, without reading the other one, for which this could have to wait.
    private func has(_ table: String, in schema: Schema) throws -> Bool {
        try db.fetchOne(Int.self, "SELECT 1 FROM \(raw: schema.qualified("sqlite_schema")) WHERE name = \(table)") != nil
    }

    private func isKnown(_ move: Move) throws -> Bool {
        guard try has(Self.moves, in: source) else { return false }
        return try db.fetchOne(Int.self, "SELECT 1 FROM \(raw: source.qualified(Self.moves)) WHERE number = \(move.number)") != nil
    }

    private func hasArrived(_ move: Move) throws -> Bool {
        try db.fetchOne(Int.self, "SELECT 1 FROM \(raw: target.qualified(Self.arrivals)) WHERE number = \(move.number)") != nil
    }

    private func count(of rows: String) throws -> Int { try db.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(rows)")) ?? 0 }

    /// Returns the columns that identify a row of a table, as a list in SQL.
    private func key(of table: String) throws -> (columns: String, isRowID: Bool) {
        if let rowID = try source.rowIDName(of: table) { return (rowID, true) }
        guard let key = try RowKey(of: table, in: source), try source.form(of: table)?.isWithoutRowID == true else {
            throw DatabaseError.invalidArgument("columns of \(table) use all names of its row id, so its rows cannot be moved")
        }
        try key.requireCanonical(for: "a move of rows", isCompared: true)
        return (key.columns.map(\.name.quotedSQLIdentifier).joined(separator: ", "), false)
    }

    /// The columns of the rows under way, quoted.
    private func columns(in move: Move) throws -> [String] {
        try source.columns(of: move.rows).map(\.name).filter { $0 != Self.rowID }.map(\.quotedSQLIdentifier)
    }
}

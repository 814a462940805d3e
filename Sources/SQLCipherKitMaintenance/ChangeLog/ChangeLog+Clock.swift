import SQLCipherKitCore

/// A log's times come from the clocks of its peers, each later than all that its peer has seen. One clock that is far ahead would
/// lead all others there, and its changes would win for years.
extension ChangeLog {
    /// The latest time that is accepted now.
    var clockLimit: Int64 { ChangeStamp.tick(after: 0, now: now().addingTimeInterval(clockTolerance / .seconds(1))) }

    func checkTime(_ entry: ChangeLogEntry) throws(DatabaseError) {
        guard entry.clock > clockLimit else { return }
        let hours = ((entry.clock - ChangeStamp.tick(after: 0, now: now())) >> 16) / 3_600_000
        throw DatabaseError(
            code: .abort,
            message: """
                the entry \(entry.sequence) of the peer \(entry.peer) is \(hours) hours ahead of this device's clock: one of the \
                two clocks is wrong. Once they agree, repairClock() mends the log of the device whose clock was wrong
                """)
    }

    /// Takes times back that are further ahead of this device's clock than ``clockTolerance``, after this device's clock was wrong.
    /// Call it only when the clock is right.
    ///
    /// The entries with such times are removed: other peers refuse them. The rows that they changed are logged again, as they are
    /// now, as one entry of this peer.
    /// - Returns: the number of rows that were logged again; 0 if there was nothing to mend.
    /// - Throws: ``DatabaseError``. Then nothing has changed.
    @discardableResult
    public func repairClock() throws -> Int {
        try connection.transaction { db in
            let limit = clockLimit, tables = try tables()
            guard try store.clock > limit else { return TransactionEnd.commit(0) }
            var changes: [LoggedChange] = []
            for table in tables.all { for key in try store.keys(of: table, after: limit) {
                var row = try store.row(table, key)
                let values = try current(table, key)?.values
                let isOld = row.insert.clock <= limit
                changes.append(
                    LoggedChange(
                        kind: values == nil ? .delete : isOld ? .update : .insert, table: table.name, keyColumns: table.key,
                        key: values.map { values in table.keyPlaces.map { values[$0] } } ?? key,
                        columns: values == nil ? [] : table.others,
                        values: values.map { values in table.otherPlaces.map { values[$0] } } ?? [],
                        base: isOld ? row.insert : .ancient))
                row.takeBack(to: isOld ? row.insert : .ancient)
                try store.save(row, table, key)
            } }
            try store.removeEntries(after: limit)
            try append(changes)
            return TransactionEnd.commit(changes.count)
        }
    }
}

extension ChangeLogStore {
    /// The keys of the rows with times after a limit.
    func keys(of table: LoggedTable, after limit: Int64) throws -> [[SQLValue]] {
        let found: [[UInt8]] = try db.fetchAll(
            """
            SELECT key FROM main.changelog_row WHERE tbl = \(table.name) AND (clock > \(limit) OR gone > \(limit)) UNION
            SELECT key FROM main.changelog_cell WHERE tbl = \(table.name) AND clock > \(limit)
            """)
        return try found.map { bytes in
            var reader = ChangeLogReader(bytes)
            return try reader.values()
        }
    }

    /// Removes the entries after a limit, and what is known of them. The times of a peer grow, so they are its last ones.
    func removeEntries(after limit: Int64) throws(DatabaseError) {
        let firsts: [(String, Int64)] = try db.fetchAll(
            "SELECT peer, min(sequence) FROM main.changelog WHERE clock > \(limit) GROUP BY peer")
        try db.execute("DELETE FROM main.changelog WHERE clock > \(limit)")
        try db.execute("DELETE FROM main.changelog_peer WHERE clock > \(limit)")
        let last = try db.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog") ?? nil
        let horizon = min(try self.horizon, limit)
        try setState("horizon", to: .integer(horizon))
        try setState("clock", to: .integer(max(last ?? 0, horizon)))
        guard let peer = try state("peer", as: String.self) else { return }
        let rows: [(String, Int64, Int64)] = try db.fetchAll(
            "SELECT peer, sequence, max(clock) FROM main.changelog GROUP BY peer")
        var position = ChangePosition()
        // Those before them may have been pruned.
        for (peer, first) in firsts where first > 1 {
            position.marks[peer] = ChangePosition.Mark(sequence: first - 1, clock: horizon)
        }
        for row in rows { position.marks[row.0] = ChangePosition.Mark(sequence: row.1, clock: row.2) }
        try setPosition(position, of: peer)
    }
}

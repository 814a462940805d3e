import Foundation
import SQLCipherKitCore

extension ChangeLog {
    /// Values that were overwritten, because two copies had changed a row without knowing of each other, or because a constraint
    /// allows only one of two rows; see ``ChangeLog/conflicts(in:)``.
    public struct Conflict: Hashable, Identifiable, Sendable {
        /// A number that grows with each conflict.
        public let id: Int64
        /// The table.
        public let table: String
        /// The key of the row, by column.
        public let key: [String: SQLValue]
        /// The overwritten values, by column. If the whole row was replaced or deleted, these are all values outside its key.
        public let lost: [String: SQLValue]
        /// The peer whose change replaced the values; nil if the peer is no longer known, for example for a delete that was pruned.
        public let peer: String?

        /// The time at which the two changes met at this copy, by this copy's clock.
        public var time: Date { Date(timeIntervalSince1970: Double(id >> 16) / 1000) }

        fileprivate init(id: Int64, peer: String?, _ change: LoggedChange) {
            func dictionary(_ names: [String], _ values: [SQLValue]) -> [String: SQLValue] {
                Dictionary(zip(names, values)) { first, _ in first }
            }
            (self.id, self.peer, table) = (id, peer, change.table)
            (key, lost) = (dictionary(change.keyColumns, change.key), dictionary(change.columns, change.values))
        }
    }

    /// The number of conflicts that are kept.
    static let conflictLimit = 1000

    /// Returns the values that were overwritten at this copy, in the order in which the conflicts were noticed: the last 1,000
    /// conflicts that have not been cleared.
    ///
    /// Only the copy at which the two changes meet notices a conflict; copies that receive both changes later do not. The lost
    /// value may be the copy's own or a received value. Two equal values are no conflict.
    ///
    /// Observe the list like any other read:
    /// ```swift
    /// let conflicts = pool.observe { db in
    ///     try ChangeLog.conflicts(in: db)
    /// }
    /// for try await conflicts in conflicts {
    ///     show(conflicts.map { "\($0.peer ?? "a copy") has replaced \($0.table)" })
    /// }
    /// ```
    /// - Returns: an empty list if the database has no log.
    /// - Throws: ``ResultCode/corrupt`` for malformed bytes in the log's tables; ``DatabaseError/Reason/closed``.
    public static func conflicts(in db: Connection) throws -> [Conflict] {
        guard try db.main.hasTable("changelog_conflict") else { return [] }
        let rows: [(Int64, String?, Data)] = try db.fetchAll("SELECT id, peer, change FROM main.changelog_conflict ORDER BY id")
        return try rows.map { id, peer, bytes in
            let entry = ChangeLogEntry(peer: "", sequence: 1, clock: 0, identity: 0, bytes: bytes)
            guard let change = try entry.changes().first else { throw DatabaseError.malformedLog }
            return Conflict(id: id, peer: peer, change)
        }
    }

    /// Removes conflicts from the list of a database, once people have seen them.
    /// - Parameters:
    ///   - db: the connection.
    ///   - last: the ``Conflict/id`` of the last conflict to remove. Default: all are removed.
    /// - Throws: ``DatabaseError/Reason/busy``; ``ResultCode/readOnly`` if there is a log and the database is open for reading
    ///   only; ``DatabaseError/Reason/closed``. Then nothing is removed.
    public static func clearConflicts(in db: Connection, upTo last: Conflict.ID = .max) throws {
        guard try db.main.hasTable("changelog_conflict") else { return }
        try db.execute("DELETE FROM main.changelog_conflict WHERE id <= \(last)")
    }
}

extension ChangeLog.Conflict: _HidesValues {}

extension ChangeLogStore {
    /// Keeps conflicts that a merge has found.
    func add(_ conflicts: [ChangeLogMerge.Conflict], at date: Date) throws {
        if conflicts.isEmpty { return }
        let most = ChangeLog.conflictLimit
        var id = try db.fetchOne(Int64?.self, "SELECT max(id) FROM main.changelog_conflict") ?? nil ?? 0
        for conflict in conflicts.suffix(most) {
            guard id <= ChangeStamp.latest else { throw DatabaseError.malformedLog }
            id = ChangeStamp.tick(after: id, now: date)
            let bytes = ChangeLogEntry.coded([conflict.change])
            try db.execute("INSERT INTO main.changelog_conflict VALUES (\(id), \(conflict.peer), \(bytes))")
        }
        try db.execute(
            """
            DELETE FROM main.changelog_conflict
            WHERE id <= (SELECT id FROM main.changelog_conflict ORDER BY id DESC LIMIT 1 OFFSET \(most))
            """)
    }

    /// The peer that has deleted a row; nil if the entry was pruned.
    func peer(ofEntryAt clock: Int64) throws -> String? {
        let id = try db.fetchOne(Int64.self, "SELECT id FROM main.changelog WHERE clock = \(clock)")
        return try id.map { id in try name(of: UInt64(bitPattern: id) >> 40) }
    }
}

/// The conflicts that a merge notices: a change that loses to a change that its peer had not seen.
extension ChangeLogMerge {
    struct Conflict {
        let change: LoggedChange
        let peer: String?
    }

    /// Returns whether the sender of the message had not seen a change of a row.
    func isUnseen(_ stamp: ChangeStamp) -> Bool { stamp != .ancient && seen.map { !$0.includes(stamp) } ?? false }

    /// Notes values that lose.
    /// - Parameter kept: the values that stay, by column; nil for a deleted row. For a row that loses as a whole, all values are
    ///   noted if any value differs.
    mutating func lose(
        _ table: LoggedTable, _ key: [SQLValue], _ columns: [String], _ values: [SQLValue], to peer: String?,
        kept: [SQLName: SQLValue]?
    ) {
        if seen == nil || columns.isEmpty && kept != nil { return }
        if let kept, zip(columns, values).allSatisfy({ kept[SQLName($0)] == $1 }) { return }
        conflicts.append(
            Conflict(
                change: LoggedChange(
                    kind: .update, table: table.name, keyColumns: table.key, key: key, columns: columns, values: values,
                    base: .ancient),
                peer: peer))
    }

    /// Notes the row as it is in the table.
    mutating func loseRow(
        _ table: LoggedTable, _ key: [SQLValue], _ columns: [String]? = nil, to peer: String?, kept: [SQLName: SQLValue]?
    ) throws {
        guard seen != nil, let row = try store.current(table, key)?.values else { return }
        let wanted = columns?.nameSet
        let places = table.otherPlaces.filter { wanted?.contains(SQLName(table.columns[$0])) ?? true }
        lose(table, key, places.map { table.columns[$0] }, places.map { row[$0] }, to: peer, kept: kept)
    }

    static func values(_ columns: [String], _ values: [SQLValue]) -> [SQLName: SQLValue] {
        Dictionary(zip(columns.map { SQLName($0) }, values)) { first, _ in first }
    }
}

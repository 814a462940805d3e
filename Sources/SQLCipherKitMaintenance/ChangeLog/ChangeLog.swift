import Foundation
import SQLCipherKitCore

/// A log of changes, kept in the database itself, that synchronises copies of the database, each of which can be edited offline.
///
/// ```swift
/// let log = try ChangeLog(db, tables: ["note", "tag"], peer: "laptop")
/// try log.write { db in try db.execute("UPDATE note SET title = 'x' WHERE id = 1") }
///
/// let message = try log.changes(since: positionOfPhone)   // on the laptop
/// let outcome = try phoneLog.receive(message)             // on the phone
/// ```
/// Each copy is a *peer* with its own name. ``write(_:)`` records its changes to the logged tables in the same transaction, as an
/// entry: the peer, a number, a time and the changes. ``changes(since:)`` returns a message with the entries that another peer
/// lacks, this peer's own and those received from others. ``receive(_:)`` applies a message in one transaction. Repeated messages,
/// and messages that arrive by several routes, do no harm. A message that follows a lost one is refused until the lost entries have
/// arrived. When all peers have all entries, they have the same rows, whatever the order of the messages: <doc:Synchronise> has the
/// rules.
///
/// The log is kept in tables with names that begin with `changelog`, encrypted like the rest of the database. Use it on its
/// connection's thread. Creating a `ChangeLog` costs a few queries, so each closure of a ``SharedDatabase`` can create its own.
public final class ChangeLog {
    /// How to merge two changes to the same row, if neither peer knew of the other's change.
    public enum Rule: String, Hashable, Codable, Sendable {
        /// For each column, the later change wins. Changes to different columns of a row are both kept.
        case column
        /// The later change wins, with all its columns. For columns that belong together, such as a position's coordinates.
        case row
    }

    /// The connection.
    public let connection: Connection
    /// The name of this copy. ``rename(to:)`` changes it.
    public internal(set) var peer: String
    /// Which triggers run in ``receive(_:)``. Default: ``Changeset/Triggers/quiet``, because the changes already
    /// contain what triggers wrote to logged tables. To run triggers that write to other tables, name the ones that must not run:
    /// `.without(["log_new"])`.
    public var triggers = Changeset.Triggers.quiet

    /// What is done with changes that were made outside of ``write(_:)``. Default: ``OutsideChanges/logged``.
    public var outsideChanges = OutsideChanges.logged
    /// How far ahead of this device's clock the times of received entries may be: ``receive(_:)`` refuses those further ahead,
    /// because they would win over all later changes. Default: one day.
    public var clockTolerance: Duration = .seconds(86_400)

    static let name = "a change log"
    static var invalidPeerName: DatabaseError {
        .invalidArgument("a peer's name has 1 to 128 printable ASCII characters, without spaces")
    }

    let wanted: [String]
    let rules: [SQLName: Rule]
    let store: ChangeLogStore
    /// The system's time, for the clock.
    package var now: () -> Date = { Date() }
    /// Draws the identity of an entry.
    package var identity: () -> Int64 = { .random(in: 1...Int64.max) }
    private var isWriting = false
    private var known: (version: Int, tables: LoggedTables)?

    /// Opens the log of a database, or creates it, in a transaction.
    /// - Parameters:
    ///   - db: the connection. The log is in its main database.
    ///   - tables: the tables to log, the same for all peers. Each needs a declared primary key, with values that no two peers
    ///     choose for different rows, such as UUIDs. If a logged table has a foreign key, the table that it refers to must be
    ///     logged too. The key's collation is one of SQLite's own, and no row has NULL in it.
    ///   - peer: the name of this copy, 1 to 128 printable ASCII characters without spaces, such as a UUID. No two copies may have
    ///     the same name. For a database that was copied from a peer, use a name that was registered there with ``add(peer:)``
    ///     before the copy was made.
    ///   - rules: how conflicts are resolved, by table, the same for all peers. Default: ``Rule/column`` for every table.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name or a table that does not meet these requirements, or a rule
    ///   for a table that is not logged; ``DatabaseError/Reason/misuse`` if the log belongs to another peer and `peer` has not been
    ///   registered there; ``ResultCode/schema`` for a log that another version of this package has made in another form.
    public init(_ db: Connection, tables: [String], peer: String, rules: [String: Rule] = [:]) throws(DatabaseError) {
        guard peer.isPeerName else {
            throw Self.invalidPeerName
        }
        if let unknown = rules.keys.first(where: { !tables.contains(name: $0) }) {
            throw DatabaseError.invalidArgument("there is a rule for \(unknown), which is not among the logged tables")
        }
        connection = db
        self.peer = peer
        wanted = tables
        self.rules = Dictionary(rules.map { (SQLName($0.key), $0.value) }) { first, _ in first }
        store = ChangeLogStore(db: db)
        try DatabaseError.typed {
            let opened = db.state(OpenedChangeLog.self)
            if let tables = try opened.tables(of: self, wanted, self.rules) {
                known = tables
                return
            }
            try db.transaction { _ in
                try store.create()
                store.begin()
                let tables = try self.tables()
                try adopt()
                try store.watch(tables)
                try keepSettings(tables)
            }
            try opened.note(self, wanted, self.rules, known)
        }
    }

    /// Makes this peer the log's owner, if the log is new or the database is a copy made for this peer.
    private func adopt() throws(DatabaseError) {
        let owner = try store.state("peer", as: String.self)
        if owner != nil, try store.state("format", as: Int.self) != ChangeLogStore.format {
            throw DatabaseError(
                code: .schema,
                message: "the change log in the database is of another version of change logs: ChangeLog.delete(from:) removes it")
        }
        if owner == peer { return }
        if let owner {
            let members = try store.members()
            guard members[peer] == false, try store.ownPosition(of: owner).sequence(of: peer) == 0 else {
                throw .misuse(
                    "the log belongs to the peer \(owner): before the database is copied for \(peer), call add(peer:) there")
            }
            try store.setPosition(try store.ownPosition(of: owner), of: peer)
        } else {
            try connection.main.requireKeys(wanted, for: Self.name)
        }
        try store.setState("format", to: .integer(Int64(ChangeLogStore.format)))
        try store.setState("peer", to: .text(peer))
        try store.add(member: peer, at: ChangeStamp.tick(after: 0, now: now()))
    }

    func keepSettings(_ tables: LoggedTables) throws {
        let chosen = tables.all.filter { rules[SQLName($0.name)] != nil }.map { ($0.name, $0.rule) }
        try store.keep(Settings(peer: peer, tables: tables.all.map(\.name), rules: Dictionary(uniqueKeysWithValues: chosen)))
    }

    var schemaVersion: Int {
        get throws(DatabaseError) { try connection.fetchOne(Int.self, "PRAGMA main.schema_version") ?? 0 }
    }

    /// The descriptions of the logged tables, read again if the schema has changed.
    func tables() throws -> LoggedTables {
        let version = try schemaVersion
        if let known, known.version == version { return known.tables }
        let tables = try LoggedTables(connection.main, wanted, rules)
        known = (version, tables)
        return tables
    }

    /// Runs `body` in a transaction, or in a savepoint of the open one, and logs its changes to the logged tables, including those
    /// that triggers and foreign keys make.
    ///
    /// Changes of logged tables that were made outside this call, by any connection or program, are noticed when the log is used
    /// next, and logged or refused as ``outsideChanges`` says. A row with NULL in its key cannot be logged: after a change of one,
    /// the call throws.
    /// - Parameter body: makes the changes.
    /// - Returns: what `body` returns.
    /// - Throws: any error that `body`, beginning or committing throws. Then nothing has changed, and nothing is logged.
    @discardableResult
    public func write<R>(_ body: (Connection) throws -> R) throws -> R {
        // The outer call logs these changes too.
        if isWriting { return try connection.savepoint { db in TransactionEnd(try body(db)) } }
        let tables = try tables(), recorder = try RowRecorder(connection, tables)
        defer { recorder.close() }
        isWriting = true
        defer { isWriting = false }
        return try connection.transaction { db in
            try lookOutside()
            let result = try store.logging(tables) { try body(db) }
            try log(recorder, tables.all.map(\.name))
            return TransactionEnd(result)
        }
    }

    /// Logs the rows of the logged tables of which the log knows no insert, as if they were inserted now.
    ///
    /// Use it for rows that are older than the log, if other peers start from an empty database instead of a copy of this one. Call
    /// it once, before other peers change these rows: rows that are logged again count as new, and the other peers' changes to them
    /// are lost. All rows are read into memory, and make one entry.
    /// - Returns: the number of rows logged.
    /// - Throws: ``DatabaseError``. Then nothing is logged.
    @discardableResult
    public func addExistingRows() throws(DatabaseError) -> Int {
        try DatabaseError.typed {
            try connection.transaction { db in
                let outside = try lookOutside()
                var changes: [LoggedChange] = []
                for table in try tables().all {
                    try table.identity.requireValues(in: db.main, for: Self.name)
                    let names = table.columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
                    let rows = try db.fetchAll(RowCopy.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)"))
                    for row in rows {
                        let key = table.keyPlaces.map { row.values[$0] }
                        let known = try store.row(table, key)
                        if known.gone == nil, known.insert != .ancient { continue }
                        changes.append(
                            LoggedChange(
                                kind: .insert, table: table.name, keyColumns: table.key, key: key, columns: table.others,
                                values: table.otherPlaces.map { row.values[$0] }, base: .ancient))
                    }
                }
                try append(changes)
                return TransactionEnd.commit(changes.count + outside)
            }
        }
    }

    /// How the log of a database was opened last.
    public struct Settings: Hashable, Codable, Sendable {
        /// The name of the copy.
        public let peer: String
        /// The logged tables.
        public let tables: [String]
        /// The rules that are not the default, by table.
        public let rules: [String: Rule]
    }

    /// Returns how the log of a database was opened last; nil if there is none.
    /// - Throws: ``DatabaseError``.
    public static func settings(in db: Connection) throws(DatabaseError) -> Settings? {
        try DatabaseError.typed { try ChangeLogStore(db: db).settings() }
    }

    /// Deletes the log of a database, with its tables, in a transaction. The rows of the logged tables stay.
    /// - Throws: ``DatabaseError``. Then nothing is deleted.
    public static func delete(from db: Connection) throws(DatabaseError) {
        try DatabaseError.typed { try db.transaction { db in try ChangeLogStore(db: db).drop() } }
    }
}

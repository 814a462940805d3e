import Foundation

/// A log of changes in the database itself, with which copies of the database are kept equal while each is edited offline.
///
/// ```swift
/// let log = try ChangeLog(db, tables: ["note", "tag"], peer: "laptop")
/// try log.write { db in try db.execute("UPDATE note SET title = 'x' WHERE id = 1") }
///
/// let message = try log.changes(since: positionOfPhone)   // on the laptop
/// let outcome = try phoneLog.receive(message)             // on the phone
/// ```
/// Each copy is a *peer* with its own name. What ``write(_:)`` changes in the logged tables is recorded in the same transaction as
/// an entry: the peer, a number, a time and the changes. ``changes(since:)`` makes a message of the entries that another peer
/// lacks, its own and those received from others, and ``receive(_:)`` applies it in one transaction. Repeated messages and messages
/// that arrive by several ways do no harm, and a message that follows a lost one is refused until the lost entries have come. When
/// all peers have all entries, they have the same rows, in whatever order the messages came: <doc:Synchronise> has the rules.
///
/// The log is kept in five tables whose names begin with `changelog`, encrypted with the database. Use it on its connection's
/// thread. Making one costs a few queries, so a closure of ``SharedDatabase`` can make its own.
public final class ChangeLog {
    /// Which of two changes of the same row counts, made by peers that did not know of each other's.
    public enum Rule: String, Hashable, Codable, Sendable {
        /// The later one for each column. Two changes of different columns of a row are both made.
        case column
        /// The later one, with all its columns: for rows whose columns belong together, such as a position's coordinates.
        case row
    }

    /// The connection.
    public let connection: Connection
    /// The name of this copy.
    public let peer: String
    /// Which triggers run in ``receive(_:)``. Default: ``ChangesetOptions/Triggers-swift.enum/quiet``, as the changes contain what
    /// triggers wrote to logged tables. Triggers that write to other tables, such as those of a full-text index, can run:
    /// `.without(["log_new"])` names those that must not.
    public var triggers = ChangesetOptions.Triggers.quiet

    let wanted: [String]
    let rules: [SQLName: Rule]
    let store: ChangeLogStore
    /// The system's time, for the clock.
    var now: () -> Date = { Date() }
    private var isWriting = false
    private var known: (version: Int, tables: LoggedTables)?

    /// Opens the log of a database, or creates it.
    /// - Parameters:
    ///   - db: the connection. The log is in its main database.
    ///   - tables: the tables to log, the same for all peers. Each needs a declared primary key, with values that no two peers
    ///     choose for different rows, such as UUIDs. A table that refers to another one by a foreign key needs that one in the log.
    ///   - peer: the name of this copy, up to 128 printable ASCII characters without spaces, such as a UUID. No two copies may have
    ///     the same name. A database that was copied from a peer gets a name that the peer has registered before, with
    ///     ``add(peer:)``.
    ///   - rules: what to do about conflicts, by table, the same for all peers. Default: ``Rule/column``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for such a name or table, ``DatabaseError/Reason/misuse`` if the log
    ///   belongs to another peer and `peer` has not been registered.
    public init(_ db: Connection, tables: [String], peer: String, rules: [String: Rule] = [:]) throws {
        guard peer.isPeerName else {
            throw DatabaseError.invalidArgument("a peer's name has 1 to 128 printable ASCII characters, without spaces")
        }
        if let unknown = rules.keys.first(where: { !tables.contains(name: $0) }) {
            throw DatabaseError.invalidArgument("there is a rule for \(unknown), which is not among the logged tables")
        }
        connection = db
        self.peer = peer
        wanted = tables
        self.rules = Dictionary(rules.map { (SQLName($0.key), $0.value) }) { first, _ in first }
        store = ChangeLogStore(db: db)
        try db.transaction { _ in
            try store.create()
            _ = try self.tables()
            try adopt()
        }
    }

    /// Makes the database this peer's, if it is new or a copy made for it.
    private func adopt() throws(DatabaseError) {
        let owner = try store.state("peer", as: String.self)
        if owner == peer { return }
        if let owner {
            let members = try store.members()
            guard members[peer] == false, try store.position(of: owner).sequence(of: peer) == 0 else {
                throw .misuse(
                    "the log belongs to the peer \(owner): before the database is copied for \(peer), call add(peer:) there")
            }
            try store.setPosition(try store.position(of: owner), of: peer)
        }
        try store.setState("peer", to: .text(peer))
        try store.add(member: peer)
    }

    /// The descriptions of the logged tables, read again after the schema has changed.
    func tables() throws -> LoggedTables {
        let version = try connection.fetchOne(Int.self, "PRAGMA main.schema_version") ?? 0
        if let known, known.version == version { return known.tables }
        let tables = try LoggedTables(connection.main, wanted, rules)
        known = (version, tables)
        return tables
    }

    /// Runs `body` in a transaction, or in a savepoint of the open one, and logs what it changes in the logged tables, including
    /// what triggers and foreign keys do.
    ///
    /// What is changed outside this call is not logged, and stays different between the peers. Rows with NULL in their key are not
    /// logged either.
    /// - Parameter body: makes the changes.
    /// - Returns: what `body` returns.
    /// - Throws: any error of `body`, of beginning or of committing. Nothing has changed then, and nothing is logged.
    @discardableResult
    public func write<R>(_ body: (Connection) throws -> R) throws -> R {
        // The outer call logs all of it.
        if isWriting { return try connection.savepoint { db in TransactionEnd.commit(try body(db)) } }
        let recorder = try ChangeRecorder(connection.main, tables: try tables().all.map(\.name))
        defer { recorder.close() }
        isWriting = true
        defer { isWriting = false }
        return try connection.transaction { db in
            let result = try body(db)
            try log(try recorder.patchset())
            return TransactionEnd.commit(result)
        }
    }

    /// Logs the rows that exist in the logged tables but have never been logged, as if they were inserted now: for rows from before
    /// the log, if other peers start from an empty database rather than from a copy of this one.
    /// - Returns: the number of rows.
    @discardableResult
    public func addExistingRows() throws -> Int {
        try connection.transaction { db in
            var changes: [LoggedChange] = []
            for table in try tables().all {
                let names = table.columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
                let rows = try db.fetchAll(RowCopy.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)"))
                for row in rows {
                    let key = table.keyPlaces.map { row.values[$0] }
                    if key.contains(.null) { continue }
                    if try store.isKnown(table, key) { continue }
                    changes.append(
                        LoggedChange(
                            kind: .insert, table: table.name, keyColumns: table.key, key: key, columns: table.others,
                            values: table.otherPlaces.map { row.values[$0] }, base: .ancient))
                }
            }
            try append(changes)
            return TransactionEnd.commit(changes.count)
        }
    }

    /// Deletes the log of a database, with its tables. The rows of the logged tables stay.
    public static func delete(from db: Connection) throws { try db.transaction { db in try ChangeLogStore(db: db).drop() } }
}

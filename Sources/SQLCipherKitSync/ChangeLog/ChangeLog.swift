import Foundation
import SQLCipherKitCore

/// A log of changes, kept in the database itself. It synchronizes copies of the database that are edited offline.
///
/// ```swift
/// let log = try ChangeLog(db, tables: ["note", "tag"], localPeer: "laptop")
/// try log.write { db in try db.execute("UPDATE note SET title = 'x' WHERE id = 1") }
///
/// let message = try log.changes(since: positionOfPhone)   // on the laptop
/// let outcome = try phoneLog.receive(message)             // on the phone
/// ```
/// Each copy is a *peer* with its own name. ``write(_:)`` records its closure's changes to the logged tables in the same
/// transaction, as an entry: the peer, a number, a time and the changes. ``changes(since:)`` returns a message with the entries
/// that another peer lacks: this peer's own entries, and entries received from others. ``receive(_:)`` applies a message in one
/// transaction. Repeated messages, and messages that arrive by several routes, do no harm. A message that follows a lost message is
/// refused until the lost entries have arrived. When all peers have all entries, they have the same rows, in any order of the
/// messages: <doc:Synchronize> has the rules.
///
/// The log is kept in tables with names that begin with `changelog`, encrypted like the rest of the database. Use the log on its
/// connection's thread. Creating a `ChangeLog` costs a few queries, so each closure of a ``DatabaseWriter`` can create its own.
public final class ChangeLog {
    /// The way to merge two changes to the same row, if neither peer knew of the other's change.
    public enum MergePolicy: String, Hashable, Codable, Sendable {
        /// For each column, the later change wins. Changes to different columns of a row are both kept.
        case column
        /// The later change wins, with all its columns. For columns that belong together, such as a position's coordinates.
        case row
    }

    /// The connection.
    public let connection: Connection
    /// The name of this copy. ``rename(to:)`` changes it.
    public private(set) var localPeer: String
    /// The triggers that run in ``receive(_:)``. Default: ``Changeset/Triggers/essentialOnly``, because the changes already contain
    /// the rows that triggers wrote to logged tables. To run triggers that write to other tables, name the triggers that must not
    /// run: `.except(["log_new"])`.
    public var triggers = Changeset.Triggers.essentialOnly

    /// The treatment of changes made outside of ``write(_:)``. Default: ``OutsideChanges/logged``.
    public var outsideChanges = OutsideChanges.logged
    /// How far the time of a received entry may be ahead of this device's clock. ``receive(_:)`` refuses entries with later times,
    /// because these entries would win over all later changes. Default: one day.
    public var clockTolerance: Duration = .seconds(86_400)

    static let name = "a change log"
    private static var invalidPeerName: DatabaseError {
        .invalidArgument("a peer's name has 1 to 128 printable ASCII characters, without spaces")
    }

    private let wanted: [String]
    private let rules: [SQLName: MergePolicy]
    fileprivate let store: ChangeLogStore
    /// The system's time, for the clock.
    package var now: () -> Date = { Date() }
    /// Draws the identity of an entry.
    package var identity: () -> Int64 = { .random(in: 1...Int64.max) }
    private var isWriting = false
    private var known: (version: Int, tables: LoggedTables)?
    /// The version of the schema in which the triggers were last found.
    private var watched: Int?

    /// Opens the log of a database, or creates it, in a transaction.
    /// - Parameters:
    ///   - db: the connection. The log is in its main database.
    ///   - tables: the tables to log, the same for all peers. Each needs a declared primary key, with values that no two peers
    ///     choose for different rows, such as UUIDs. If a logged table has a foreign key, the table that it refers to must be
    ///     logged too. The key's collation is one of SQLite's own, and no row has NULL in it.
    ///   - peer: the name of this copy, 1 to 128 printable ASCII characters without spaces, such as a UUID. No two copies may have
    ///     the same name. For a database that was copied from a peer, use a name that was registered at that peer with
    ///     ``add(peer:)`` before the copy was made.
    ///   - rules: how conflicts are resolved, by table, the same for all peers. Default: ``MergePolicy/column`` for every table.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name or a table that does not meet these requirements, or a rule
    ///   for a table that is not logged; ``DatabaseError/Reason/misuse`` if the log belongs to another peer and `peer` has not been
    ///   registered there; ``ResultCode/schema`` for a log in the format of another version of this package.
    public init(
        _ db: Connection, tables: [String], localPeer peer: String, mergePolicies rules: [String: MergePolicy] = [:]
    ) throws {
        guard peer.isPeerName else {
            throw Self.invalidPeerName
        }
        if let unknown = rules.keys.first(where: { !tables.contains(name: $0) }) {
            throw DatabaseError.invalidArgument("there is a rule for \(unknown), which is not a logged table")
        }
        connection = db
        self.localPeer = peer
        wanted = tables
        self.rules = Dictionary(rules.map { (SQLName($0.key), $0.value) }) { first, _ in first }
        store = ChangeLogStore(db: db)
        let opened = db.state(OpenedChangeLog.self)
        if let tables = try opened.tables(of: self, wanted, self.rules) {
            (known, watched) = (tables, tables.version)
            return
        }
        try db.transaction { _ in
            try store.create()
            store.begin()
            _ = try self.tables()
            try adopt()
            try keepSettings(try watchedTables())
        }
        try opened.note(self, wanted, self.rules, known)
    }

    /// Makes this peer the log's owner, if the log is new or the database is a copy made for this peer.
    private func adopt() throws {
        let owner = try store.state("peer", as: String.self)
        if owner != nil, try store.state("format", as: Int.self) != ChangeLogStore.format {
            throw DatabaseError(
                code: .schema,
                message: "another version of this package made the database's change log: ChangeLog.delete(from:) removes it")
        }
        if owner == localPeer { return }
        if let owner {
            let members = try store.members()
            guard members[localPeer] == false, try store.ownPosition(of: owner).sequence(of: localPeer) == 0 else {
                throw DatabaseError.misuse(
                    "the log belongs to the peer \(owner): call add(peer:) for \(localPeer) there before you copy the database")
            }
            try store.setPosition(try store.ownPosition(of: owner), of: localPeer)
        } else {
            try connection.main.requireKeys(wanted, for: Self.name)
        }
        try store.setState("format", to: .integer(Int64(ChangeLogStore.format)))
        try store.setState("peer", to: .text(localPeer))
        try store.add(member: localPeer, at: ChangeStamp.tick(after: 0, now: now()))
    }

    private static var remade: DatabaseError {
        DatabaseError(
            code: .schema,
            message: """
                a logged table was dropped, created again or renamed inside the log's write, which cannot record that: do it \
                outside of write
                """)
    }

    /// The logged tables, after their triggers that note outside changes were created if missing. Runs in a transaction.
    private func watchedTables() throws -> LoggedTables {
        store.begin()
        let tables = try tables()
        if watched == known?.version { return tables }
        try store.watch(tables)
        // A rollback may undo the creation of triggers: keep the version only if no trigger was missing.
        if try schemaVersion == known?.version { watched = known?.version }
        return try self.tables()
    }

    private func keepSettings(_ tables: LoggedTables) throws {
        let chosen = tables.all.filter { rules[SQLName($0.name)] != nil }.map { ($0.name, $0.rule) }
        try store.keep(
            Settings(localPeer: localPeer, tables: tables.all.map(\.name), mergePolicies: Dictionary(uniqueKeysWithValues: chosen))
        )
    }

    fileprivate var schemaVersion: Int {
        get throws { try connection.fetchOne(Int.self, "PRAGMA main.schema_version") ?? 0 }
    }

    /// The descriptions of the logged tables, read again if the schema has changed.
    private func tables() throws -> LoggedTables {
        let version = try schemaVersion
        if let known, known.version == version { return known.tables }
        let tables = try LoggedTables(connection.main, wanted, rules)
        known = (version, tables)
        return tables
    }

    /// Runs `body` in a transaction, or in a savepoint of the open transaction, and logs its changes to the logged tables,
    /// including changes by triggers and foreign keys.
    ///
    /// Changes of logged tables that were made outside this call, by any connection or program, are noticed when the log is used
    /// next, and logged or refused as ``outsideChanges`` says. A row with NULL in its key cannot be logged: if `body` changes such
    /// a row, the call throws.
    /// - Parameter body: makes the changes.
    /// - Returns: the result of `body`.
    /// - Throws: any error of `body`, and of beginning or committing the transaction; ``DatabaseError/Reason/invalidArgument`` for
    ///   a changed row with NULL in its key, and for a logged table that is gone or can no longer be logged; ``ResultCode/schema``
    ///   if `body` replaced a logged table by a new one with its name; ``DatabaseError/Reason/typeMismatch`` for a text that is not
    ///   UTF-8 in a changed row; ``DatabaseError/Reason/misuse`` for outside changes that ``outsideChanges`` refuses. Then nothing
    ///   has changed, and nothing is logged.
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
            let version = known?.version
            let result = try store.logging(tables) { try body(db) }
            let now = try self.tables()
            if known?.version != version, try !store.isWatching(now) { throw Self.remade }
            try log(recorder, tables.all.map(\.name))
            return TransactionEnd(result)
        }
    }

    /// Logs all rows without an insert in the log, in all logged tables, as if these rows were inserted now.
    ///
    /// Use it for rows that are older than the log, if other peers start from an empty database instead of a copy of this database.
    /// Call it once, before other peers change these rows: rows that are logged again count as new, and the other peers' changes to
    /// them are lost. All rows are read into memory, and make one entry.
    /// - Returns: the number of rows logged.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a row with NULL in its key, and for a logged table that is gone or
    ///   can no longer be logged; ``DatabaseError/Reason/typeMismatch`` for a text that is not UTF-8;
    ///   ``DatabaseError/Reason/misuse`` for outside changes that ``outsideChanges`` refuses; ``DatabaseError/Reason/busy``;
    ///   ``ResultCode/corrupt`` for malformed bytes in the log's tables. Then nothing is logged.
    @discardableResult
    public func addExistingRows() throws -> Int {
        try connection.transaction { _ in
            let outside = try lookOutside()
            let changes = try inserts { table, key in
                let known = try store.row(table, key)
                return known.gone != nil || known.insert == .ancient
            }
            try append(changes)
            return TransactionEnd.commit(changes.count + outside)
        }
    }

    /// The rows of the logged tables, as if they were inserted now.
    private func inserts(_ isWanted: (LoggedTable, [SQLValue]) throws -> Bool) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for table in try tables().all {
            try table.identity.requireValues(in: connection.main, for: Self.name)
            let names = table.columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let rows = try connection.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)"))
            for row in rows {
                let key = table.keyPlaces.map { row.values[$0] }
                guard try isWanted(table, key) else { continue }
                changes.append(
                    LoggedChange(
                        kind: .insert, table: table.name, keyColumns: table.key, key: key, columns: table.others,
                        values: table.otherPlaces.map { row.values[$0] }, base: .ancient))
            }
        }
        return changes
    }

    /// The settings with which the log of a database was last opened.
    public struct Settings: Hashable, Codable, Sendable {
        /// The name of the copy.
        public let localPeer: String
        /// The logged tables.
        public let tables: [String]
        /// The rules that are not the default, by table.
        public let mergePolicies: [String: MergePolicy]
    }

    /// Returns the settings with which the log of a database was last opened; nil if there is no log.
    /// - Throws: ``ResultCode/corrupt`` for stored bytes that are not settings (opening the log replaces such bytes);
    ///   ``DatabaseError/Reason/closed``.
    public static func settings(in db: Connection) throws -> Settings? {
        try ChangeLogStore(db: db).settings()
    }

    /// Deletes the log of a database, with its tables, in a transaction. The rows of the logged tables stay.
    /// - Throws: ``DatabaseError/Reason/busy``; ``ResultCode/readOnly`` if there is a log and the database is open for reading
    ///   only; ``DatabaseError/Reason/closed``. Then nothing is deleted.
    public static func delete(from db: Connection) throws {
        try db.transaction { db in try ChangeLogStore(db: db).drop() }
    }
}

// MARK: Writing

extension ChangeLog {
    /// Logs the changes of a transaction.
    /// - Parameter names: of the tables that the recorder has.
    private func log(_ recorder: RowRecorder, _ names: [String]) throws {
        let (draft, keys) = try recorder.changes(names, tables()) { name in try store.number(of: name) }
        try append(draft, keys)
    }

    /// Adds an entry of this peer, and stamps its rows.
    /// - Parameter changes: without their ``LoggedChange/base``.
    private func append(_ changes: [LoggedChange]) throws {
        let tables = try tables()
        var draft = ChangeLogDraft(), keys = ChangeLogKeys()
        for change in changes {
            guard let table = tables[change.table] else { throw DatabaseError.malformedLog }
            keys.append(try store.number(of: table.name), table, change.key)
            draft.add(change)
        }
        try append(draft, keys)
    }

    private func append(_ draft: ChangeLogDraft, _ keys: ChangeLogKeys) throws {
        if draft.count == 0 { return }
        let tables = try tables(), position = try position
        let stamp = ChangeStamp(clock: ChangeStamp.tick(after: try store.clock(at: position), now: now()), peer: localPeer)
        // The insert is later than all known changes of the row.
        let inserted = try store.state(ChangeLogRow(insert: stamp))
        var bases = draft.forms.allSatisfy { $0.kind == .insert } ? [] : [Int32](repeating: 0, count: draft.count)
        var stamps = [ChangeStamp.ancient], known: [Int: (base: Int32, state: Int)] = [:]
        var last = (question: -1, base: Int32(0), state: 0)
        try store.change(keys) { place, state in
            let number = Int(draft.places[place]), question = number << 32 | state
            if question != last.question {
                if draft.forms[number].kind == .insert { return inserted }
                let answer: (base: Int32, state: Int)
                if let found = known[question] { answer = found } else {
                    let (base, next) = try stamped(state, draft.forms[number], stamp, tables)
                    var place = stamps.lastIndex(of: base) ?? stamps.count
                    if place < stamps.count - 32 { place = stamps.count }
                    if place == stamps.count { stamps.append(base) }
                    answer = (Int32(place), next)
                    known[question] = answer
                }
                last = (question, answer.base, answer.state)
            }
            bases[place] = last.base
            return last.state
        }
        try append(draft.coded(bases, stamps), at: stamp.clock, after: position.sequence(of: localPeer))
    }

    /// - Returns: the insert of a row, and the row's state after a change.
    private func stamped(
        _ state: Int, _ form: ChangeLogDraft.Form, _ stamp: ChangeStamp, _ tables: LoggedTables
    ) throws -> (base: ChangeStamp, state: Int) {
        var row = try store.row(ofState: state)
        let base = row.insert
        if form.kind == .delete {
            _ = row.deleted(base, stamp)
        } else if tables[form.table]?.rule == .row {
            _ = row.updated(ChangeLogRow.wholeRow, base, stamp)
        } else {
            for column in form.columns { _ = row.updated(SQLName(column), base, stamp) }
        }
        return (base, try store.state(row))
    }

    /// Adds an entry of this peer. Its rows have been stamped already.
    private func append(_ bytes: Data, at clock: Int64, after last: Int64) throws {
        let entry = ChangeLogEntry(peer: localPeer, sequence: last + 1, clock: clock, identity: identity(), bytes: bytes)
        try store.insert(entry)
    }
}

// MARK: Outside changes

extension ChangeLog {
    /// The treatment of changes of logged tables that were made outside of ``ChangeLog/write(_:)``: by other code, on another
    /// connection, or by another program.
    public enum OutsideChanges: Hashable, Sendable {
        /// The changes are logged, as one entry of this peer, with the times at which they are noticed.
        case logged
        /// ``ChangeLog/write(_:)``, ``ChangeLog/changes(since:)``, ``ChangeLog/receive(_:)`` and the other calls that log or merge
        /// changes throw ``DatabaseError/Reason/misuse`` with the tables' names, until ``ChangeLog/logOutsideChanges()`` is called.
        case refused
    }

    /// Logs the changes made outside of ``write(_:)`` since the log last looked for such changes.
    /// - Returns: the number of changed rows.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a changed row with NULL in its key, and for a logged table that is
    ///   gone or can no longer be logged; ``DatabaseError/Reason/typeMismatch`` for a text that is not UTF-8;
    ///   ``DatabaseError/Reason/busy``; ``ResultCode/corrupt`` for malformed bytes in the log's tables. Then nothing is logged.
    @discardableResult
    public func logOutsideChanges() throws -> Int {
        try connection.transaction { _ in
            let changes = try outsideChanges(try watchedTables())
            try append(changes)
            return TransactionEnd.commit(changes.count)
        }
    }

    /// Logs or refuses outside changes. Runs in a transaction, before any other use of the log.
    /// - Returns: the number of rows that were logged.
    @discardableResult
    private func lookOutside() throws -> Int {
        let tables = try watchedTables()
        let changed = try tables.all.filter { try store.hasOutsideChanges($0) }
        if changed.isEmpty { return 0 }
        guard outsideChanges == .logged else {
            throw DatabaseError.misuse(
                """
                rows of \(changed.map(\.name).joined(separator: ", ")) were changed outside of the log's write: \
                call logOutsideChanges() to log them
                """)
        }
        let changes = try outsideChanges(tables)
        try append(changes)
        return changes.count
    }

    /// Returns the changes that the triggers have noted, one for each row, and deletes the notes.
    private func outsideChanges(_ tables: LoggedTables) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for table in tables.all where try store.hasOutsideChanges(table) {
            for noted in try store.outsideChanges(table) {
                if let change = try change(of: noted, table) { changes.append(change) }
            }
            try store.forgetOutsideChanges(table)
        }
        return changes
    }

    /// Returns the change of a row since the first note about it. If a user's trigger runs before the log's trigger, the notes are
    /// in another order than the changes: so only the number of notes counts. An update is logged only if all peers can have the
    /// row; otherwise an insert is logged, which needs no earlier row.
    private func change(of noted: ChangeLogStore.NotedRow, _ table: LoggedTable) throws -> LoggedChange? {
        if noted.key.contains(.null) {
            // If it is gone, there is nothing to log.
            try table.identity.requireValues(in: connection.main, for: Self.name)
            return nil
        }
        let row = try store.current(table, noted.key)?.values
        let wasThere = (row == nil ? 0 : 1) + noted.deletes > noted.inserts
        func change(_ kind: RowChange.Kind, _ key: [SQLValue], _ values: [SQLValue]?) -> LoggedChange {
            LoggedChange(
                kind: kind, table: table.name, keyColumns: table.key, key: key, columns: values == nil ? [] : table.others,
                values: values ?? [], base: .ancient)
        }
        guard let row else {
            let known = try store.row(table, noted.key)
            let wasUnknown = known == ChangeLogRow() && !wasThere
            return known.gone != nil || wasUnknown ? nil : change(.delete, noted.key, nil)
        }
        let key = table.keyPlaces.map { row[$0] }, values = table.otherPlaces.map { row[$0] }
        // A key in another spelling comes with an insert.
        let isUpdate = try wasThere && noted.spellings.allSatisfy { $0 == key } && store.row(table, key).gone == nil
        return change(isUpdate ? .update : .insert, key, values)
    }
}

// MARK: Sending

extension ChangeLog {
    /// For each peer, the last entry that this copy has. Send it to a peer to get the result of ``changes(since:)`` in return.
    /// - Throws: ``ResultCode/corrupt`` for numbers in the log's tables that are out of bounds; ``DatabaseError/Reason/closed``.
    public var position: Position { get throws { try store.ownPosition(of: localPeer) } }

    /// The last known position of another peer, from its own messages and other peers' messages; nil for an unknown or a removed
    /// peer.
    /// - Throws: the errors of ``position``.
    public func position(of peer: String) throws -> Position? {
        try store.members()[peer] == false ? try store.position(of: peer) : nil
    }

    /// The other known peers, sorted by name: registered peers, senders of received messages, and the peers that these senders
    /// know.
    /// - Throws: ``DatabaseError/Reason/closed``; SQLite's error if the log was deleted.
    public var peers: [String] {
        get throws { try store.members().filter { !$0.value && $0.key != localPeer }.map(\.key).sorted() }
    }

    /// Registers a peer, so that ``prune(gracePeriod:)`` keeps the entries that the new peer lacks. Call this before you copy the
    /// database for a new peer: the copy can then be opened under that name. Registering a peer again has no effect.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid name, and for the name of a removed peer.
    public func add(peer name: String) throws {
        guard name.isPeerName else {
            throw Self.invalidPeerName
        }
        try connection.transaction { _ in
            guard try store.members()[name] != true else {
                throw DatabaseError.invalidArgument("the peer \(name) was removed, and its name cannot be used again")
            }
            try store.add(member: name, at: ChangeStamp.tick(after: 0, now: now()))
        }
    }

    /// Removes a peer that will not come back, so that ``prune(gracePeriod:)`` no longer waits for it. This peer's next messages
    /// tell the others, and all of them then refuse the removed peer's messages. To come back, the removed peer must start from a
    /// copy of another peer's database, under a new name.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for this peer itself and for an invalid name.
    public func remove(peer name: String) throws {
        if name == localPeer || !name.isPeerName {
            throw DatabaseError.invalidArgument("the peer \(name) cannot be removed here: it is this peer, or the name is invalid")
        }
        try connection.transaction { _ in try store.remove(member: name) }
    }

    /// Returns a message with the entries that a copy at a position lacks: this peer's own entries, and entries received from
    /// others.
    ///
    /// A position older than the other copy's does no harm: the message then has more entries than needed. The message is made in
    /// memory.
    /// - Parameter position: the position that the other peer sent, or its last known position, ``position(of:)``. Default: the
    ///   position of a copy without entries.
    /// - Throws: ``DatabaseError/Reason/changesMissing`` if entries that the copy lacks have been pruned: ``snapshot()`` replaces
    ///   them; ``DatabaseError/Reason/copyRestored`` if the other copy has entries of this peer that this copy does not have;
    ///   ``DatabaseError/Reason/misuse`` inside a transaction, which could be rolled back, and if the other copy has a different
    ///   entry with the same peer and number, because two copies use one name.
    public func changes(since position: Position = Position()) throws -> Message {
        try sent { _ in
            let own = try self.position
            if let mark = position.marks[localPeer], try lacks(mark, own) { throw Self.restored(localPeer) }
            var since = Position(), entries: [ChangeLogEntry] = [], lacking = 0
            for (origin, mark) in own.marks {
                let theirs = position.marks[origin]
                if let theirs {
                    since.marks[origin] = theirs.sequence < mark.sequence ? theirs : mark
                    try check(origin, theirs, own)
                }
                guard (theirs?.sequence ?? 0) < mark.sequence else { continue }
                lacking += Int(mark.sequence - (theirs?.sequence ?? 0))
                entries += try store.entries(of: origin, after: theirs?.sequence ?? 0)
            }
            guard entries.count == lacking else {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: "entries that the peer lacks were pruned: send it snapshot() or a copy of this database")
            }
            // Each entry is later than the entries that it depends on.
            entries.sort { $0.stamp < $1.stamp }
            return try message(since: since, until: own, entries: entries)
        }
    }

    /// Returns whether the entry that a copy has of a peer is the entry with the same number here, as far as that is known.
    private func isSame(_ origin: String, _ mark: Position.Mark, _ own: Position) throws -> Bool {
        let last = own.marks[origin]
        let same = last?.sequence == mark.sequence ? last : try store.mark(ofEntry: mark.sequence, of: origin)
        return same?.isSame(as: mark) ?? true
    }

    private func check(_ origin: String, _ mark: Position.Mark, _ own: Position) throws {
        if try !isSame(origin, mark, own) { throw Self.fork(origin) }
    }

    /// Returns whether this copy, in its present state, lacks the entry at a mark that other copies have of this peer.
    private func lacks(_ mark: Position.Mark, _ own: Position) throws -> Bool {
        try mark.sequence > own.sequence(of: localPeer) || !isSame(localPeer, mark, own)
    }

    private static func restored(_ peer: String) -> DatabaseError {
        DatabaseError(
            code: .error, reason: .copyRestored,
            message: """
                other copies have changes of the peer \(peer) that this copy lacks: it was restored from an older state, or \
                another copy uses its name. Call resolveRestore(.keepingThisState) to keep the rows of this copy, or \
                resolveRestore(.takingOthers) to take the rows of the others
                """)
    }

    private static func fork(_ peer: String) -> DatabaseError {
        .misuse(
            """
            two copies have different histories of the peer \(peer): both use its name, or one was restored from a backup after \
            it had sent changes; give one of the copies a new name with rename(to:)
            """)
    }

    /// Deletes the entries that all peers are known to have, and the keys and times of the rows that these entries deleted.
    ///
    /// A peer's messages, even messages without entries, and other peers' messages show which entries the peer has. No entry is
    /// deleted while another peer is known to have entries that this peer lacks.
    ///
    /// Register all peers before the first call, with ``add(peer:)`` or by receiving a message: a peer that was unknown during a
    /// call cannot get the deleted entries, and needs a ``snapshot()``. Rows that such a peer inserted before that call are logged
    /// again, as if they were inserted when they are received.
    /// - Parameter gracePeriod: how long to wait for a silent peer. A peer that was silent for longer needs a ``snapshot()`` when
    ///   it comes back; its own changes keep their times. The keys and times of deleted rows are kept until such peers know of the
    ///   deletes, or are removed. Default: nil, no limit.
    /// - Returns: the number of entries deleted; 0 if no other peer is known.
    /// - Throws: ``DatabaseError/Reason/busy``; ``ResultCode/corrupt`` for malformed bytes in the log's tables, or numbers that are
    ///   out of bounds; ``DatabaseError/Reason/closed``. Then nothing is deleted.
    @discardableResult
    public func prune(gracePeriod: Duration? = nil) throws -> Int {
        func limits() throws -> (horizon: Int64, last: Int64)? {
            store.begin()
            let others = try peers
            if others.isEmpty { return nil }
            // Only deletes that all peers know can be forgotten.
            let horizon = try common(to: others)
            guard let gracePeriod else { return (horizon, horizon) }
            let limit = ChangeStamp.tick(after: 0, now: now().addingTimeInterval(-(gracePeriod / .seconds(1))))
            return (horizon, try common(to: others.filter { try store.heard(of: $0) >= limit }))
        }
        // A commit costs more than this check for entries to delete.
        let isIdle = try connection.transaction(.deferred) { _ in
            guard let limits = try limits() else { return TransactionEnd.commit(true) }
            return TransactionEnd.commit(try limits.horizon <= store.horizon && !store.hasEntries(upTo: limits.last))
        }
        if isIdle { return 0 }
        return try connection.transaction { db in
            guard let limits = try limits() else { return TransactionEnd.commit(0) }
            try store.settle(upTo: limits.horizon)
            try store.setPosition(try position, of: localPeer)
            try db.execute("DELETE FROM main.changelog WHERE clock <= \(limits.last)")
            return TransactionEnd.commit(db.changes)
        }
    }

    /// The time up to which this peer and the others have all entries; 0 if another peer has entries that this peer lacks.
    private func common(to others: [String]) throws -> Int64 {
        let own = try position
        var common = own
        for other in others {
            let theirs = try store.position(of: other)
            // The entries that this peer lacks may be older than the entries that it would delete.
            guard own.includes(theirs) else { return 0 }
            for (origin, mark) in common.marks where theirs.sequence(of: origin) < mark.sequence {
                common.marks[origin] = theirs.marks[origin]
            }
        }
        var first = Int64.max
        for (origin, mark) in own.marks where common.sequence(of: origin) < mark.sequence {
            let last = common.sequence(of: origin), next = try store.entry(after: last, of: origin)
            // An entry that is not in the log, as it came with a whole state or was pruned, is later than the last entry before it.
            let isNext = next?.sequence == last + 1
            first = min(first, isNext ? next?.clock ?? 0 : (common.marks[origin]?.clock ?? 0) + 1)
        }
        let last = try connection.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog WHERE clock < \(first)")
        return common.marks.values.map(\.clock).filter { $0 < first }.reduce((last ?? nil) ?? 0, max)
    }
}

// MARK: All rows

extension ChangeLog {
    /// Returns a message with all rows of the logged tables, for a peer that lacks pruned entries: for such a peer,
    /// ``changes(since:)`` throws ``DatabaseError/Reason/changesMissing``. Any peer can receive the message. The message is merged
    /// in the same way as entries.
    ///
    /// The message is made in memory.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, which could be rolled back, and for outside changes that
    ///   ``outsideChanges`` refuses; ``DatabaseError/Reason/invalidArgument`` for a logged table that is gone or can no longer be
    ///   logged; ``DatabaseError/Reason/typeMismatch`` for a text that is not UTF-8; ``ResultCode/corrupt`` for malformed bytes in
    ///   the log's tables.
    public func snapshot() throws -> Message {
        try sent { db in
            var state = ChangeLogState()
            for table in try tables().all {
                var part = ChangeLogState.Table(name: table.name, keyColumns: table.key, columns: table.others)
                let names = (table.key + table.others).map(\.quotedSQLIdentifier).joined(separator: ", ")
                try db.forEach(SQL(raw: "SELECT \(names) FROM main.\(table.quotedName)")) { row in
                    let values = try OwnedRow(row: row).values
                    let key = Array(values.prefix(table.key.count))
                    if key.contains(.null) { return }
                    var known = try store.row(table, key)
                    known.gone = nil
                    part.rows.append(ChangeLogState.Row(key: key, values: Array(values.dropFirst(table.key.count)), row: known))
                }
                part.rows += try store.rows(of: table, areGone: true).compactMap { key, row in
                    try store.current(table, key) == nil ? ChangeLogState.Row(key: key, values: nil, row: row) : nil
                }
                state.tables.append(part)
            }
            return try message(since: Position(), until: try position, entries: [], state: state)
        }
    }

    /// Makes a message, and makes its entries durable before it returns. If a power cut or a rollback removed an entry that a peer
    /// has, this copy would use the entry's number again for other content.
    private func sent(_ make: (Connection) throws -> Message) throws -> Message {
        if connection.isInTransaction {
            throw DatabaseError.misuse(
                "a message cannot be created inside a transaction: a rollback could remove entries that other copies have")
        }
        let message = try connection.transaction(.deferred) { db in
            try lookOutside()
            let message = try make(db)
            if try store.isRestoreResolved { try store.setRestoreResolved(false) }
            return TransactionEnd.commit(message)
        }
        try connection.main.makeDurable()
        return message
    }

    /// A message with the positions of all known peers.
    private func message(
        since: Position, until: Position, entries: [ChangeLogEntry], state: ChangeLogState? = nil
    ) throws -> Message {
        var peers: [String: Position] = [:]
        let members = try store.members()
        for (name, isRemoved) in members where !isRemoved && name != localPeer { peers[name] = try store.position(of: name) }
        return Message(
            sender: localPeer, since: since, until: until, horizon: min(try store.horizon, until.latest), tables: try tables().all,
            peers: peers, removed: Set(members.filter(\.value).keys), entries: entries, state: state)
    }
}

// MARK: Receiving

extension ChangeLog {
    /// Applies a message from another peer in one transaction: all of it, or nothing.
    ///
    /// Entries that were received before are skipped. Foreign key actions do not run, and neither do triggers that ``triggers``
    /// excludes: the changes already contain the effects of both. References to deleted rows are repaired only if the connection
    /// enforces foreign keys. See <doc:Synchronize> for how conflicts are resolved.
    /// ```swift
    /// do { try log.receive(message) } catch let error as DatabaseError where error.reason == .changesMissing {
    ///     askAgain(since: try log.position)
    /// }
    /// ```
    /// - Returns: for each table, the number of changes applied, skipped and repaired.
    /// - Throws: ``DatabaseError/Reason/changesMissing`` if entries before the message have not been received;
    ///   ``ResultCode/schema`` if a table, a primary key, a column or a rule is missing or different here; ``ResultCode/abort`` for
    ///   an entry whose time is further ahead of this device's clock than ``clockTolerance``, and for a new row that a constraint
    ///   of this database refuses: the error names the table, and the key if it is a single integer; ``ResultCode/corrupt`` for
    ///   entries that do not follow one another; ``DatabaseError/Reason/copyRestored`` if the message has entries of this peer that
    ///   this copy does not have, until ``resolveRestore(_:)`` is called; ``DatabaseError/Reason/misuse`` inside a transaction, for
    ///   a message from a removed peer, if this peer was removed, and if two histories of one peer meet. Then nothing has changed.
    @discardableResult
    public func receive(_ message: Message) throws -> Outcome {
        try receive(message, isStored: false)
    }

    /// - Parameter isStored: whether the message comes from a store, which has this peer's own messages too.
    package func receive(_ message: Message, isStored: Bool) throws -> Outcome {
        try merging { enforces in try apply(message, isStored, enforces) }
    }

    /// Runs `body` in a transaction in which rows are merged.
    private func merging<R>(_ body: (_ enforces: Bool) throws -> R) throws -> R {
        if connection.isInTransaction { throw DatabaseError.misuse("a message cannot be received inside a transaction") }
        let enforces = try connection.settings.isEnabled(.foreignKeys)
        func run() throws -> R {
            try connection.withTriggers(triggers, changing: []) {
                try connection.transaction { _ in
                    try lookOutside()
                    return TransactionEnd.commit(try store.logging(tables()) { try body(enforces) })
                }
            }
        }
        return enforces ? try connection.withoutForeignKeys(run) : try run()
    }

    private func apply(_ message: Message, _ isStored: Bool, _ enforces: Bool) throws -> Outcome {
        let tables = try tables(), resolvesForks = try store.isRestoreResolved
        var own = try position
        if !resolvesForks {
            let marks = [message.since.marks[localPeer], message.until.marks[localPeer]].compactMap { $0 }
                + message.entries.filter { $0.peer == localPeer }.map(\.mark)
            for mark in marks where try lacks(mark, own) { throw Self.restored(localPeer) }
        }
        if message.sender == localPeer, !isStored, !resolvesForks { throw Self.fork(localPeer) }
        try check(message, tables, own, resolvesForks)
        let old = try outdated(by: message, own)
        // Their numbers are not used again, as others may have the entries.
        if !old.isEmpty { try store.setPosition(own, of: localPeer) }
        for entry in old { try store.remove(entry) }
        var taken = try takeBack(old)
        if resolvesForks, let last = try forked(by: message, own) {
            taken += try takeBack(after: last, own)
            own = try position
        }
        var outcome = Outcome()
        let new = try newEntries(message, own, &outcome)
        var merge = ChangeLogMerge(connection, store, tables, horizon: try store.horizon)
        merge.outcome = outcome
        merge.seen = message.until
        let isNew = !own.includes(message.until)
        if let state = message.state, isNew || message.isMend {
            try merge.add(message, state, own: own)
            try store.setPosition(own.merged(with: message.until), of: localPeer)
        }
        try finish(&merge, new, taken, enforces)
        outcome = merge.outcome
        outcome.renewed += taken.count
        if !old.isEmpty { try store.setState(ChangeLogStore.lacks, to: .integer(1)) }
        // Rows that it no longer has were deleted here, without a record.
        if message.isSnapshot, isNew { try store.settle(upTo: message.horizon) }
        guard try position.includes(message.until) else { throw DatabaseError.malformedLog }
        for name in message.removed where name != localPeer { try store.remove(member: name) }
        let members = try store.members(), time = ChangeStamp.tick(after: 0, now: now())
        for (name, position) in message.peers.merging([message.sender: message.until], uniquingKeysWith: { $1 }) {
            if name == localPeer || members[name] == true { continue }
            let known = try store.position(of: name), merged = known.merged(with: position)
            try store.add(member: name, at: time)
            if merged != known { try store.setPosition(merged, of: name) }
            if merged != known || name == message.sender { try store.hear(of: name, at: time) }
        }
        return outcome
    }

    /// Merges new entries, and an entry for the changes that were taken back, and writes the rows and the log.
    private func finish(_ merge: inout ChangeLogMerge, _ new: [ChangeLogEntry], _ taken: [TakenRow], _ enforces: Bool) throws {
        var new = new
        for entry in new { try merge.add(entry) }
        // Changes that are logged again are not new to their writers.
        let seen = merge.seen
        merge.seen = nil
        var clock = max(try store.clock(at: position), new.map(\.clock).max() ?? 0)
        if !taken.isEmpty {
            let stamp = ChangeStamp(clock: ChangeStamp.tick(after: clock, now: now()), peer: localPeer)
            let changes = try renewed(taken, stamp, &merge)
            let last = max(
                try position.sequence(of: localPeer), new.reduce(0) { $1.peer == localPeer ? max($0, $1.sequence) : $0 })
            let entry = ChangeLogEntry(
                peer: localPeer, sequence: last + 1, clock: stamp.clock, identity: identity(), bytes: ChangeLogEntry.coded(changes))
            if !changes.isEmpty {
                try merge.add(entry)
                new.append(entry)
                clock = stamp.clock
            }
        }
        merge.seen = seen
        try merge.apply(repairs: ChangeStamp(clock: ChangeStamp.tick(after: clock, now: now()), peer: localPeer), enforces)
        try store.add(merge.conflicts, at: now())
        if !new.isEmpty {
            for entry in new { try store.insert(entry) }
            var position = Position()
            for entry in new { position.marks[entry.peer] = entry.mark }
            try store.setPosition(position, of: localPeer)
        }
        if merge.repairs.isEmpty { return }
        try append(ChangeLogEntry.coded(merge.repairs), at: merge.stamp.clock, after: position.sequence(of: localPeer))
    }

    /// Throws if the message cannot be received here.
    private func check(
        _ message: Message, _ tables: LoggedTables, _ own: Position, _ resolvesForks: Bool
    ) throws {
        if message.removed.contains(localPeer) {
            throw DatabaseError.misuse(
                "this peer was removed: start again from a copy of another peer's database, under a new name")
        }
        if try store.members()[message.sender] == true {
            throw DatabaseError.misuse("the message comes from the peer \(message.sender), which was removed")
        }
        for (name, rule) in message.rules {
            guard let table = tables[name], table.rule != rule else { continue }
            throw DatabaseError(code: .schema, message: "the rule for the table \(name) is \(table.rule) here, and \(rule) there")
        }
        for (name, key) in message.keys where !key.isEmpty {
            guard let table = tables[name], table.identity.description != key else { continue }
            throw DatabaseError(
                code: .schema,
                message: """
                    the key of the table \(name) is \(table.identity.description.joined(separator: ", ")) here, and \
                    \(key.joined(separator: ", ")) there
                    """)
        }
        for (origin, mark) in message.since.marks {
            // The entries that another copy with this name has stored come first.
            let isOther = try resolvesForks && origin == localPeer && !isSame(origin, mark, own)
            guard !isOther, own.sequence(of: origin) >= mark.sequence else {
                throw DatabaseError(
                    code: .error, reason: .changesMissing,
                    message: "entries before this message are missing: ask the sender for the changes since this peer's position")
            }
            try check(origin, mark, own)
        }
        try checkTime(message.horizon, "the log of the peer \(message.sender)")
        if message.isSnapshot {
            for (name, mark) in message.until.marks {
                try checkTime(mark.clock, "the last entry of the peer \(name)")
                if mark.sequence <= own.sequence(of: name), !resolvesForks || name != localPeer { try check(name, mark, own) }
            }
        }
    }

    /// The entries that this copy lacks. Each must follow the last entry of its peer.
    private func newEntries(
        _ message: Message, _ own: Position, _ outcome: inout Outcome
    ) throws -> [ChangeLogEntry] {
        var marks = own.marks, new: [ChangeLogEntry] = []
        for entry in message.entries {
            let mark = marks[entry.peer]
            if entry.sequence <= mark?.sequence ?? 0 {
                try check(entry.peer, entry.mark, own)
                outcome.repeated += 1
                continue
            }
            guard entry.sequence == (mark?.sequence ?? 0) + 1, entry.clock > mark?.clock ?? 0 else {
                throw DatabaseError.malformedLog
            }
            try checkTime(entry.clock, "the entry \(entry.sequence) of the peer \(entry.peer)")
            marks[entry.peer] = entry.mark
            new.append(entry)
        }
        outcome.received = new.count
        return new
    }
}

// MARK: Restored copies

extension ChangeLog {
    /// The way in which a copy that was restored from an older state continues; see ``ChangeLog/resolveRestore(_:)``.
    public enum RestoreChoice: String, Hashable, Codable, Sendable {
        /// The rows of this copy win, as if they had been inserted at the time of the call: they replace other copies' values, and
        /// rows that other copies have deleted come back. Rows that any copy inserted after the restored state stay, and this copy
        /// receives them.
        case keepingThisState
        /// The copy receives its own former changes, like the changes of all others. Changes that this copy made after it was
        /// restored are kept, and count as later.
        case takingOthers
    }

    /// Chooses how this copy continues after it was restored from an older state, such as a backup.
    ///
    /// Other copies, or a store, then have changes that this copy made and has lost. Until this call, ``receive(_:)``,
    /// ``changes(since:)`` and `synchronize(with:)` of a `SharedChangeLog` throw ``DatabaseError/Reason/copyRestored`` when they
    /// find such a change, and change nothing. After this call, repeat the call that threw. The choice holds on this connection
    /// until this copy makes its next message. If you exchange messages without a store, receive from all other copies before you
    /// make that message. A backup does not contain the choice: on a copy that is restored from a backup, these calls throw again.
    /// ```swift
    /// do {
    ///     try log.receive(message)
    /// } catch let error as DatabaseError where error.reason == .copyRestored {
    ///     try log.resolveRestore(.takingOthers)
    ///     try log.receive(message)
    /// }
    /// ```
    /// If the error comes back although no copy was restored, two copies use one name: give one of them a new name with
    /// ``rename(to:)``.
    /// - Parameter choice: whether this copy's rows win, or the others' rows. With ``RestoreChoice/keepingThisState`` all rows of
    ///   the logged tables are read into memory, and logged as one entry.
    /// - Throws: ``DatabaseError/Reason/misuse`` for outside changes that ``outsideChanges`` refuses;
    ///   ``DatabaseError/Reason/invalidArgument`` for a logged table that is gone or can no longer be logged, and, with
    ///   ``RestoreChoice/keepingThisState``, for a row with NULL in its key; ``DatabaseError/Reason/busy``; ``ResultCode/corrupt``
    ///   for malformed bytes in the log's tables. Then nothing has changed.
    public func resolveRestore(_ choice: RestoreChoice) throws {
        try connection.transaction { _ in
            try lookOutside()
            if choice == .keepingThisState { try append(inserts { _, _ in true }) }
            try store.setRestoreResolved(true)
        }
    }
}

// MARK: Renewing

/// Entries that other peers cannot take are replaced by new entries: entries with times that are far ahead, entries older than the
/// deletes that others have forgotten, and entries with numbers that another copy of this peer has used.
extension ChangeLog {
    /// The effect of entries on a row that no later entry has undone.
    private struct TakenRow {
        let table: LoggedTable
        let key: [SQLValue]
        /// The row as it is; nil if it is gone.
        let values: [SQLValue]?
        let isInserted: Bool, isDeleted: Bool
        /// The columns that were updated.
        let columns: [SQLName]
    }

    /// Takes entries out of the log, and their stamps from the rows. The rows stay as they are.
    private func takeBack(_ entries: [ChangeLogEntry]) throws -> [TakenRow] {
        let stamps = Set(entries.map(\.stamp)), clocks = Set(entries.map(\.clock)), tables = try tables()
        var taken: [TakenRow] = []
        for entry in entries {
            for change in try entry.changes() {
                guard let table = tables[change.table] else { continue }
                let key = table.key.compactMap { name in change.keyColumns.firstIndex(named: name).map { change.key[$0] } }
                guard key.count == table.key.count else { continue }
                taken += try takeBack(table, key, { stamps.contains($0) }, { clocks.contains($0) })
            }
        }
        return taken
    }

    /// Takes all entries of this peer after an entry out of the log, and their stamps from the rows.
    private func takeBack(after last: Position.Mark, _ own: Position) throws -> [TakenRow] {
        let count = own.sequence(of: localPeer) - last.sequence, entries = try store.entries(of: localPeer, after: last.sequence)
        if count <= 0 { return [] }
        var taken = try takeBack(entries)
        if entries.count < count {
            // The rest of the entries were pruned: only the rows still have their times.
            for table in try tables().all {
                for (key, _) in try store.rows(of: table) {
                    taken += try takeBack(table, key, { $0.peer == localPeer && $0.clock > last.clock }, { _ in false })
                }
            }
        }
        try store.removeEntries(of: localPeer, after: last, for: localPeer)
        return taken
    }

    /// Takes stamps from a row.
    private func takeBack(
        _ table: LoggedTable, _ key: [SQLValue], _ isTaken: (ChangeStamp) -> Bool, _ isTakenTime: (Int64) -> Bool
    ) throws -> [TakenRow] {
        var row = try store.row(table, key)
        let now = try store.current(table, key)?.values
        let isInserted = isTaken(row.insert), isDeleted = row.gone.map { isTakenTime($0) } ?? false
        let columns = row.cells.filter { isTaken($0.value) }.map(\.key)
        if !isInserted, !isDeleted, columns.isEmpty { return [] }
        if isInserted { row = ChangeLogRow() }
        if isDeleted { row.gone = nil }
        for column in columns { row.cells[column] = nil }
        try store.save(row, table, key)
        return [
            TakenRow(
                table: table, key: now.map { now in table.keyPlaces.map { now[$0] } } ?? key, values: now,
                isInserted: isInserted, isDeleted: isDeleted, columns: columns)
        ]
    }

    /// Returns the effects that were taken back, as changes of an entry that follows the entries that `merge` has already.
    private func renewed(_ taken: [TakenRow], _ stamp: ChangeStamp, _ merge: inout ChangeLogMerge) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for row in taken {
            let table = row.table, base = try merge.insert(of: table, row.key)
            func add(_ kind: RowChange.Kind, _ places: [Int], _ base: ChangeStamp) {
                changes.append(
                    LoggedChange(
                        kind: kind, table: table.name, keyColumns: table.key, key: row.key,
                        columns: places.map { table.columns[$0] }, values: places.compactMap { row.values?[$0] }, base: base))
            }
            if row.values != nil {
                let isWhole = row.isInserted || row.columns.contains(ChangeLogRow.wholeRow)
                let columns = Set(row.columns)
                let places = table.otherPlaces.filter { isWhole || columns.contains(SQLName(table.columns[$0])) }
                if row.isInserted || !places.isEmpty { add(row.isInserted ? .insert : .update, places, base) }
            } else if row.isInserted {
                // The row was inserted in place of another row, which the log no longer knows.
                add(.insert, [], .ancient)
                add(.delete, [], stamp)
            } else if row.isDeleted {
                add(.delete, [], base)
            }
        }
        return changes
    }

    /// Returns the entries of this peer that the sender of a message lacks, if the first of them is older than deletes that the
    /// sender has forgotten.
    private func outdated(by message: Message, _ own: Position) throws -> [ChangeLogEntry] {
        let theirs = message.until.sequence(of: localPeer)
        guard message.horizon > 0, theirs < own.sequence(of: localPeer), let next = try store.entry(after: theirs, of: localPeer),
            next.clock <= message.horizon
        else { return [] }
        return try store.entries(of: localPeer, after: theirs)
    }

    /// The last entry of this peer that is the same in a message of another copy with this peer's name; nil if all are.
    /// - Throws: ``DatabaseError/Reason/misuse`` if others have entries after it already.
    private func forked(by message: Message, _ own: Position) throws -> Position.Mark? {
        var last: Position.Mark?
        let mark = own.marks[localPeer]
        if message.isSnapshot {
            // A snapshot does not say which of the entries that no other peer is known to have are the same.
            if let theirs = message.until.marks[localPeer], let mark,
                try theirs.sequence > mark.sequence || !isSame(localPeer, theirs, own)
            { last = try published() }
        } else {
            var same = message.since.marks[localPeer] ?? .none
            for entry in message.entries where entry.peer == localPeer && last == nil {
                if entry.sequence <= mark?.sequence ?? 0, try !isSame(localPeer, entry.mark, own) { last = same }
                same = entry.mark
            }
        }
        guard let last, last.sequence < mark?.sequence ?? 0 else { return nil }
        if try published().sequence > last.sequence { throw Self.fork(localPeer) }
        return last
    }

    /// The last entry of this peer that another peer is known to have.
    private func published() throws -> Position.Mark {
        let marks: [(Int64, Int64, Int64)] = try connection.fetchAll(
            "SELECT sequence, clock, identity FROM main.changelog_peer WHERE origin = \(localPeer) AND peer <> \(localPeer)")
        // Others may have entries of another copy.
        let own = try position
        return try marks.filter { $0.0 <= own.sequence(of: localPeer) }.reduce(.none) { last, row in
            let mark = Position.Mark(sequence: row.0, clock: row.1, identity: row.2)
            return try mark.sequence > last.sequence && isSame(localPeer, mark, own) ? mark : last
        }
    }

    // MARK: The clock

    /// Corrects times in the log that are further ahead of this device's clock than ``clockTolerance``, after the clock was wrong.
    /// Call it only when the clock is right.
    ///
    /// The entries with such times, which other peers refuse, are removed. The rows that these entries changed are logged again
    /// with their present values, as one entry of this peer.
    /// - Returns: the number of rows that were logged again; 0 if no time was too far ahead.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, and for outside changes that ``outsideChanges`` refuses;
    ///   ``DatabaseError/Reason/invalidArgument`` for a logged table that is gone or can no longer be logged;
    ///   ``DatabaseError/Reason/busy``; ``ResultCode/corrupt`` for malformed bytes in the log's tables. Then nothing has changed.
    @discardableResult
    public func repairClock() throws -> Int {
        try merging { enforces in
            let limit = clockLimit
            guard try store.clock(at: position) > limit else { return 0 }
            let horizon = min(try store.horizon, limit)
            for (origin, mark) in try position.marks where mark.clock > limit {
                // The times of a peer grow, so these are its last entries. Earlier entries may have been pruned.
                let late = try store.entries(of: origin, after: 0).first { $0.clock > limit }?.sequence ?? mark.sequence + 1
                let last = try store.mark(ofEntry: late - 1, of: origin)
                try store.removeEntries(
                    of: origin, after: last ?? Position.Mark(sequence: late - 1, clock: limit, identity: 0), for: localPeer)
            }
            var taken: [TakenRow] = []
            for table in try tables().all {
                for (key, _) in try store.rows(of: table) {
                    taken += try takeBack(table, key, { $0.clock > limit }, { $0 > limit })
                }
            }
            let last = try connection.fetchOne(Int64?.self, "SELECT max(clock) FROM main.changelog") ?? nil
            try store.setState("horizon", to: .integer(horizon))
            try store.setState("clock", to: .integer(max(last ?? 0, horizon)))
            var merge = ChangeLogMerge(connection, store, try tables(), horizon: horizon)
            try finish(&merge, [], taken, enforces)
            return taken.count
        }
    }
}

// MARK: Times

/// A log's times come from the clocks of its peers. Each time is later than all times that its peer has seen. So one clock that is
/// far ahead would move all other clocks ahead, and its changes would win for years.
extension ChangeLog {
    /// The latest time that is accepted now.
    private var clockLimit: Int64 { ChangeStamp.tick(after: 0, now: now().addingTimeInterval(clockTolerance / .seconds(1))) }

    /// - Parameter what: the name of the checked entry or row, for the message.
    private func checkTime(_ clock: Int64, _ what: @autoclosure () -> String) throws {
        guard clock > clockLimit else { return }
        let hours = ((clock - ChangeStamp.tick(after: 0, now: now())) >> 16) / 3_600_000
        throw DatabaseError(
            code: .abort,
            message: """
                \(what()) is \(hours) hours ahead of this device's clock: one of the two clocks is wrong. Correct it, then \
                call repairClock() on the device whose clock was wrong
                """)
    }
}

// MARK: Renaming

extension ChangeLog {
    /// Gives this copy a new name for its later changes.
    ///
    /// Call it if this copy has lost changes that other copies have, and cannot get them back with ``resolveRestore(_:)``. This
    /// happens if the copy was restored from a backup or created again, and then either the changes that it had sent are lost, or
    /// it has sent other changes since. Then ``receive(_:)`` throws ``DatabaseError/Reason/misuse`` at this copy or another copy,
    /// or `synchronize(with:)` stores nothing. Under the new name, the copy receives its former changes like any other copy's
    /// changes. Changes that no other copy is known to have are logged again after them.
    /// ```swift
    /// let former = try await SharedChangeLog(pool, tables: ["note"], localPeer: "laptop")
    /// try await former.withLog { log in _ = try log.rename(to: "laptop-2") }
    /// let renamed = try await SharedChangeLog(pool, tables: ["note"], localPeer: "laptop-2")
    /// ```
    /// Do not use the former name again. Pass it to ``remove(peer:)`` at any other copy, so that ``prune(gracePeriod:)`` no longer
    /// waits for it there.
    /// - Returns: the number of rows that were logged again.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an invalid name, and for a name that a peer has or had;
    ///   ``DatabaseError/Reason/misuse`` inside a transaction. Then nothing has changed.
    @discardableResult
    public func rename(to name: String) throws -> Int {
        guard name.isPeerName else { throw Self.invalidPeerName }
        let former = localPeer
        do {
            return try merging { enforces in try takeName(name, enforces) }
        } catch {
            localPeer = former
            throw error
        }
    }

    private func takeName(_ name: String, _ enforces: Bool) throws -> Int {
        let own = try position
        guard try store.members()[name] == nil, own.sequence(of: name) == 0 else {
            throw DatabaseError.invalidArgument("the name \(name) belongs or belonged to a peer: choose another name")
        }
        // If a peer is not known to have an entry, it may have a different entry with that number.
        let last = try published()
        let taken = try takeBack(after: last, own)
        try store.setPosition(try position, of: name)
        // If another copy has the former name too, its messages add the name again.
        try store.forget(member: localPeer)
        try store.add(member: name, at: ChangeStamp.tick(after: 0, now: now()))
        try store.setState("peer", to: .text(name))
        // From now on, its chains in stores belong to another copy.
        try store.forgetChains()
        localPeer = name
        let tables = try tables()
        var merge = ChangeLogMerge(connection, store, tables, horizon: try store.horizon)
        try finish(&merge, [], taken, enforces)
        try keepSettings(tables)
        return taken.count
    }
}

// MARK: Checking

/// Copies with the same entries have the same rows. A copy does not check the rows of a message with all rows, so copies compare
/// checksums from time to time. A copy asks for the changes that it cannot get.
extension ChangeLog {
    /// Checksums of a copy's rows.
    struct RowSums: Hashable, Codable, Sendable {
        /// The entries that the copy has.
        let position: Position
        /// By the names of tables and their columns.
        let tables: [String: Int64]

        init(position: Position, tables: [String: Int64]) { (self.position, self.tables) = (position, tables) }

        /// Returns whether two copies with the same entries have different rows. Tables with different columns are not compared.
        func differ(from other: RowSums) -> Bool {
            position == other.position && tables.contains { name, sum in other.tables[name].map { $0 != sum } ?? false }
        }
    }

    /// Reads all rows of the logged tables.
    func rowSums() throws -> RowSums {
        try connection.transaction(.deferred) { db in
            try lookOutside()
            var sums: [String: Int64] = [:]
            for table in try tables().all {
                let names = table.key + table.others.sorted()
                var sum: UInt64 = 0
                let columns = names.map(\.quotedSQLIdentifier).joined(separator: ", ")
                try db.forEach(SQL(raw: "SELECT \(columns) FROM main.\(table.quotedName)")) { row in
                    let values = try OwnedRow(row: row).values
                    if values.prefix(table.key.count).contains(.null) { return }
                    var writer = [UInt8]()
                    for value in values { writer.put(value) }
                    // The order of the rows does not matter.
                    sum &+= Self.checksum(writer)
                }
                sums[([table.name] + names).joined(separator: "\0")] = Int64(bitPattern: sum)
            }
            return TransactionEnd.commit(RowSums(position: try position, tables: sums))
        }
    }

    /// A checksum that finds accidental differences. It is no protection against an attacker who searches for rows with the same
    /// sum.
    private static func checksum(_ bytes: [UInt8]) -> UInt64 {
        func mixed(_ number: UInt64) -> UInt64 {
            let product = (number ^ 0x9e37_79b9_7f4a_7c15).multipliedFullWidth(by: 0xd6e8_feb8_6659_fd93)
            return product.high ^ product.low
        }
        return bytes.withUnsafeBytes { bytes in
            var sum = mixed(UInt64(bytes.count)), place = 0
            while place + 8 <= bytes.count {
                sum = mixed(sum ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))) &+ sum
                place += 8
            }
            var last: UInt64 = 0
            while place < bytes.count {
                last = last << 8 | UInt64(bytes[place])
                place += 1
            }
            return mixed(sum ^ last) &+ sum
        }
    }

    /// A message that asks for all rows. It can be received by any copy.
    func question() throws -> Message {
        var message = try message(since: Position(), until: Position(), entries: [])
        message.asks = try position
        return message
    }

    /// Adds the checksums of this copy's rows to a message.
    func addSums(to message: inout Message) throws {
        let sums = try rowSums()
        if sums.position == message.until { message.sums = sums.tables }
    }

    /// All rows, to be merged even by peers that have all of their entries.
    func mend() throws -> Message {
        var message = try snapshot()
        message.isMend = true
        return message
    }
}

// MARK: Synchronizing

/// The state that a synchronization remembers.
extension ChangeLog {
    /// Returns the read part of the chains in a store, by the names of the chains.
    func chains(in store: [UInt8]) throws -> [[UInt8]: ChangeChain] { try self.store.chains(in: store) }

    func setChain(_ chain: ChangeChain, _ name: [UInt8], in store: [UInt8]) throws {
        try self.store.setChain(chain, name, in: store)
    }

    /// True if others can take this copy's entries only after all its rows.
    var lacksWholeState: Bool { get throws { try store.state(ChangeLogStore.lacks, as: Bool.self) ?? false } }

    /// Notes that other copies can now get all rows of this copy.
    func hasWholeState() throws { try store.setState(ChangeLogStore.lacks, to: .integer(0)) }
}

/// The log that a connection has opened last. Opening the log again costs nothing until the schema or the log's stored settings
/// change. A ``SharedChangeLog`` opens the log at each call.
private final class OpenedChangeLog: ConnectionState {
    private struct Log {
        let peer: String, wanted: [String], rules: [SQLName: ChangeLog.MergePolicy]
        let settings: Data, known: (version: Int, tables: LoggedTables)
    }
    private var last: Log?

    init() {}

    /// The tables of a log, if it has been opened already.
    func tables(
        of log: ChangeLog, _ wanted: [String], _ rules: [SQLName: ChangeLog.MergePolicy]
    ) throws -> (version: Int, tables: LoggedTables)? {
        guard let last, last.peer.isSameText(as: log.localPeer), last.wanted.isSame(as: wanted), last.rules == rules,
            try log.schemaVersion == last.known.version,
            try log.store.state("settings", as: Data.self) == last.settings
        else { return nil }
        return last.known
    }

    /// Notes a log that was opened, unless an outer transaction may roll back the opening.
    func note(
        _ log: ChangeLog, _ wanted: [String], _ rules: [SQLName: ChangeLog.MergePolicy],
        _ known: (version: Int, tables: LoggedTables)?
    ) throws {
        last = nil
        guard let known, !log.connection.isInTransaction, try log.schemaVersion == known.version,
            let settings = try log.store.state("settings", as: Data.self)
        else { return }
        last = Log(peer: log.localPeer, wanted: wanted, rules: rules, settings: settings, known: known)
    }
}

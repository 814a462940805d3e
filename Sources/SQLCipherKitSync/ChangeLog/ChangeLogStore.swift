import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The tables of a change log. Nothing of them is kept in memory, so a rollback undoes everything.
struct ChangeLogStore {
    static let prefix = "changelog"
    /// The number of the form of entries and of `changelog_row`.
    static let format = 7

    let db: Connection
    private let names = Names()
    /// The states that were read from `changelog_row` in this operation.
    private let states = ChangeLogStates()

    init(db: Connection) { self.db = db }

    func create() throws {
        for table in [
            // The entries: a peer's number in changelog_name, times 2^40, plus the number of the entry.
            "changelog(id INTEGER PRIMARY KEY, clock INTEGER NOT NULL, identity INTEGER NOT NULL, changes BLOB NOT NULL)",
            // Numbers for the names of peers, tables and columns.
            "changelog_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
            // When and where rows and their values were last written, from one key up to the key of the next record. For deleted
            // rows, the first time until which this is needed; it is needed for good if the row was older than the log. Rows
            // without a record are older than the log.
            "changelog_row(first BLOB PRIMARY KEY, gone INTEGER, rows BLOB NOT NULL) WITHOUT ROWID",
            // For each peer, the last entry of each peer that it is known to have. The row with the origin '' stands for the peer
            // itself: with the sequence -1 if it was removed, and the time when something was last known of it.
            """
            changelog_peer(peer TEXT NOT NULL, origin TEXT NOT NULL, sequence INTEGER NOT NULL, clock INTEGER NOT NULL, \
            identity INTEGER NOT NULL, PRIMARY KEY (peer, origin)) WITHOUT ROWID
            """,
            // The chains of a store, as far as they were read.
            "changelog_chain(store BLOB, chain BLOB, state BLOB NOT NULL, PRIMARY KEY (store, chain)) WITHOUT ROWID",
            "changelog_state(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
            // The overwritten changes, the times when the conflict was noticed, and the peers whose changes were kept.
            "changelog_conflict(id INTEGER PRIMARY KEY, peer TEXT, change BLOB NOT NULL)",
        ] { try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS main.\(table)")) }
        try db.execute("CREATE INDEX IF NOT EXISTS main.changelog_gone ON changelog_row(gone) WHERE gone IS NOT NULL")
    }

    func drop() throws {
        try dropWatching()
        for table in TablesMadeLater.changeLog { try db.execute(SQL(raw: "DROP TABLE IF EXISTS main.\(table)")) }
    }

    // MARK: State

    func state<T: SQLValueConvertible>(_ name: String, as type: T.Type) throws -> T? {
        try db.fetchOne(T.self, "SELECT value FROM main.changelog_state WHERE name = \(name)")
    }

    func setState(_ name: String, to value: SQLValue) throws {
        try db.execute("INSERT OR REPLACE INTO main.changelog_state VALUES (\(name), \(value))")
    }

    private static let restored = "restored"

    /// Returns true after the choice how a restored copy continues, until its next message. The database and the connection must
    /// both have noted the choice. So the choice is not valid in a restored backup, and a rollback undoes it.
    var isRestoreResolved: Bool {
        get throws {
            guard let token = db.state(ResolvedRestore.self).token else { return false }
            return try state(Self.restored, as: SQLValue.self) == .integer(token)
        }
    }

    func setRestoreResolved(_ isResolved: Bool) throws {
        let token = isResolved ? Int64.random(in: 1...Int64.max) : nil
        try setState(Self.restored, to: token.map { .integer($0) } ?? .null)
        db.state(ResolvedRestore.self).token = token
    }

    /// The last reading of the clock: the time of the last entry, or a later time whose entry is gone.
    /// - Parameter position: the position of this peer.
    func clock(at position: ChangeLog.Position) throws -> Int64 { max(try time("clock"), position.latest) }

    /// All known peers have all entries up to this time, and deletes up to it are forgotten.
    var horizon: Int64 { get throws { try time("horizon") } }

    private func time(_ name: String) throws -> Int64 {
        let time = try state(name, as: Int64.self) ?? 0
        guard (0...ChangeStamp.latest).contains(time) else { throw Self.outOfBounds("state") }
        return time
    }

    /// Numbers that no log writes.
    private static func outOfBounds(_ table: String) -> DatabaseError {
        DatabaseError(code: .corrupt, message: "numbers in the change log's changelog_\(table) are out of bounds")
    }

    func settle(upTo horizon: Int64) throws {
        guard horizon > (try self.horizon) else { return }
        try forgetDeletes(upTo: horizon)
        try setState("horizon", to: .integer(horizon))
    }

    func settings() throws -> ChangeLog.Settings? {
        guard try db.main.hasTable("changelog_state"), let text = try state("settings", as: Data.self) else { return nil }
        return try Self.decoded(text, "changelog_state are not settings: open the log to write them again")
    }

    /// - Parameter problem: the rest of a sentence about the rows of the log.
    private static func decoded<T: Decodable>(_ bytes: Data, _ problem: String) throws -> T {
        do { return try JSONDecoder().decode(T.self, from: bytes) } catch {
            throw DatabaseError(code: .corrupt, message: "bytes in the change log's \(problem)")
        }
    }

    func keep(_ settings: ChangeLog.Settings) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(settings)
        if try state("settings", as: Data.self) != text { try setState("settings", to: .blob(text)) }
    }

    // MARK: Peers

    /// The peers, and whether each has been removed.
    func members() throws -> [String: Bool] {
        let rows: [(String, Int64)] = try db.fetchAll("SELECT peer, sequence FROM main.changelog_peer WHERE origin = ''")
        return Dictionary(rows.map { ($0.0, $0.1 < 0) }) { first, _ in first }
    }

    func add(member: String, at clock: Int64) throws {
        try db.execute("INSERT OR IGNORE INTO main.changelog_peer VALUES (\(member), '', 0, \(clock), 0)")
    }

    /// Notes the time of the last news about a peer.
    func hear(of member: String, at clock: Int64) throws {
        try db.execute("UPDATE main.changelog_peer SET clock = \(clock) WHERE peer = \(member) AND origin = ''")
    }

    /// The time of the last news about a peer, by this copy's clock.
    func heard(of peer: String) throws -> Int64 {
        try db.fetchOne(Int64.self, "SELECT clock FROM main.changelog_peer WHERE peer = \(peer) AND origin = ''") ?? 0
    }

    func forget(member: String) throws { try db.execute("DELETE FROM main.changelog_peer WHERE peer = \(member)") }

    func remove(member: String) throws {
        try forget(member: member)
        try db.execute("INSERT INTO main.changelog_peer VALUES (\(member), '', -1, 0, 0)")
    }

    func position(of peer: String) throws -> ChangeLog.Position {
        let rows: [(String, Int64, Int64, Int64)] = try db.fetchAll(
            "SELECT origin, sequence, clock, identity FROM main.changelog_peer WHERE peer = \(peer) AND origin <> ''")
        var position = ChangeLog.Position()
        for row in rows {
            guard ChangeLog.Position.Mark.sequences.contains(row.1), (0...ChangeStamp.latest).contains(row.2) else {
                throw Self.outOfBounds("peer")
            }
            position.marks[row.0] = ChangeLog.Position.Mark(sequence: row.1, clock: row.2, identity: row.3)
        }
        return position
    }

    /// The position of this copy. The log itself says which of its own entries is the last: it is noted only before entries are
    /// deleted, which saves each commit a page.
    func ownPosition(of peer: String) throws -> ChangeLog.Position {
        var position = try position(of: peer)
        guard let number = try storedNumber(of: peer) else { return position }
        let first = number << 40
        let found: (Int64, Int64, Int64)? = try db.fetchOne(
            """
            SELECT id, clock, identity FROM main.changelog WHERE id > \(first) AND id < \(first + Self.perPeer)
            ORDER BY id DESC LIMIT 1
            """)
        guard let found, found.0 - first > position.sequence(of: peer) else { return position }
        guard (0...ChangeStamp.latest).contains(found.1) else { throw Self.outOfBounds("peer") }
        position.marks[peer] = ChangeLog.Position.Mark(sequence: found.0 - first, clock: found.1, identity: found.2)
        return position
    }

    func setPosition(_ position: ChangeLog.Position, of peer: String) throws {
        for (origin, mark) in position.marks {
            try db.execute(
                """
                INSERT OR REPLACE INTO main.changelog_peer
                VALUES (\(peer), \(origin), \(mark.sequence), \(mark.clock), \(mark.identity))
                """)
        }
    }

    // MARK: Chains

    /// Returns the read part of the chains in a store, by the names of the chains.
    func chains(in store: [UInt8]) throws -> [[UInt8]: ChangeChain] {
        let rows: [([UInt8], Data)] = try db.fetchAll(
            "SELECT chain, state FROM main.changelog_chain WHERE store = \(store)")
        var chains: [[UInt8]: ChangeChain] = [:]
        for (name, state) in rows {
            let chain: ChangeChain = try Self.decoded(
                state, "changelog_chain are not a place in a store: delete the table's rows to read the store again")
            let numbers = [chain.next, chain.wholeAt, Int64(chain.wholeSize), Int64(chain.size), Int64(chain.lastSize)]
            let times = [chain.time, chain.checked ?? 0, chain.asked ?? 0, chain.askedAt ?? 0, chain.answered ?? 0]
            guard numbers.allSatisfy({ (0...1 << 50).contains($0) }), times.allSatisfy({ $0.magnitude < 1 << 50 }) else {
                throw Self.outOfBounds("chain")
            }
            chains[name] = chain
        }
        return chains
    }

    func setChain(_ chain: ChangeChain, _ name: [UInt8], in store: [UInt8]) throws {
        let state = try JSONEncoder().encode(chain)
        try db.execute("INSERT OR REPLACE INTO main.changelog_chain VALUES (\(store), \(name), \(state))")
    }

    func forgetChains() throws { try db.execute("DELETE FROM main.changelog_chain") }

    // MARK: Names

    /// Returns the number of a name, and adds the name if it is new.
    func number(of name: String) throws -> Int64 {
        if let number = names.numbers[ExactText(name)] { return number }
        var number = try storedNumber(of: name)
        if number == nil {
            try db.execute("INSERT INTO main.changelog_name(name) VALUES (\(name))")
            number = try Self.checked(db.lastInsertedRowID)
        }
        guard let number else { throw Self.outOfBounds("name") }
        names.numbers[ExactText(name)] = number
        return number
    }

    private func storedNumber(of name: String) throws -> Int64? {
        let number = try db.cached("SELECT id FROM main.changelog_name WHERE name = ?").fetchOne(Int64.self, binding: name)
        return try number.map { number in try Self.checked(number) }
    }

    private static func checked(_ number: Int64) throws -> Int64 {
        guard (1...largestNumber).contains(number) else { throw outOfBounds("name") }
        return number
    }

    func name(of number: UInt64) throws -> String {
        if let name = names.texts[number] { return name }
        let id = Int64(truncatingIfNeeded: number)
        guard let name = try db.cached("SELECT name FROM main.changelog_name WHERE id = ?").fetchOne(String.self, binding: id)
        else { throw DatabaseError.malformedLog }
        names.texts[number] = name
        return name
    }

    /// The names that were read from `changelog_name` in this operation.
    private final class Names {
        var numbers: [ExactText: Int64] = [:], texts: [UInt64: String] = [:]
    }

    /// Forgets names, which a rollback may have undone.
    func begin() {
        (names.numbers, names.texts) = ([:], [:])
        states.removeAll()
    }

    // MARK: Entries

    private func first(of peer: String) throws -> Int64 { try number(of: peer) << 40 }

    func insert(_ entry: ChangeLogEntry) throws {
        let mark = entry.mark
        guard ChangeLog.Position.Mark.sequences.contains(mark.sequence) else { throw Self.outOfBounds("peer") }
        let id = try first(of: entry.peer) + mark.sequence
        try db.execute("INSERT INTO main.changelog VALUES (\(id), \(mark.clock), \(mark.identity), \(entry.bytes))")
    }

    /// An entry's time and identity; nil if it has been pruned.
    func mark(ofEntry sequence: Int64, of peer: String) throws -> ChangeLog.Position.Mark? {
        let found: (Int64, Int64)? = try db.fetchOne(
            "SELECT clock, identity FROM main.changelog WHERE id = \(try first(of: peer) + sequence)")
        return found.map { ChangeLog.Position.Mark(sequence: sequence, clock: $0.0, identity: $0.1) }
    }

    /// The number and the time of a peer's first entry after another entry.
    func entry(after sequence: Int64, of peer: String) throws -> (sequence: Int64, clock: Int64)? {
        let first = try first(of: peer)
        let found: (Int64, Int64)? = try db.fetchOne(
            """
            SELECT id, clock FROM main.changelog WHERE id > \(first + sequence) AND id < \(first + Self.perPeer) ORDER BY id LIMIT 1
            """)
        return found.map { ($0.0 - first, $0.1) }
    }

    func hasEntries(upTo clock: Int64) throws -> Bool {
        try db.fetchOne(Bool.self, "SELECT EXISTS (SELECT 1 FROM main.changelog WHERE clock <= \(clock))") ?? false
    }

    static let perPeer: Int64 = 1 << 40
    private static let largestNumber: Int64 = 1 << 22

    /// The entries of a peer after a number, in order.
    func entries(of peer: String, after sequence: Int64) throws -> [ChangeLogEntry] {
        let first = try first(of: peer)
        var entries: [ChangeLogEntry] = []
        try db.forEach(
            """
            SELECT id, clock, identity, changes FROM main.changelog WHERE id > \(first + sequence) AND id < \(first + Self.perPeer)
            ORDER BY id
            """
        ) { row in
            let mark = ChangeLog.Position.Mark(sequence: try row[0] - first, clock: try row[1], identity: try row[2])
            entries.append(ChangeLogEntry(peer: peer, mark: mark, bytes: try row[3]))
        }
        return entries
    }

    /// True if other copies can receive this peer's entries only after a message with all its rows.
    static let lacks = "lacks"

    func remove(_ entry: ChangeLogEntry) throws {
        try db.execute("DELETE FROM main.changelog WHERE id = \(try first(of: entry.peer) + entry.sequence)")
    }

    /// Removes the entries of a peer after an entry, and the notes about the removed entries.
    func removeEntries(of peer: String, after last: ChangeLog.Position.Mark, for own: String) throws {
        let first = try first(of: peer)
        // The times of later entries are later all the same.
        try setState("clock", to: .integer(try clock(at: try ownPosition(of: own))))
        try db.execute("DELETE FROM main.changelog WHERE id > \(first + last.sequence) AND id < \(first + Self.perPeer)")
        try db.execute("DELETE FROM main.changelog_peer WHERE origin = \(peer) AND sequence > \(last.sequence)")
        guard last.sequence > 0 else { return }
        var position = ChangeLog.Position()
        position.marks[peer] = last
        try setPosition(position, of: own)
    }

    // MARK: Rows

    /// Returns the row that a state of ``ChangeLogStates`` describes.
    func row(ofState number: Int) throws -> ChangeLogRow {
        if let row = states.rows[number] { return row }
        var reader = ByteReader(log: states.bytes[number]), row = ChangeLogRow()
        row.insert = try stamp(&reader)
        if try reader.varint() > 0 { row.gone = try reader.clock() }
        while !reader.isAtEnd {
            let stamp = try stamp(&reader)
            for _ in 0..<(try reader.count()) {
                let column = try reader.varint()
                row.cells[column == 0 ? ChangeLogRow.wholeRow : SQLName(try name(of: column))] = stamp
            }
        }
        states.rows[number] = row
        return row
    }

    private func stamp(_ reader: inout ByteReader) throws -> ChangeStamp {
        let clock = try reader.clock(), peer = try reader.varint()
        return ChangeStamp(clock: clock, peer: peer == 0 ? "" : try name(of: peer))
    }

    private func put(_ stamp: ChangeStamp, _ writer: inout [UInt8]) throws {
        writer.put(clock: stamp.clock)
        writer.append(varint: stamp.peer.isEmpty ? 0 : try number(of: stamp.peer))
    }

    /// The state of a row: its insert, its delete, and for each time of a change the columns.
    func state(_ row: ChangeLogRow) throws -> Int {
        if row == ChangeLogRow() { return ChangeLogStates.none }
        var writer = [UInt8]()
        try put(row.insert, &writer)
        writer.append(varint: row.gone == nil ? 0 : 1)
        if let gone = row.gone { writer.put(clock: gone) }
        var cells = row.cells.sorted { $0.value < $1.value }[...]
        while let stamp = cells.first?.value {
            let columns = cells.prefix { $0.value == stamp }
            try put(stamp, &writer)
            writer.append(varint: columns.count)
            for (column, _) in columns { writer.append(varint: column == ChangeLogRow.wholeRow ? 0 : try number(of: column.text)) }
            cells = cells[columns.endIndex...]
        }
        return try states.number(of: writer)
    }
}

extension ChangeLogStore {
    /// Returns the state of a row.
    func row(_ table: LoggedTable, _ key: [SQLValue]) throws -> ChangeLogRow {
        let wanted = try keys(table, key)
        guard let (first, bytes) = try record(of: wanted[0]) else { return ChangeLogRow() }
        let run = try ChangeLogRun(bytes, after: first, states)
        let state = run.keys.withKeys { keys in
            wanted.withKeys { wanted in
                // The keys are in order.
                var low = 0, high = keys.count
                while low < high {
                    let middle = (low + high) / 2, order = ChangeLogKeys.order(keys[middle], wanted[0])
                    if order == 0 { return run.states[middle] }
                    if order < 0 { low = middle + 1 } else { high = middle }
                }
                return ChangeLogStates.none
            }
        }
        return try row(ofState: state)
    }

    func save(_ row: ChangeLogRow, _ table: LoggedTable, _ key: [SQLValue]) throws { try save([(row, table, key)]) }

    func save(_ rows: [(row: ChangeLogRow, table: LoggedTable, key: [SQLValue])]) throws {
        var keys = ChangeLogKeys()
        for row in rows { keys.append(try number(of: row.table.name), row.table, row.key) }
        try change(keys) { place, _ in try state(rows[place].row) }
    }

    /// Replaces the states of rows.
    /// - Parameter body: gets the place of a key among `keys` and the number of its row's state, and returns the number of the new
    ///   state. Equal keys follow each other.
    func change(_ keys: ChangeLogKeys, _ body: (Int, Int) throws -> Int) throws {
        try keys.withKeys { keys in
            let order = keys.sorted()
            var start = 0
            while start < order.count {
                let record = try record(of: Array(keys[order[start]]))
                var end = order.count
                if start + 1 < end, let next = try first(after: Array(keys[order[start]])) {
                    end = next.withUnsafeBytes { next in
                        order[start...].firstIndex { ChangeLogKeys.order(keys[$0], next) >= 0 } ?? end
                    }
                }
                let old = try record.map { try ChangeLogRun($0.1, after: $0.0, states) } ?? ChangeLogRun()
                try old.keys.withKeys { oldKeys in
                    let (rows, isAppended) = try merged(oldKeys, old.states, keys, order[start..<end], body)
                    try write(rows, inPlaceOf: record?.0, isAppended: isAppended)
                }
                start = end
            }
        }
    }

    /// The rows of a record, merged with the rows that change.
    /// - Returns: the rows, and whether the changed rows come after all other rows.
    private func merged(
        _ oldKeys: ChangeLogKeys.Lent, _ old: [Int], _ keys: ChangeLogKeys.Lent, _ order: ArraySlice<Int>,
        _ body: (Int, Int) throws -> Int
    ) rethrows -> ([ChangeLogRun.Row], Bool) {
        var rows: [ChangeLogRun.Row] = [], place = 0, at = order.startIndex, isAppended = true
        rows.reserveCapacity(old.count + order.count)
        while at < order.endIndex {
            let key = keys[order[at]]
            var comparison: Int32 = -1
            while place < old.count {
                comparison = ChangeLogKeys.order(oldKeys[place], key)
                if comparison >= 0 { break }
                rows.append(ChangeLogRun.Row(key: oldKeys[place], state: old[place]))
                place += 1
            }
            isAppended = isAppended && place == old.count
            var state = ChangeLogStates.none
            if place < old.count, comparison == 0 {
                state = old[place]
                place += 1
            }
            repeat {
                state = try body(order[at], state)
                at += 1
            } while at < order.endIndex && ChangeLogKeys.order(keys[order[at]], key) == 0
            rows.append(ChangeLogRun.Row(key: key, state: state))
        }
        while place < old.count {
            rows.append(ChangeLogRun.Row(key: oldKeys[place], state: old[place]))
            place += 1
        }
        return (rows, isAppended)
    }

    private func write(_ rows: [ChangeLogRun.Row], inPlaceOf first: [UInt8]?, isAppended: Bool) throws {
        var size = ChangeLogRun.largestSize, count = ChangeLogRun.largestCount
        if !isAppended {
            // Two halves, instead of a full record and an almost empty record.
            let whole = ChangeLogRun.records(rows, after: first, from: .max, .max, states).first?.size ?? 0
            if whole > size { size = whole / (whole / size + 1) + 1 }
            if rows.count > count { count = rows.count / (rows.count / count + 1) + 1 }
        }
        var records = ChangeLogRun.records(rows, after: first, from: size, count, states)[...]
        if let first {
            if let record = records.popFirst() {
                try db.cached("UPDATE main.changelog_row SET gone = ?, rows = ? WHERE first = ?")
                    .execute(binding: record.gone(states), record.bytes(states), first)
            } else {
                try db.cached("DELETE FROM main.changelog_row WHERE first = ?").execute(binding: first)
            }
        }
        for record in records {
            try db.cached("INSERT INTO main.changelog_row VALUES (?, ?, ?)")
                .execute(binding: record.first, record.gone(states), record.bytes(states))
        }
    }

    private func keys(_ table: LoggedTable, _ key: [SQLValue]) throws -> ChangeLogKeys {
        var keys = ChangeLogKeys()
        keys.append(try number(of: table.name), table, key)
        return keys
    }

    /// The record that a key is in, or would be: its first key and the rest.
    private func record(of key: [UInt8]) throws -> ([UInt8], [UInt8])? {
        try db.cached("SELECT first, rows FROM main.changelog_row WHERE first <= ? ORDER BY first DESC LIMIT 1")
            .fetchOne(([UInt8], [UInt8]).self, [key])
    }

    private func first(after key: [UInt8]) throws -> [UInt8]? {
        try db.cached("SELECT first FROM main.changelog_row WHERE first > ? ORDER BY first LIMIT 1")
            .fetchOne([UInt8].self, binding: key)
    }

    /// Forgets deletes up to a time.
    private func forgetDeletes(upTo horizon: Int64) throws {
        let found: [([UInt8], [UInt8])] = try db.fetchAll("SELECT first, rows FROM main.changelog_row WHERE gone <= \(horizon)")
        for (first, bytes) in found {
            let old = try ChangeLogRun(bytes, after: first, states)
            try old.keys.withKeys { keys in
                let rows = old.states.indices.filter { states.gone[old.states[$0]].map { $0 > horizon } ?? true }
                    .map { ChangeLogRun.Row(key: keys[$0], state: old.states[$0]) }
                try write(rows, inPlaceOf: first, isAppended: true)
            }
        }
    }

    /// The rows of a table that have a state, or only the deleted rows.
    func rows(of table: LoggedTable, areGone: Bool = false) throws -> [(key: [SQLValue], row: ChangeLogRow)] {
        let number = UInt64(try number(of: table.name))
        var rows: [(key: [SQLValue], row: ChangeLogRow)] = []
        for (first, bytes) in try db.fetchAll(([UInt8], [UInt8]).self, "SELECT first, rows FROM main.changelog_row") {
            let run = try ChangeLogRun(bytes, after: first, states)
            for (place, state) in run.states.enumerated() {
                let row = try row(ofState: state)
                var reader = ByteReader(log: run.keys[place])
                guard try reader.varint() == number, row.gone != nil || !areGone else { continue }
                rows.append((try table.key.map { _ in try reader.keyValue() }, row))
            }
        }
        return rows
    }

    /// The row with a key, and its row id if the table has one that is not the key; nil if there is no such row.
    func current(_ table: LoggedTable, _ key: [SQLValue]) throws -> (values: [SQLValue], rowID: SQLValue?)? {
        let names = (table.columns.map(\.quotedSQLIdentifier) + [table.rowID ?? "NULL"]).joined(separator: ", ")
        let row = try db.fetchOne(
            OwnedRow.self,
            SQL(raw: "SELECT \(names) FROM main.\(table.quotedName) WHERE \(table.keyCondition)", StatementArguments(key)))
        guard var values = row?.values, let rowID = values.popLast() else { return nil }
        return (values, table.rowID == nil ? nil : rowID)
    }
}

/// Triggers note the keys of rows that are changed while the log does not write. SQLite runs the triggers for every program that
/// changes the row.
extension ChangeLogStore {
    static let outside = "changelog_outside_"

    private func outsideTable(_ table: LoggedTable) -> String { "main.\((Self.outside + table.name).quotedSQLIdentifier)" }

    /// Creates missing triggers, and missing tables that the triggers write to. SQLite runs the newest trigger first, and a trigger
    /// that ends with RAISE(IGNORE) can prevent older triggers from running. So the log's triggers are newer than the user's
    /// triggers.
    ///
    /// A table without these triggers was created again or renamed. If this package's engine dropped the former table, the notes
    /// have its rows. All present rows are noted as inserted.
    func watch(_ tables: LoggedTables) throws {
        var wanted: [ExactText: (sql: String, table: SQLName)] = [:], isMissing: Set<SQLName> = [], found: [SQLName: Int] = [:]
        for table in tables.all {
            if try db.main.hasTable(Self.outside + table.name) { isMissing.insert(SQLName(table.name)) }
            let names = table.key.indices.map { "k\($0)" }.joined(separator: ", ")
            try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS \(outsideTable(table))(kind, \(names))"))
            for (name, sql) in triggers(table) { wanted[ExactText(name)] = (sql, SQLName(table.name)) }
        }
        var newer: Set<SQLName> = []
        for entry in try db.main.entries(where: "type = 'trigger'").reversed() {
            let name = ExactText(entry.name), table = SQLName(entry.table)
            if !entry.name.hasNamePrefix(Self.outside) {
                newer.insert(table)
                continue
            }
            if let trigger = wanted[name], trigger.table == table {
                found[table, default: 0] += 1
                if entry.sql == "CREATE TRIGGER \(trigger.sql)", !newer.contains(table) {
                    wanted[name] = nil
                    continue
                }
            } else if let renamed = tables[entry.table] {
                try takeNotes(of: entry.name, to: renamed)
            }
            try db.main.dropTrigger(entry.name)
        }
        for trigger in wanted.values.sorted(by: { $0.sql < $1.sql }) {
            try db.execute(SQL(raw: "CREATE TRIGGER main.\(trigger.sql)"))
        }
        for table in tables.all {
            let name = SQLName(table.name)
            if isMissing.contains(name), found[name] != triggers(table).count { try noteAll(table) }
        }
    }

    /// Takes over the notes about a table under its former name.
    /// - Parameter trigger: the name of a trigger that noted changes of the table.
    private func takeNotes(of trigger: String, to table: LoggedTable) throws {
        guard let end = trigger.lastIndex(of: "_") else { return }
        let former = String(trigger[..<end])
        guard try db.main.hasTable(former), SQLName(former) != SQLName(Self.outside + table.name) else { return }
        try db.execute(SQL(raw: "INSERT INTO \(outsideTable(table)) SELECT * FROM main.\(former.quotedSQLIdentifier)"))
        try db.execute(SQL(raw: "DROP TABLE main.\(former.quotedSQLIdentifier)"))
    }

    /// Notes all rows of a table as inserted, and missing rows that the log knows as deleted.
    private func noteAll(_ table: LoggedTable) throws {
        let keys = table.key.map(\.quotedSQLIdentifier).joined(separator: ", "), marks = table.key.map { _ in "?" }
        try db.execute(SQL(raw: "INSERT INTO \(outsideTable(table)) SELECT 0, \(keys) FROM main.\(table.quotedName)"))
        let sql = "INSERT INTO \(outsideTable(table)) VALUES (2, \(marks.joined(separator: ", ")))"
        for (key, row) in try rows(of: table) where try row.gone == nil && current(table, key) == nil {
            try db.execute(SQL(raw: sql, StatementArguments(key)))
        }
    }

    /// Returns whether all triggers of the logged tables are there.
    func isWatching(_ tables: LoggedTables) throws -> Bool {
        let found = Set(try db.main.entries(where: "type = 'trigger'").map { ExactText($0.name) })
        return tables.all.allSatisfy { table in triggers(table).allSatisfy { found.contains(ExactText($0.name)) } }
    }

    /// Creates the triggers again, so that they are newer than all others.
    func renewTriggers() throws {
        let entries = try db.main.entries(where: "type = 'trigger'").filter { $0.name.hasNamePrefix(Self.outside) }
        for entry in entries {
            let statement = try entry.statement()
            try db.main.dropTrigger(entry.name)
            try db.execute(statement.sqlAsWritten(in: db.main))
        }
    }

    private func triggers(_ table: LoggedTable) -> [(name: String, sql: String)] {
        let target = (Self.outside + table.name).quotedSQLIdentifier
        let old = table.key.map { "old.\($0.quotedSQLIdentifier)" }, new = table.key.map { "new.\($0.quotedSQLIdentifier)" }
        let isMoved = zip(old, new).map { "\($0) IS NOT \($1)" }.joined(separator: " OR ")
        let (olds, news) = (old.joined(separator: ", "), new.joined(separator: ", "))
        return [
            ("insert", "INSERT INTO \(target) VALUES (0, \(news));"),
            (
                "update",
                """
                INSERT INTO \(target) SELECT CASE WHEN \(isMoved) THEN 2 ELSE 1 END, \(olds); \
                INSERT INTO \(target) SELECT 0, \(news) WHERE \(isMoved);
                """
            ),
            ("delete", "INSERT INTO \(target) VALUES (2, \(olds));"),
        ].map { event, body in
            let name = "\(Self.outside)\(table.name)_\(event)"
            return (name, "\(name.quotedSQLIdentifier) AFTER \(event.uppercased()) ON \(table.quotedName) BEGIN \(body) END")
        }
    }

    func hasOutsideChanges(_ table: LoggedTable) throws -> Bool {
        try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM \(outsideTable(table)))")) ?? false
    }

    /// The notes about a row: the numbers of inserts and deletes, and its key as it was spelled each time.
    struct NotedRow {
        fileprivate(set) var spellings: [[SQLValue]] = [], inserts = 0, deletes = 0

        var key: [SQLValue] { spellings[0] }
    }

    /// The changed rows, in the order of their first notes. The triggers write 0 for an insert, 1 for an update and 2 for a delete,
    /// and the key; a row whose key changes counts as deleted, and a row with the new key as inserted.
    func outsideChanges(_ table: LoggedTable) throws -> [NotedRow] {
        var rows: [NotedRow] = [], places: [[UInt8]: Int] = [:]
        try db.forEach(SQL(raw: "SELECT * FROM \(outsideTable(table)) ORDER BY rowid")) { row in
            let values = try OwnedRow(row: row).values, key = Array(values.dropFirst())
            let place = places[table.bytes(key), default: rows.count]
            if place == rows.count {
                places[table.bytes(key)] = place
                rows.append(NotedRow())
            }
            if rows[place].spellings.last != key { rows[place].spellings.append(key) }
            if values.first == .integer(0) { rows[place].inserts += 1 }
            if values.first == .integer(2) { rows[place].deletes += 1 }
        }
        return rows
    }

    func forgetOutsideChanges(_ table: LoggedTable) throws {
        try db.execute(SQL(raw: "DELETE FROM \(outsideTable(table))"))
    }

    /// Runs `body` in a transaction while the triggers note nothing. While the schema stays in memory, the triggers are not even
    /// compiled. If the schema is read again, the notes made after that are deleted.
    func logging<R>(_ tables: LoggedTables, _ body: () throws -> R) throws -> R {
        let opened = db.state(ChangeLogWriting.self)
        // Another log of this connection is writing.
        if opened.isLogging { return try body() }
        sqlcipherkit_rest_triggers(try db.liveForUse(), "main", Self.outside, 1)
        opened.isLogging = true
        defer {
            opened.isLogging = false
            // The body may have closed the connection.
            if let handle = db.handle { sqlcipherkit_rest_triggers(handle, "main", Self.outside, 0) }
        }
        let result = try body()
        for table in tables.all where try hasOutsideChanges(table) { try forgetOutsideChanges(table) }
        return result
    }

    private func dropWatching() throws {
        for entry in try db.main.entries(where: "type = 'trigger'") where entry.name.hasNamePrefix(Self.outside) {
            try db.main.dropTrigger(entry.name)
        }
        for entry in try db.main.entries(where: "type = 'table'") where entry.name.hasNamePrefix(Self.outside) {
            try db.execute(SQL(raw: "DROP TABLE main.\(entry.name.quotedSQLIdentifier)"))
        }
    }
}

/// The state that tells whether a log of the connection is writing.
private final class ChangeLogWriting: ConnectionState {
    var isLogging = false

    init() {}
}

/// The connection's note that the user has chosen how a restored copy continues.
private final class ResolvedRestore: ConnectionState {
    var token: Int64?

    init() {}
}

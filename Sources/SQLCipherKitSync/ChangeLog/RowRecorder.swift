import CSQLCipher
import SQLCipherKitCore

/// Notes which rows of the logged tables a write changes, and their state after it. For a change log, the recorder has the purpose
/// that a ``ChangeRecorder`` has for changesets: it finds the difference between the first and the last state of each row, whatever
/// triggers, foreign keys and savepoints did between. It notes the record of a row as it is stored, compares it with the record at
/// the end, and writes the bytes of the entry at once.
struct RowRecorder {
    private let connection: Connection
    private let handle: OpaquePointer

    init(_ connection: Connection, _ tables: LoggedTables) throws {
        self.connection = connection
        guard let handle = try sqlcipherkit_start_recorder(connection.liveOutsideHooks()) else { throw Self.noMemory }
        self.handle = handle
        for table in tables.all {
            if sqlcipherkit_record_table(handle, table.name) == SQLITE_OK { continue }
            close()
            throw Self.noMemory
        }
    }

    private static var noMemory: DatabaseError { DatabaseError(code: .outOfMemory, message: "no memory for a change recorder") }

    /// Ends the recorder. A closed connection has already ended its recorders.
    func close() { if connection.handle != nil { sqlcipherkit_end_recorder(handle) } }

    /// Returns the changes, and the keys of the rows.
    /// - Parameters:
    ///   - names: of the tables that the recording began with.
    ///   - tables: as they are now.
    ///   - number: gives the number of a table's name in the log.
    func changes(
        _ names: [String], _ tables: LoggedTables, number: (String) throws -> Int64
    ) throws -> (draft: ChangeLogDraft, keys: ChangeLogKeys) {
        _ = try connection.liveForUse()
        for (place, name) in names.enumerated() where sqlcipherkit_has_recorded(handle, Int32(place)) != 0 {
            guard let table = tables[name] else { continue }
            let rc = sqlcipherkit_read_recording(
                handle, Int32(place), UInt64(bitPattern: try number(table.name)), table.rule == .row ? 1 : 0)
            if rc != SQLITE_OK { throw try failure(rc, tables) }
        }
        let recording = sqlcipherkit_recording_of(handle)
        return try withExtendedLifetime(connection) {
            (ChangeLogDraft(recording, try names.map { try tables[$0] ?? missing($0) }), ChangeLogKeys(recording))
        }
    }

    private func missing(_ name: String) throws -> LoggedTable {
        throw DatabaseError(code: .schema, message: "the table \(name) is not in this log")
    }

    private func failure(_ rc: Int32, _ tables: LoggedTables) throws -> DatabaseError {
        switch rc & 0xff {
        case SQLITE_CONSTRAINT:
            // Find the violated rule.
            for table in tables.all {
                try table.identity.requireCanonical(for: ChangeLog.name)
                try table.identity.requireValues(in: connection.main, for: ChangeLog.name)
            }
            return .invalidArgument("\(ChangeLog.name) cannot have a row that had NULL in its key for a time")
        case SQLITE_SCHEMA:
            return DatabaseError(
                code: .schema, message: "a logged table lost its key or a column during the write")
        case SQLITE_MISMATCH:
            return DatabaseError(
                code: .mismatch, reason: .typeMismatch, message: "a value is text that is not well-formed UTF-8")
        default: return DatabaseError(rc: rc, database: connection.handle)
        }
    }
}

extension ChangeLog {
    /// A change of an entry, with the key's bytes in `changelog_row` as the recorder has written them, and as they should be.
    package struct RecordedChange: Hashable {
        package let kind: RowChange.Kind
        package let table: String, key: [SQLValue], columns: [String], values: [SQLValue], keyBytes: [UInt8], expected: [UInt8]
    }

    /// Returns the changes that a log would write when `body` runs in a transaction. Tests compare it with a changeset.
    package static func recording(
        _ db: Connection, _ names: [String], rules: [String: MergePolicy] = [:], _ body: (Connection) throws -> Void
    ) throws -> [RecordedChange] {
        let rules = Dictionary(rules.map { (SQLName($0.key), $0.value) }) { first, _ in first }
        let recorder = try RowRecorder(db, try LoggedTables(db.main, names, rules))
        defer { recorder.close() }
        return try db.transaction { db in
            try body(db)
            let tables = try LoggedTables(db.main, names, rules)
            let (draft, keys) = try recorder.changes(names, tables) { name in Int64(names.firstIndex(named: name) ?? 0) + 100 }
            let bytes = draft.coded(Array(repeating: 0, count: draft.count), [.ancient])
            let entry = ChangeLogEntry(peer: "a", sequence: 1, clock: 1, identity: 1, bytes: bytes)
            let changes = try entry.changes().enumerated().map { place, change in
                var writer = [UInt8]()
                writer.append(varint: (names.firstIndex(named: change.table) ?? 0) + 100)
                tables[change.table]?.write(change.key, &writer)
                return RecordedChange(
                    kind: change.kind, table: change.table, key: change.key, columns: change.columns, values: change.values,
                    keyBytes: keys[place], expected: writer)
            }
            return TransactionEnd.commit(changes)
        }
    }
}

import CSQLCipher
import SQLCipherKitCore

/// Records which rows a connection changes, for a ``Changeset`` (<https://sqlite.org/session/intro.html>).
///
/// ```swift
/// let recorder = try ChangeRecorder(db.main)
/// try db.execute("DELETE FROM note WHERE id = 5")
/// let changes = try recorder.changeset()
/// ```
/// The recorder keeps the difference between the first and the last state of each row: a row that was changed back, or whose change
/// was rolled back, has no change. Changes by other connections are not recorded, nor are rows of a table without a declared
/// primary key. A row with NULL in its primary key cannot be recorded: after a change of such a row, ``changeset()`` throws.
public final class ChangeRecorder: ConnectionDependent {
    private let schema: Schema
    private var connection: Connection { schema.connection }
    /// The recorded tables; nil for all.
    private var tables: [String]?
    private var handle: OpaquePointer?
    /// Tables that hold the content of virtual tables. They are written again when the changes are applied.
    private var shadows: Set<SQLName> = []

    package var endsWithLoan: Bool { false }

    /// Starts recording.
    /// - Parameters:
    ///   - schema: the database whose changes are recorded.
    ///   - tables: the tables to record. Nil, the default, records all tables, including tables created later, except the tables
    ///     that hold the content of existing virtual tables, such as full-text tables.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table with a key whose collation is not one of SQLite's own,
    ///   ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``.
    public convenience init(_ schema: Schema, tables: [String]? = nil) throws {
        try schema.requireCanonicalKeys(tables, for: Self.name)
        try self.init(schema, checked: tables)
    }

    private static let name = "a changeset"

    /// - Parameter tables: whose keys have a canonical form.
    init(_ schema: Schema, checked tables: [String]?) throws {
        let db = schema.connection
        self.schema = schema
        self.tables = tables == nil ? nil : []
        try schema.live()
        try db.check(sqlcipherkit_create_session(db.liveOutsideHooks(), schema.name, &handle))
        guard let handle else { throw DatabaseError(code: .outOfMemory, message: "no memory for a change recorder") }
        db.register(self)
        // Statements compiled earlier would still delete all rows at once, without telling the session.
        let (hooks, database) = try db.usableHooks()
        hooks.installAuthorizer(database)
        if let tables {
            for table in tables { try attach(table) }
            return
        }
        shadows = try schema.shadowTables()
        try db.check(sqlite3session_attach(handle, nil))
        sqlite3session_table_filter(
            handle,
            { context, table in
                guard let context, let table else { return 1 }
                if sqlcipherkit_is_slot_mark(table) != 0 { return 0 }
                let recorder = Unmanaged<ChangeRecorder>.fromOpaque(context).takeUnretainedValue()
                return recorder.shadows.contains(SQLName(String(cString: table))) ? 0 : 1
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { close() }

    /// Stops recording for good. Closing twice does nothing. After `close()`, or after the connection has closed, every call throws
    /// ``DatabaseError/Reason/closed``.
    public func close() {
        if connection.isUsable { connectionCloses() }
    }

    package func connectionCloses() {
        guard let handle else { return }
        self.handle = nil
        connection.unregister(self)
        if !connection.isForked { sqlcipherkit_delete_session(handle) }
    }

    /// True if changes are being recorded. While recording is off, rows that have been recorded already stay recorded, and their
    /// state at the end counts.
    package var isRecording: Bool { get throws { sqlite3session_enable(try live(), -1) != 0 } }

    /// Pauses or resumes recording.
    package func setRecording(_ isOn: Bool) throws { sqlite3session_enable(try live(), isOn ? 1 : 0) }

    /// True if changes are now marked as indirect. Changes made by triggers and foreign keys always are.
    package var isIndirect: Bool { get throws { sqlite3session_indirect(try live(), -1) != 0 } }

    /// Sets whether changes from now on are marked as indirect.
    package func setIndirect(_ isOn: Bool) throws { sqlite3session_indirect(try live(), isOn ? 1 : 0) }

    /// Also records another table.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` as for a new recorder, and for a name with a NUL character, or
    ///   ``DatabaseError/Reason/closed``.
    public func add(table: String) throws {
        _ = try live()
        try schema.requireCanonicalKeys([table], for: Self.name)
        try attach(table)
    }

    private func attach(_ table: String) throws {
        try connection.check(sqlite3session_attach(live(), table.cName("the name of a table")))
        tables?.append(table)
    }

    /// True if nothing has changed. A change that was undone may still count as a change.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public var isEmpty: Bool { get throws { sqlite3session_isempty(try live()) != 0 } }

    /// Returns the changes since the recording began. Recording continues.
    /// - Throws: ``ResultCode/schema`` if the columns of a table have changed since then;
    ///   ``DatabaseError/Reason/invalidArgument``, with the table and the column, if a row with NULL in its key was changed; and
    ///   ``DatabaseError/Reason/closed``.
    public func changeset() throws -> Changeset { try output { sqlite3session_changeset($0, $1, $2) } }

    /// Returns the same changes as ``changeset()``, without the old values.
    /// - Throws: the errors of ``changeset()``.
    public func patchset() throws -> Changeset { try output { sqlite3session_patchset($0, $1, $2) } }

    private func output(
        _ body: (OpaquePointer, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32
    ) throws -> Changeset {
        let handle = try live()
        do {
            return try Changeset.output { body(handle, $0, $1) }
        } catch let error as DatabaseError where error.code == .constraint {
            // Finds which table it was.
            try schema.requireCanonicalKeys(tables, for: Self.name)
            try schema.requireKeys(tables, for: Self.name)
            throw DatabaseError.invalidArgument("\(Self.name) cannot have a row that had NULL in its key for a time")
        }
    }

    private func live() throws -> OpaquePointer {
        _ = try connection.liveOutsideHooks()
        guard let handle else { throw DatabaseError(code: .misuse, reason: .closed, message: "the recorder is closed") }
        return handle
    }
}

extension Schema {
    /// Runs `body` in a transaction, or in a savepoint of the open transaction, and returns its changes in this database.
    ///
    /// If `body` throws, or the changeset cannot be made, the changes are rolled back. So every change that is kept is in a
    /// changeset. To record the changes of several transactions, use a ``ChangeRecorder``.
    /// ```swift
    /// let changes = try laptop.main.recordingChanges { db in try db.execute("DELETE FROM note WHERE id = 5") }
    /// try changes.apply(to: phone)
    /// ```
    /// - Parameters:
    ///   - tables: as in ``ChangeRecorder/init(_:tables:)``.
    ///   - body: makes the changes.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``, and any error of `body`, of beginning or of
    ///   committing. Nothing has changed then.
    public func recordingChanges(tables: [String]? = nil, _ body: (Connection) throws -> Void) throws -> Changeset {
        let recorder = try ChangeRecorder(self, tables: tables)
        defer { recorder.close() }
        return try connection.transaction { db in
            try body(db)
            return try recorder.changeset()
        }
    }
}

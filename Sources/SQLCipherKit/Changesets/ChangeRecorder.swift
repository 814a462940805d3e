import CSQLCipher

/// Records which rows a connection changes, for a ``Changeset`` (<https://sqlite.org/session/intro.html>).
///
/// ```swift
/// let recorder = try ChangeRecorder(db.main)
/// try db.execute("DELETE FROM note WHERE id = 5")
/// let changes = try recorder.changeset()
/// ```
/// What is recorded is the difference between the first and the last state of each row: one that was changed back is no change, and
/// one that was rolled back is none either. Changes by other connections are not seen. A row of a table without a declared
/// primary key is not recorded, nor one with NULL in its key.
public final class ChangeRecorder: ConnectionDependent {
    private let connection: Connection
    private var handle: OpaquePointer?
    /// Tables that virtual tables keep their content in, which are written again where the changes are applied.
    private var shadows: Set<SQLName> = []

    var endsWithLoan: Bool { false }

    /// Begins to record.
    /// - Parameters:
    ///   - schema: the database whose changes are recorded.
    ///   - tables: the tables; nil, the default, for all, also those that are made later, but not those behind full-text and
    ///     other virtual tables that are there now.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``.
    public init(_ schema: Schema, tables: [String]? = nil) throws(DatabaseError) {
        let db = schema.connection
        connection = db
        try schema.live()
        try db.check(sqlite3session_create(db.liveOutsideHooks(), schema.name, &handle))
        guard let handle else { throw DatabaseError(code: .outOfMemory, message: "no memory for a change recorder") }
        db.register(self)
        try db.restoreChangeHook()
        if let tables {
            for table in tables { try add(table: table) }
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

    /// Ends the recording. Closing twice does nothing; after it, or after the connection has closed, each call throws
    /// ``DatabaseError/Reason/closed``.
    public func close() {
        if connection.isUsable { connectionCloses() }
    }

    func connectionCloses() {
        guard let handle else { return }
        self.handle = nil
        connection.unregister(self)
        if !connection.isForked { sqlite3session_delete(handle) }
        try? connection.restoreChangeHook()
    }

    /// Whether changes are recorded now. What is known of a row stays, and its state at the end counts.
    public var isRecording: Bool { get throws(DatabaseError) { sqlite3session_enable(try live(), -1) != 0 } }

    /// Stops recording for a while, or goes on.
    public func setRecording(_ isOn: Bool) throws(DatabaseError) { sqlite3session_enable(try live(), isOn ? 1 : 0) }

    /// Whether changes are marked as indirect now. Those of triggers and foreign keys always are.
    public var isIndirect: Bool { get throws(DatabaseError) { sqlite3session_indirect(try live(), -1) != 0 } }

    /// Marks the changes from now on as indirect, or no longer.
    public func setIndirect(_ isOn: Bool) throws(DatabaseError) { sqlite3session_indirect(try live(), isOn ? 1 : 0) }

    /// Records another table as well.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name with a NUL character, or ``DatabaseError/Reason/closed``.
    public func add(table: String) throws(DatabaseError) {
        try connection.check(sqlite3session_attach(live(), table.cName("the name of a table")))
    }

    /// Whether nothing has changed. A change that was undone may still count as one.
    public var isEmpty: Bool { get throws(DatabaseError) { sqlite3session_isempty(try live()) != 0 } }

    /// What has changed since the recording began, which goes on.
    /// - Throws: ``ResultCode/schema`` if a table has other columns than it had then.
    public func changeset() throws(DatabaseError) -> Changeset {
        let handle = try live()
        return try Changeset.output { sqlite3session_changeset(handle, $0, $1) }
    }

    /// The same without the old values.
    public func patchset() throws(DatabaseError) -> Changeset {
        let handle = try live()
        return try Changeset.output { sqlite3session_patchset(handle, $0, $1) }
    }

    private func live() throws(DatabaseError) -> OpaquePointer {
        _ = try connection.liveOutsideHooks()
        guard let handle else { throw DatabaseError(code: .misuse, reason: .closed, message: "the recorder is closed") }
        return handle
    }
}

extension Schema {
    /// Runs `body` in a transaction, or in a savepoint of the open one, and returns what it has changed in this database.
    ///
    /// If `body` throws, or the changes cannot be had, they are rolled back: no change is kept that no changeset has. Where changes
    /// are to be kept in several transactions, use a ``ChangeRecorder``.
    /// ```swift
    /// let changes = try laptop.main.recordingChanges { db in try db.execute("DELETE FROM note WHERE id = 5") }
    /// try changes.apply(to: phone)
    /// ```
    /// - Parameters:
    ///   - tables: as with ``ChangeRecorder/init(_:tables:)``.
    ///   - body: makes the changes.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``, and what `body` throws, or beginning and
    ///   committing; nothing has changed then.
    public func recordingChanges(tables: [String]? = nil, _ body: (Connection) throws -> Void) throws -> Changeset {
        let recorder = try ChangeRecorder(self, tables: tables)
        defer { recorder.close() }
        return try connection.transaction { db in
            try body(db)
            return try recorder.changeset()
        }
    }
}

import CSQLCipher

/// A prepared statement: SQL that is compiled once and can be run many times with different values.
///
/// ```swift
/// let insert = try db.prepare("INSERT INTO point(x, y) VALUES (?, ?)")
/// for (x, y) in points { try insert.execute(binding: x, y) }
/// ```
/// ``Connection/execute(_:_:)`` and the fetching methods cache their statements; prepare a statement yourself for the tightest
/// loops, or to step through rows by hand.
///
/// A statement keeps its connection alive. After ``Connection/close()`` each call throws ``DatabaseError/Reason/closed``.
public final class Statement {
    /// Nil once it is finalized.
    // A connection belongs to one thread at a time, and no access spans a call, so no exclusivity check is needed at run time.
    @usableFromInline @exclusivity(unchecked) var handle: OpaquePointer?
    @usableFromInline package unowned(unsafe) let connection: Connection
    // Statements held by a caller keep their connection alive; those in the connection's own cache must not.
    private let keepAlive: Connection?
    /// The present use of the statement; see ``Use``. While a call is stepping through the rows, closing the connection leaves the
    /// statement to that call.
    @usableFromInline @exclusivity(unchecked) package var uses = 0
    /// Not 0 if the statement begins or ends a transaction, which is not allowed everywhere.
    @usableFromInline let gate: Int
    var shownArguments: StatementArguments?
    private var isBroken = false

    // Links in the connection's list of statements.
    unowned(unsafe) var previous: Statement?
    unowned(unsafe) var next: Statement?

    private var knownNames: ColumnNames?
    // The same, without reference counting.
    @usableFromInline @exclusivity(unchecked) var unretainedNames: Unmanaged<ColumnNames>?
    @usableFromInline @exclusivity(unchecked) var knownPreparations: Int32 = 0
    private let usableHandle: OpaquePointer
    private let forks: UInt32
    /// True if a RowCursor steps through the statement.
    let isCursor: Bool

    init(_ connection: Connection, handle: OpaquePointer, keepsConnection: Bool, isCursor: Bool = false) {
        self.connection = connection
        self.isCursor = isCursor
        self.handle = handle
        usableHandle = handle
        gate = sqlcipherkit_controls_transaction(handle) == 0 ? 0 : 1
        forks = connection.forks
        keepAlive = keepsConnection ? connection : nil
        connection.register(self)
    }

    deinit {
        // If there is no handle, the connection has already released this statement and may be gone itself.
        if let handle {
            connection.unregister(self)
            finalize(handle)
            if connection.awaitsCommit { connection.settleCommit() }
        } else if isBroken {
            finalize(usableHandle)
        }
    }

    /// Called by the connection when it closes: from now on every call throws.
    func invalidate() {
        guard let handle else { return }
        self.handle = nil
        connection.unregister(self)
        // A call on the stack is still reading its row: finalizing waits until it ends.
        if uses & Use.running == 0 { finalize(handle) } else { isBroken = true }
    }

    /// True if the statement is held by a caller rather than the connection's cache.
    var isHeld: Bool { keepAlive != nil }

    /// True if a caller has left it between its first row and its end.
    var isReading: Bool { isHeld && handle.map { sqlite3_stmt_busy($0) != 0 } == true }

    /// Finalizes the handle, except in a child process, where the statement is the parent's: finalizing it would end the parent's
    /// transaction.
    private func finalize(_ handle: OpaquePointer) {
        if forks == sqlcipherkit_forks() { sqlite3_finalize(handle) }
    }

    /// The handle. Throws if the connection is closed or may not be used.
    @inlinable
    @inline(__always)
    func live() throws -> OpaquePointer {
        guard connection.isUsable, let handle else { throw connection.refusal() }
        return handle
    }

    /// The states of a statement in use, as bits.
    @usableFromInline enum Use {
        /// A call is stepping through the rows.
        @inlinable static var running: Int { 1 }
        /// A call has left the statement on a row.
        @inlinable static var standing: Int { 2 }
    }

    /// Marks the start of a use that steps through the rows from the first one. Each such use ends with `endUse`.
    @inlinable
    @inline(__always)
    package func beginUse() throws -> OpaquePointer {
        let handle = try live()
        if uses | gate | connection.refusals != 0 { try prepareUse() }
        uses = Use.running
        return handle
    }

    /// Marks the start of a use that continues from the current row. Each such use ends with `endStep` or `endUse`.
    @inlinable
    @inline(__always)
    func beginStep() throws -> OpaquePointer {
        let handle = try live()
        if uses & Use.running | gate | connection.refusals != 0 { try prepareUse(resuming: true) }
        uses = Use.running
        return handle
    }

    /// The slow path at the start of a use: throws if the use is not allowed, and otherwise resets the statement from its current
    /// row.
    @usableFromInline
    @inline(never)
    func prepareUse(resuming: Bool = false) throws {
        if connection.refusals != 0 { throw connection.refusalInside(sql: sql) }
        if uses & Use.running != 0 {
            throw DatabaseError.misuse(
                "the statement is already stepping through its rows: prepare another one for use inside the loop", sql: sql)
        }
        if gate != 0, !connection.allowsTransactionControl { throw DatabaseError.transactionControl(sql) }
        guard uses != 0, !resuming, let handle else { return }
        // Resetting may call an unfinished aggregate, which may close the connection.
        uses = Use.running
        do { try finish(handle) } catch {
            endUse(handle)
            throw error
        }
        endUse(handle)
        _ = try live()
    }

    /// Ends a use that leaves rows unread. The statement's changes are committed here, because SQLite commits when a statement
    /// ends: at the last row, or when it is reset.
    /// - Throws: the reason why they could not be committed.
    @inlinable
    @inline(__always)
    package func finish(_ handle: OpaquePointer) throws {
        if sqlcipherkit_sqlite3_stmt_readonly(handle) == 0 { try commit(handle) }
    }

    @usableFromInline
    @inline(never)
    func commit(_ handle: OpaquePointer) throws {
        guard self.handle != nil else { throw DatabaseError.closedConnection }
        let rc = sqlite3_reset(handle)
        if rc != SQLITE_OK { throw failure(rc) }
    }

    /// Ends a use. A statement that writes and has reached neither its end nor `finish` has failed: its changes are undone.
    @inlinable
    @inline(__always)
    package func endUse(_ handle: OpaquePointer) {
        // Resetting may call an unfinished aggregate: the statement is in use until then.
        if self.handle != nil { sqlcipherkit_reset(handle) }
        uses = 0
        if connection.awaitsCommit { connection.settleCommit() }
        if self.handle == nil { finishInvalidated() }
    }

    /// Ends a use and leaves the statement on its row.
    func endStep() {
        uses = Use.standing
        if handle == nil { finishInvalidated() }
    }

    @usableFromInline
    @inline(never)
    func finishInvalidated() {
        guard isBroken else { return }
        isBroken = false
        finalize(usableHandle)
        connection.finishClosing()
    }

    /// The columns of the current row. After a schema change, SQLite prepares the statement again at its first step, and `SELECT *`
    /// may then have different columns.
    ///
    /// A statement is never prepared again while it is on a row, so a lent row can use the columns without retaining them.
    @inlinable
    @inline(__always)
    package func names(_ handle: OpaquePointer) -> Unmanaged<ColumnNames> {
        let preparations = sqlcipherkit_sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
        if let unretainedNames, preparations == knownPreparations { return unretainedNames }
        return learnNames(preparations)
    }

    var names: ColumnNames { names(usableHandle).takeUnretainedValue() }

    @usableFromInline
    @inline(never)
    func learnNames(_ preparations: Int32) -> Unmanaged<ColumnNames> {
        let names = ColumnNames(usableHandle)
        knownNames = names
        knownPreparations = preparations
        let unretained = Unmanaged.passUnretained(names)
        unretainedNames = unretained
        return unretained
    }

    @usableFromInline
    @inline(never)
    func failure(_ rc: Int32) -> DatabaseError {
        let rc = connection.afterWaiting(rc)
        let sql = sqlite3_sql(usableHandle).map { String(cString: $0) }
        let arguments = shownArguments?.shown(in: connection.profile)
        if let error = connection.takeCallbackError(rc) { return connection.noting(error.within(sql, arguments: arguments)) }
        if handle == nil { return .closedConnection }
        let error = DatabaseError(
            rc: rc, database: sqlite3_db_handle(usableHandle), sql: sql, arguments: arguments, statement: usableHandle)
        // The text may contain a key, and SQL can read the texts of all statements.
        if error.reason == .refusedSQL { connection.cache.remove(self) }
        return connection.noting(error)
    }
}

extension Statement {
    /// The SQL text that the statement was made from (<https://sqlite.org/c3ref/expanded_sql.html>).
    public var sql: String { handle.flatMap { sqlite3_sql($0) }.map { String(cString: $0) } ?? "" }

    /// The SQL text with the bound values in place of the parameters: show it only where the data may be seen. For a statement that
    /// could contain a key, such as `ATTACH … KEY ?`, nothing is shown.
    public var expandedSQL: String {
        guard let handle, let text = sqlite3_expanded_sql(handle) else { return "" }
        defer { sqlite3_free(text) }
        return KeyRedaction.clean(String(cString: text))
    }

    /// True if the statement makes no direct change to the database file
    /// (<https://sqlite.org/c3ref/stmt_readonly.html>).
    public var isReadOnly: Bool { handle.map { sqlite3_stmt_readonly($0) != 0 } ?? true }

    /// The number of parameters; seven if the text contains `?7`.
    public var parameterCount: Int { handle.map { Int(sqlite3_bind_parameter_count($0)) } ?? 0 }

    /// The parameters' names with their `:`, `@`, `$` or `?`, nil for a bare `?`.
    public var parameterNames: [String?] {
        guard let handle else { return [] }
        return (0..<sqlite3_bind_parameter_count(handle)).map { index in
            sqlite3_bind_parameter_name(handle, index + 1).map { String(cString: $0) }
        }
    }

    /// The position of a named parameter, counted from 1, or nil if there is none. The name includes its sign, such as `:`.
    public func parameterIndex(_ name: String) -> Int? {
        guard let handle else { return nil }
        let index = sqlite3_bind_parameter_index(handle, name)
        // C would truncate the name at a NUL character, which no parameter's name contains.
        return index == 0 || name.utf8.contains(0) ? nil : Int(index)
    }

    /// The number of columns in the result; 0 for a statement that returns no rows.
    public var columnCount: Int { handle.map { Int(sqlite3_column_count($0)) } ?? 0 }

    /// The columns' names in the result.
    public var columnNames: [String] { handle == nil ? [] : names.names }

    /// The columns' types as declared by their tables; nil for an expression.
    public var declaredTypes: [String?] {
        guard let handle else { return [] }
        return (0..<sqlite3_column_count(handle)).map { index in
            sqlite3_column_decltype(handle, index).map { String(cString: $0) }
        }
    }
}

extension StatementArguments {
    /// The values as text, for errors that are configured to show them.
    func shown(in profile: ValueProfile) -> String {
        // As it would be stored. Swift's description of a value looks into it, and Foundation's of some dates ends the process.
        func text(_ value: (any SQLValueConvertible)?) -> String {
            guard let value else { return "NULL" }
            switch try? value.sqlValue(in: profile) {
            case .null: return "NULL"
            case .integer(let number): return "\(number)"
            case .real(let number): return "\(number)"
            case .text(let text): return text
            case .blob(let bytes): return "\(bytes.count) bytes"
            case nil: return "a \(type(of: value))"
            }
        }
        return named.isEmpty
            ? "[" + positional.map(text).joined(separator: ", ") + "]"
            : "[" + named.map { "\($0.name): \(text($0.value))" }.joined(separator: ", ") + "]"
    }
}

import CSQLCipher
import Synchronization

/// A connection to one database, encrypted or plain.
///
/// ```swift
/// let db = try Connection(.file("notes.db"), key: .passphrase("correct horse"))
/// try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
/// try db.execute("INSERT INTO note(title) VALUES (\(title))")
/// let titles = try db.fetchAll(String.self, "SELECT title FROM note")
/// ```
/// Opening either returns a connection that has read the database with the key, or throws. A connection is synchronous and belongs
/// to one thread at a time: it is not `Sendable`. It closes with ``close()`` or when its last reference goes away; after that every
/// call throws ``DatabaseError/Reason/closed``.
public final class Connection {
    /// SQLite's connection; nil once closed.
    @usableFromInline @exclusivity(unchecked) package var handle: OpaquePointer?
    /// The configuration that the connection was opened with.
    public let configuration: DatabaseConfiguration
    /// The location of the database.
    public let location: DatabaseLocation
    /// `configuration.valueProfile`, stored here for the fast paths that bind.
    @usableFromInline package let profile: ValueProfile
    @usableFromInline @exclusivity(unchecked) package var cache: CachedStatements
    private unowned(unsafe) var statements: Statement?
    /// The hooks that SQLite calls; created when the first one is set.
    package var hooks: ConnectionHooks?
    /// Lets other threads interrupt this connection; created on demand.
    var interrupter: InterruptHandle?
    /// The state that rooms keep for the connection.
    // A connection is used by one thread at a time, and a state is made while nothing else looks at them.
    @usableFromInline @exclusivity(unchecked) var states = ConnectionStates()
    /// Depth of active Swift callbacks. Closing waits until it is 0.
    var callbackDepth = 0
    /// Why no statement may begin now; 0 if one may. See ``Refusals``.
    @usableFromInline @exclusivity(unchecked) var refusals = 0
    /// The operation on a whole database that the connection takes part in.
    package var exclusiveUse: ExclusiveUse?
    /// The closures that run in a transaction.
    package var closures = TransactionClosures()
    /// True if a change hook waits for the commit of the running statement. Stored, because each statement reads it.
    @usableFromInline @exclusivity(unchecked) var awaitsCommit = false
    /// A handle that a callback has closed while SQLite is still using it on the stack.
    private var closingHandle: OpaquePointer?
    /// An error thrown by a Swift callback while SQLite was on the stack. It is rethrown instead of SQLite's own.
    private var callbackError: (error: DatabaseError, rc: Int32, message: String?)?
    /// The thread that the connection is lent to; see `Holder`.
    @usableFromInline package let holder = Atomic<UInt>(Holder.anyThread)
    /// The thread that the connection is lent to, even if its call was cancelled; 0 for none.
    let borrower = Atomic<UInt>(0)
    /// The state that a queue or a pool keeps for the connection.
    package let loan = Loan()
    /// Other objects of SQLite's that have to end before the connection.
    // Each call of a queue or a pool reads this, on the one thread that has the connection.
    @exclusivity(unchecked) var dependents: [ObjectIdentifier: WeakDependent] = [:]
    /// The number of forks when the connection was opened.
    @usableFromInline let forks = sqlcipherkit_forks()
    /// The number of statements that callers hold, including cursors.
    var heldStatements = 0

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - location: where the database is.
    ///   - key: how the database is encrypted; nil, the default, for no encryption. A new file keeps this key.
    ///   - configuration: how to open it.
    /// - Throws: ``DatabaseError`` with the reason ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   ``DatabaseError/Reason/notEncrypted``, ``DatabaseError/Reason/cannotOpen`` (with the path), ``DatabaseError/Reason/busy``
    ///   or ``DatabaseError/Reason/invalidKey``; any ``DatabaseError`` of the ``KeyProvider`` or the ``KeySlots`` that the key
    ///   comes from, or of ``DatabaseConfiguration/onCreate`` and ``DatabaseConfiguration/prepareDatabase``. Any other error that
    ///   one of them throws is the ``DatabaseError/underlyingError`` of an error with the reason
    ///   ``DatabaseError/Reason/keyProvider`` or ``DatabaseError/Reason/callback``.
    public init(
        _ location: DatabaseLocation, key: DatabaseKey? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        self.location = location
        self.configuration = configuration
        profile = configuration.valueProfile
        cache = CachedStatements(capacity: configuration.statementCacheCapacity)
        do { try open(key: key) } catch {
            close()
            throw DatabaseError(thrownBy: "opening", error)
        }
    }

    deinit {
        // No reference is left that could use it.
        if holder.load(ordering: .relaxed) != Holder.anyThread { holder.store(Holder.anyThread, ordering: .relaxed) }
        close()
        finishClosing()
    }

    /// True if the connection is open.
    public var isOpen: Bool { usableHandle != nil }

    /// True if there is a handle. Ignores the lease.
    package var hasHandle: Bool { handle != nil }

    /// The handle, for calls that cannot throw.
    @inlinable var usableHandle: OpaquePointer? { isUsable ? handle : nil }

    /// Closes the connection: rolls back an open transaction, ends cursors and statements, and releases locks. You can close a
    /// connection more than once.
    ///
    /// A closure that is called while a whole database is rewritten or copied, such as a progress closure, cannot close the
    /// connection: it stays open, and the call that rewrites throws ``DatabaseError/Reason/misuse``.
    ///
    /// Nor can a closure close the connection of a queue or a pool that is lent to it: the call throws
    /// ``DatabaseError/Reason/misuse``, and the closure's writes are rolled back.
    ///
    /// In a child process, nothing that the parent opened is closed: the locks and the journal still belong to the parent.
    public func close() {
        guard hasHandle, isUsable || isForked else { return }
        if let exclusiveUse, isInCallback {
            exclusiveUse.closeWasRefused = true
        } else if !isForked, holder.load(ordering: .relaxed) != Holder.anyThread {
            loan.closeWasRefused = true
        } else {
            closeNow()
        }
    }

    /// Closes the connection, even if it is lent.
    package func closeNow() {
        guard let handle else { return }
        self.handle = nil
        // Another thread may have held the lock when the process forked.
        if !isForked {
            interrupter?.connectionCloses()
            // Closing rolls back without calling the hook, least of all from a connection that is being deallocated.
            sqlite3_rollback_hook(handle, nil, nil)
        }
        cache.removeAll()
        states.removeAll()
        while let statement = statements { statement.invalidate() }
        if isForked { return }
        for dependent in dependents.values { dependent.object?.connectionCloses() }
        dependents = [:]
        guard callbackDepth == 0 else {
            // SQLite is on the stack and will use the handle again: interrupt it, and close the handle when it has returned.
            closingHandle = handle
            sqlite3_interrupt(handle)
            return
        }
        // The _v2 form: a row on the stack may still be read, and the call that reads it finalizes its statement.
        sqlcipherkit_forget_interrupt(handle)
        sqlite3_close_v2(handle)
        sqlcipherkit_wipe_traces()
    }

    /// Closes a handle that a callback has closed, now that SQLite has returned.
    package func finishClosing() {
        guard callbackDepth == 0, !isForked, let handle = closingHandle else { return }
        closingHandle = nil
        sqlcipherkit_forget_interrupt(handle)
        sqlite3_close_v2(handle)
        sqlcipherkit_wipe_traces()
    }

    /// The engine's handle, for tests that go behind the connection's back.
    package var engineHandle: OpaquePointer { get throws { try live() } }

    /// Returns the handle while the connection is open.
    @inlinable
    @inline(__always)
    package func live() throws -> OpaquePointer {
        guard isUsable, let handle else { throw refusal() }
        return handle
    }

    // MARK: The list of statements

    func register(_ statement: Statement) {
        if statement.isHeld { heldStatements += 1 }
        statement.next = statements
        statements?.previous = statement
        statements = statement
    }

    func unregister(_ statement: Statement) {
        if statement.isHeld { heldStatements -= 1 }
        if let previous = statement.previous { previous.next = statement.next } else { statements = statement.next }
        statement.next?.previous = statement.previous
        statement.previous = nil
        statement.next = nil
    }

    /// True if a ``RowCursor`` has not reached its end.
    package var hasOpenCursors: Bool {
        var statement = isUsable ? statements : nil
        while let current = statement {
            if current.isCursor { return true }
            statement = current.next
        }
        return false
    }

    /// Ends all cursors, for example before a schema change or a `VACUUM`, which an open cursor prevents. The next call of each
    /// throws ``DatabaseError/Reason/closed``; prepared statements and the connection stay usable. It does nothing on a closed
    /// connection.
    public func closeCursors() {
        var statement = isUsable ? statements : nil
        while let current = statement {
            statement = current.next
            if current.isCursor { current.invalidate() }
        }
    }

    /// The objects that are reading: statements that are not at their end, and blobs.
    var openObjects: Set<ObjectIdentifier> {
        var open = Set(dependents.filter { $0.value.object?.endsWithLoan == true }.keys), statement = statements
        while let current = statement {
            if current.isReading { open.insert(ObjectIdentifier(current)) }
            statement = current.next
        }
        return open
    }

    /// Ends what has begun to read since.
    func endObjects(except before: Set<ObjectIdentifier>) {
        var statement = isUsable ? statements : nil
        while let current = statement {
            statement = current.next
            if current.isReading, !before.contains(ObjectIdentifier(current)) { current.invalidate() }
        }
        for (id, dependent) in dependents where dependent.object?.endsWithLoan == true && !before.contains(id) {
            dependent.object?.connectionCloses()
        }
    }

    /// Ends all statements except those in the connection's own cache.
    func invalidateHeldStatements() {
        var statement = statements
        while let current = statement {
            statement = current.next
            if current.isHeld { current.invalidate() }
        }
    }

    // MARK: Errors

    /// Throws if a call of the C API was not OK.
    package func check(_ rc: Int32, sql: String? = nil) throws {
        if rc != SQLITE_OK { throw failure(rc, sql: sql) }
    }

    /// - Parameter statement: the running statement, whose values the message must not show.
    package func failure(_ rc: Int32, sql: String? = nil, running statement: OpaquePointer? = nil) -> DatabaseError {
        let rc = afterWaiting(rc)
        if let error = takeCallbackError(rc) { return noting(error.within(sql, arguments: nil)) }
        return handle == nil ? .closedConnection : noting(DatabaseError(rc: rc, database: handle, sql: sql, statement: statement))
    }

    /// The code of a call that has failed: an interrupt, where one has ended its wait for a lock.
    func afterWaiting(_ rc: Int32) -> Int32 {
        guard let handle, sqlcipherkit_take_interrupted_wait(handle) != 0, rc & 0xff == SQLITE_BUSY else { return rc }
        return SQLITE_INTERRUPT
    }

    // MARK: Callbacks

    /// Keeps the error that a Swift callback has thrown until SQLite's call returns.
    /// - Parameters:
    ///   - rc: the code that the call will then fail with.
    ///   - message: the message that SQLite was given with the code, if any.
    package func keepCallbackError(_ error: DatabaseError, rc: Int32 = SQLITE_ERROR, message: String? = nil) {
        callbackError = (error, rc, message)
    }

    /// Returns the kept error, if it is the one that SQLite now reports. An error that SQLite has ignored is dropped.
    package func takeCallbackError(_ rc: Int32) -> DatabaseError? {
        guard let kept = callbackError else { return nil }
        callbackError = nil
        guard kept.rc & 0xff == rc & 0xff else { return nil }
        if let message = kept.message, let handle = handle ?? closingHandle, String(cString: sqlite3_errmsg(handle)) != message {
            return nil
        }
        return kept.error
    }
}

extension Connection: CustomReflectable {
    /// Shows only the location, because the cached statements contain SQL that users typed.
    public var customMirror: Mirror { Mirror(self, children: ["location": location]) }
}

extension Connection {
    /// The settings that an open connection can change: the wait for locks, its options, its limits, its handlers, the permissions
    /// of its statements, and its cache of statements.
    /// ```swift
    /// try db.settings.setEnabled(.defensive, to: true)
    /// try db.settings.setLimit(.columns, to: 100)
    /// ```
    public var settings: Settings { Settings(connection: self) }

    /// The settings of an open connection. They last until it closes. Settings that a closure of a queue or a pool has changed last
    /// until the closure has ended; make settings for all calls in ``DatabaseConfiguration/prepareDatabase``.
    public struct Settings {
        let connection: Connection
    }
}

extension Connection.Settings {
    /// The longest time that a call waits for another connection's lock; zero if a busy handler decides
    /// (<https://sqlite.org/c3ref/busy_timeout.html>).
    /// - Throws: ``DatabaseError/Reason/closed``.
    public var busyTimeout: Duration {
        get throws {
            _ = try connection.live()
            return .milliseconds(try connection.fetchOne(Int.self, "PRAGMA busy_timeout") ?? 0)
        }
    }

    /// Sets how long a call waits for another connection's lock before it throws ``DatabaseError/Reason/busy``; with zero or less
    /// it does not wait. This removes a busy handler, because SQLite has either a timeout or a busy handler.
    /// - Returns: the timeout in effect, in whole milliseconds, rounded up, and at most 24 days.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setBusyTimeout(_ timeout: Duration) throws -> Duration {
        let handle = try connection.liveOutsideHooks()
        if connection.hooks?.busy != nil { try connection.setBusyBody(nil) }
        try connection.check(sqlite3_busy_timeout(handle, timeout.clampedMilliseconds))
        // Reading it again could fail after it has changed.
        return .milliseconds(Int(timeout.clampedMilliseconds))
    }

    /// Returns whether an option is on.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func isEnabled(_ option: ConnectionOption) throws -> Bool {
        var result: Int32 = 0
        try connection.check(sqlcipherkit_db_config(connection.live(), option.number, -1, &result))
        return result != 0
    }

    /// Turns an option on or off.
    /// - Returns: the value in effect; ``ConnectionOption/foreignKeys`` does not change inside a transaction.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setEnabled(_ option: ConnectionOption, to isOn: Bool) throws -> Bool {
        let handle = try connection.liveOutsideHooks()
        // Like SQLite's pragma. The C call would switch in the middle of a transaction and miscount the keys that are left to
        // check.
        if option == .foreignKeys, sqlite3_get_autocommit(handle) == 0 { return try isEnabled(option) }
        var result: Int32 = 0
        if connection.isLent {
            let before = try isEnabled(option)
            connection.untilReturn(.option(option.number)) { db in try db.settings.setEnabled(option, to: before) }
        }
        try connection.check(sqlcipherkit_db_config(handle, option.number, isOn ? 1 : 0, &result))
        return result != 0
    }

    /// The value of a limit.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public func limit(_ limit: Limit) throws -> Int {
        Int(sqlite3_limit(try connection.live(), limit.number, -1))
    }

    /// Lowers a limit, or raises it up to the value that this engine was compiled with.
    /// - Returns: the limit in effect (<https://sqlite.org/c3ref/limit.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/invalidArgument`` for a negative value, or
    ///   ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func setLimit(_ limit: Limit, to value: Int) throws -> Int {
        let handle = try connection.liveOutsideHooks()
        guard value >= 0 else { throw DatabaseError.invalidArgument("a limit cannot be \(value)") }
        let before = sqlite3_limit(handle, limit.number, Int32(clamping: value))
        connection.untilReturn(.limit(limit.number)) { db in try db.settings.setLimit(limit, to: Int(before)) }
        return try self.limit(limit)
    }
}

extension Connection.Settings {
    /// Limits of a connection (<https://sqlite.org/limits.html>).
    public struct Limit: Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// The limit's name, the same as in Swift.
        public let description: String
        let number: Int32
        private init(_ name: String, _ number: Int32) { (description, self.number) = (name, number) }

        public static let allCases: [Limit] = [
            .length, .sqlLength, .columns, .expressionDepth, .compoundSelect, .instructions, .functionArguments, .attached,
            .likePatternLength, .variableNumber, .triggerDepth, .workerThreads, .parserDepth,
        ]

        /// The size of a text, a blob or a row, in bytes.
        public static let length = Limit("length", SQLITE_LIMIT_LENGTH)
        /// The length of an SQL statement, in bytes.
        public static let sqlLength = Limit("sqlLength", SQLITE_LIMIT_SQL_LENGTH)
        /// The number of columns of a table, an index or a result.
        public static let columns = Limit("columns", SQLITE_LIMIT_COLUMN)
        /// The depth of an expression; 0 for no limit.
        public static let expressionDepth = Limit("expressionDepth", SQLITE_LIMIT_EXPR_DEPTH)
        /// The number of parts of a `UNION`, `INTERSECT` or `EXCEPT`.
        public static let compoundSelect = Limit("compoundSelect", SQLITE_LIMIT_COMPOUND_SELECT)
        /// The number of instructions of a compiled statement.
        public static let instructions = Limit("instructions", SQLITE_LIMIT_VDBE_OP)
        /// The number of arguments of a function.
        public static let functionArguments = Limit("functionArguments", SQLITE_LIMIT_FUNCTION_ARG)
        /// The number of attached databases.
        public static let attached = Limit("attached", SQLITE_LIMIT_ATTACHED)
        /// The length of a pattern for `LIKE` or `GLOB`, in bytes.
        public static let likePatternLength = Limit("likePatternLength", SQLITE_LIMIT_LIKE_PATTERN_LENGTH)
        /// The highest number of a parameter.
        public static let variableNumber = Limit("variableNumber", SQLITE_LIMIT_VARIABLE_NUMBER)
        /// The depth of triggers that fire triggers.
        public static let triggerDepth = Limit("triggerDepth", SQLITE_LIMIT_TRIGGER_DEPTH)
        /// The number of additional threads that a statement may use for sorting.
        public static let workerThreads = Limit("workerThreads", SQLITE_LIMIT_WORKER_THREADS)
        /// The depth of nested expressions and subqueries that the parser accepts.
        public static let parserDepth = Limit("parserDepth", SQLITE_LIMIT_PARSER_DEPTH)
    }
}

extension Connection {
    /// The number of columns that SQLite allows by default (<https://sqlite.org/limits.html#max_column>).
    static let columnLimit: Int32 = 2000

    /// Runs `body` with room for one more column in results and rows: a table with as many columns as the limit has a row id too.
    package func withRoomForRowID<R>(_ body: () throws -> R) rethrows -> R {
        guard let handle else { return try body() }
        let before = sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, -1)
        sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, before + 1)
        defer { if let handle = self.handle { sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, before) } }
        return try body()
    }
}

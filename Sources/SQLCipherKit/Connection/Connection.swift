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
/// Opening either gives a connection that has read the database with the key, or throws. A connection is synchronous and
/// belongs to one thread at a time: it is not `Sendable`. It closes when its last reference goes, or with ``close()``; after that
/// every call throws ``DatabaseError/Reason/closed``.
public final class Connection {
    /// SQLite's connection; nil once closed.
    @usableFromInline @exclusivity(unchecked) var handle: OpaquePointer?
    /// What the connection was opened with.
    public let configuration: DatabaseConfiguration
    /// Where the database is.
    public let location: DatabaseLocation
    /// `configuration.values`, nearer to the paths that bind.
    @usableFromInline let profile: ValueProfile
    @usableFromInline @exclusivity(unchecked) var cache: CachedStatements
    private unowned(unsafe) var statements: Statement?
    /// What SQLite calls back; made when the first hook is set.
    var hooks: ConnectionHooks?
    /// How a later call may interrupt this connection; made when it is asked for.
    var interrupter: InterruptHandle?
    /// What rooms keep for the connection.
    var states = ConnectionStates()
    /// Calls of Swift code by SQLite that are on the stack: closing waits for their end.
    var callbackDepth = 0
    /// Why no statement may begin to run now; 0 if it may. See ``Refusals``.
    @usableFromInline @exclusivity(unchecked) var refusals = 0
    /// The rewrite of a whole database that the connection takes part in.
    var rewrite: Rewrite?
    /// The transaction that a closure of the caller's runs in.
    var closures = TransactionClosures()
    /// What a pool does not allow to this one of its connections.
    var pool = OneOfMany()
    /// Whether a change hook waits for the commit of the running statement. A stored property, as each statement asks for it.
    @usableFromInline @exclusivity(unchecked) var awaitsCommit = false
    /// A handle that was closed by a callback and is still on the stack.
    private var closingHandle: OpaquePointer?
    /// An error thrown by a Swift callback while SQLite was on the stack; it is rethrown in place of SQLite's own.
    private var callbackError: (error: DatabaseError, rc: Int32, message: String?)?
    /// The thread that the connection is lent to; see `Holder`.
    @usableFromInline let holder = Atomic<UInt>(Holder.anybody)
    /// The thread that it is lent to, 0 for none; also of a call that was cancelled.
    let borrower = Atomic<UInt>(0)
    // The three below are looked at in each call of a queue or a pool, by the one thread that has the connection; no access to
    // them calls what could touch them again.
    /// How to put back what that closure has set.
    @exclusivity(unchecked) var loanSettings: [LoanSetting: (Connection) throws -> Void] = [:]
    /// Those that SQL can change, as they were when the connection was lent.
    @exclusivity(unchecked) var settingsAtLoan: sqlcipherkit_settings?
    /// What else of SQLite's has to end before the connection does.
    @exclusivity(unchecked) var dependents: [ObjectIdentifier: WeakDependent] = [:]
    /// Whether the closure that it is lent to has tried to close it.
    var closeWasRefused = false
    /// When the running call of a queue or a pool must have ended.
    var deadline: Deadline?
    /// The number of forks when the connection was opened.
    @usableFromInline let forks = sqlcipherkit_forks()
    /// The statements that callers hold, cursors among them.
    var heldStatements = 0

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - location: where it is.
    ///   - key: how the database is encrypted; nil, the default, for not at all. A new file gets this key for good.
    ///   - configuration: how to open it.
    /// - Throws: ``DatabaseError`` with the reason ``DatabaseError/Reason/wrongKeyOrNotADatabase``,
    ///   ``DatabaseError/Reason/notEncrypted``, ``DatabaseError/Reason/cannotOpen`` (naming the path),
    ///   ``DatabaseError/Reason/busy`` or ``DatabaseError/Reason/invalidKey``; what a ``KeyProvider`` or ``KeySlots`` throw, if the
    ///   key is from there; and what ``DatabaseConfiguration/onCreate`` and ``DatabaseConfiguration/prepare`` throw.
    public init(
        _ location: DatabaseLocation, key: Encryption? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        self.location = location
        self.configuration = configuration
        profile = configuration.values
        cache = CachedStatements(capacity: configuration.statementCacheCapacity)
        do { try open(key: key) } catch {
            close()
            throw error
        }
    }

    deinit {
        // No reference is left that could use it.
        if holder.load(ordering: .relaxed) != Holder.anybody { holder.store(Holder.anybody, ordering: .relaxed) }
        close()
        finishClosing()
    }

    /// Whether the connection is open.
    public var isOpen: Bool { usableHandle != nil }

    /// Whether there is a handle. Ignores the lease.
    var hasHandle: Bool { handle != nil }

    /// The handle, where a call cannot throw.
    @inlinable var usableHandle: OpaquePointer? { isUsable ? handle : nil }

    /// Closes the connection: an open transaction is rolled back, cursors and statements end, locks are released. Closing
    /// twice does nothing.
    ///
    /// Inside of a closure that is called while a whole database is rewritten or copied, as a progress closure is, it stays open,
    /// and the call that rewrites throws ``DatabaseError/Reason/misuse``.
    ///
    /// Nor does the connection of a queue or a pool close that a closure has: the call throws ``DatabaseError/Reason/misuse``, and
    /// what the closure has written is rolled back.
    ///
    /// In a child process nothing is closed that the parent had opened: the locks and the journal are still the parent's.
    public func close() {
        guard hasHandle, isUsable || isForked else { return }
        if let rewrite, isInCallback {
            rewrite.closeWasRefused = true
        } else if !isForked, holder.load(ordering: .relaxed) != Holder.anybody {
            closeWasRefused = true
        } else {
            closeNow()
        }
    }

    /// Closes the connection, also one that is lent.
    func closeNow() {
        guard let handle else { return }
        self.handle = nil
        // The lock may have been another thread's when the process forked.
        if !isForked {
            interrupter?.connectionCloses()
            // Closing rolls back: no hook is told, least of all by a connection that is being deallocated.
            sqlite3_rollback_hook(handle, nil, nil)
        }
        cache.removeAll()
        states.removeAll()
        while let statement = statements { statement.invalidate() }
        if isForked { return }
        for dependent in dependents.values { dependent.object?.connectionCloses() }
        dependents = [:]
        guard callbackDepth == 0 else {
            // SQLite is on the stack and will go on with the handle: it is told to stop, and closed when it has returned.
            closingHandle = handle
            sqlite3_interrupt(handle)
            return
        }
        // The _v2 form: a row on the stack may still be read, and its statement is finalized by the call that reads it.
        sqlcipherkit_forget_interrupt(handle)
        sqlite3_close_v2(handle)
        sqlcipherkit_wipe_traces()
    }

    /// Closes a handle that a callback wanted closed, now that SQLite has returned.
    func finishClosing() {
        guard callbackDepth == 0, !isForked, let handle = closingHandle else { return }
        closingHandle = nil
        sqlcipherkit_forget_interrupt(handle)
        sqlite3_close_v2(handle)
        sqlcipherkit_wipe_traces()
    }

    /// The handle, for as long as the connection is open.
    @inlinable
    @inline(__always)
    func live() throws(DatabaseError) -> OpaquePointer {
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

    /// Whether a ``RowCursor`` has not come to its end.
    public var hasOpenCursors: Bool {
        var statement = isUsable ? statements : nil
        while let current = statement {
            if current.isCursor { return true }
            statement = current.next
        }
        return false
    }

    /// Ends all cursors: their next call throws ``DatabaseError/Reason/closed``.
    public func closeCursors() {
        var statement = isUsable ? statements : nil
        while let current = statement {
            statement = current.next
            if current.isCursor { current.invalidate() }
        }
    }

    /// Ends all statements but those of the connection's own cache.
    func invalidateHeldStatements() {
        var statement = statements
        while let current = statement {
            statement = current.next
            if current.isHeld { current.invalidate() }
        }
    }

    // MARK: Errors

    /// Throws if a call of the C API was not OK.
    func check(_ rc: Int32, sql: String? = nil) throws(DatabaseError) {
        if rc != SQLITE_OK { throw failure(rc, sql: sql) }
    }

    /// - Parameter statement: what was running, whose values the message must not show.
    func failure(_ rc: Int32, sql: String? = nil, running statement: OpaquePointer? = nil) -> DatabaseError {
        if let error = takeCallbackError(rc) { return noting(error.within(sql, arguments: nil)) }
        return handle == nil ? .closedConnection : noting(DatabaseError(rc: rc, database: handle, sql: sql, statement: statement))
    }

    // MARK: Callbacks

    /// Keeps the error that a Swift callback has thrown until SQLite's call returns.
    /// - Parameters:
    ///   - rc: the code with which that call will then fail.
    ///   - message: the message that SQLite was given with it, if any.
    func keepCallbackError(_ error: DatabaseError, rc: Int32 = SQLITE_ERROR, message: String? = nil) {
        callbackError = (error, rc, message)
    }

    /// The kept error, if it is the one that SQLite now reports. One that SQLite has swallowed is forgotten.
    func takeCallbackError(_ rc: Int32) -> DatabaseError? {
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
    /// The location alone: the statements in the cache are made of SQL that people typed.
    public var customMirror: Mirror { Mirror(self, children: ["location": location]) }
}

import CSQLCipher
import SQLCipherKitCore

/// Runs searches while the user types: a newer search interrupts the older ones.
/// ```swift
/// let live = LiveSearch()
/// // at each key stroke, on whichever thread and connection reads:
/// let number = live.next()
/// do {
///     let hits = try live.run(number, on: db) { db in
///         try db.fullText("note_fts").search(text).hits
///     }
///     show(hits)
/// } catch let error as DatabaseError where error.code == .interrupted {
///     // a newer search has taken over
/// }
/// ```
/// Use one `LiveSearch` for each search field. You can use it from any thread; each connection still belongs to one thread at a
/// time.
public final class LiveSearch: Sendable {
    /// The position of a search in the sequence of searches.
    public struct SequenceNumber: Hashable, Sendable {
        fileprivate let value: UInt64
    }

    private struct State {
        var newest: UInt64 = 0
        /// The searches that a newer one may interrupt.
        var running: [UInt64: InterruptHandle] = [:]
    }

    private let state = Lock(State())

    public init() {}

    /// Announces a new search: older ones are interrupted, or do not start.
    public func next() -> SequenceNumber {
        state.withLock { state in
            state.newest += 1
            // While the lock is held, no search can end, so the interrupt cannot hit anything else.
            for handle in state.running.values { handle.interrupt() }
            return SequenceNumber(value: state.newest)
        }
    }

    /// Interrupts all searches that were announced so far.
    public func cancel() { _ = next() }

    /// Runs a search, which must only read. If the connection has written in its open transaction, or is in the middle of another
    /// statement, the search is not interrupted but runs to its end: an interrupt would hit those too, and interrupting a write to
    /// a full-text table rolls back the transaction.
    /// - Throws: ``DatabaseError`` with the code ``ResultCode/interrupted`` if a newer search was announced, and what `body`
    ///   throws.
    public func run<R>(_ number: SequenceNumber, on connection: Connection, _ body: (Connection) throws -> R) throws -> R {
        let handle = try connection.interruptHandle
        let canInterrupt = try !connection.hasRunningStatements && sqlite3_txn_state(connection.live(), nil) != SQLITE_TXN_WRITE
        try begin(number, canInterrupt ? handle : nil)
        let result: R
        do {
            defer { end(number) }
            result = try body(connection)
        }
        guard isNewest(number) else { throw Self.superseded }
        return result
    }

    /// Announces a search and runs it.
    public func run<R>(on connection: Connection, _ body: (Connection) throws -> R) throws -> R {
        try run(next(), on: connection, body)
    }

    /// Whether no newer search was announced.
    public func isNewest(_ number: SequenceNumber) -> Bool {
        state.withLock { $0.newest == number.value }
    }

    private static let superseded = DatabaseError(code: .interrupted, message: "a newer search has taken over")

    private func begin(_ number: SequenceNumber, _ handle: InterruptHandle?) throws(DatabaseError) {
        let isNewest = state.withLock { state in
            guard state.newest == number.value else { return false }
            state.running[number.value] = handle
            return true
        }
        if !isNewest { throw Self.superseded }
    }

    private func end(_ number: SequenceNumber) {
        state.withLock { $0.running[number.value] = nil }
    }
}

import CSQLCipher
import Synchronization

/// Searches while somebody types: a newer search ends the older one.
/// ```swift
/// let live = LiveSearch()
/// // at each key stroke, on whichever thread and connection reads:
/// let ticket = live.next()
/// do {
///     let hits = try live.run(ticket, on: db) { db in
///         try db.search("note_fts", FTS5Query(userInput: text, options: .init(completesLastWord: true)), limit: 20)
///     }
///     show(hits)
/// } catch let error as DatabaseError where error.code == .interrupted {
///     // a newer search has taken over
/// }
/// ```
/// One `LiveSearch` belongs to one search field. It may be used from any thread; each connection still belongs to one at a time.
public final class LiveSearch: Sendable {
    /// The place of a search in the order of key strokes.
    public struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        var newest: UInt64 = 0
        /// The searches that a newer one may interrupt.
        var running: [UInt64: InterruptHandle] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Announces a new search: those before it end, or do not begin.
    public func next() -> Ticket {
        state.withLock { state in
            state.newest += 1
            // Under the lock no search ends meanwhile, so that nothing else is hit.
            for handle in state.running.values { handle.interrupt() }
            return Ticket(number: state.newest)
        }
    }

    /// Ends all searches that were announced so far.
    public func cancel() { _ = next() }

    /// Runs a search, which must only read. It is not interrupted, but runs to its end, on a connection that has written in its open
    /// transaction or that is in the middle of another statement: an interrupt would hit those too, and a write of FTS5 that
    /// is interrupted costs the transaction.
    /// - Throws: ``DatabaseError`` with the code ``ResultCode/interrupted`` when a newer search was announced, and what `body` throws.
    public func run<R>(_ ticket: Ticket, on connection: Connection, _ body: (Connection) throws -> R) throws -> R {
        let handle = try connection.interruptHandle
        let canInterrupt = try !connection.hasRunningStatements && sqlite3_txn_state(connection.live(), nil) != SQLITE_TXN_WRITE
        try begin(ticket, canInterrupt ? handle : nil)
        let result: R
        do { result = try body(connection) } catch {
            end(ticket)
            throw error
        }
        end(ticket)
        guard isNewest(ticket) else { throw Self.superseded }
        return result
    }

    /// Announces a search and runs it.
    public func run<R>(on connection: Connection, _ body: (Connection) throws -> R) throws -> R {
        try run(next(), on: connection, body)
    }

    /// Whether no newer search was announced.
    public func isNewest(_ ticket: Ticket) -> Bool {
        state.withLock { $0.newest == ticket.number }
    }

    private static let superseded = DatabaseError(code: .interrupted, message: "a newer search has taken over")

    private func begin(_ ticket: Ticket, _ handle: InterruptHandle?) throws(DatabaseError) {
        let isNewest = state.withLock { state in
            guard state.newest == ticket.number else { return false }
            state.running[ticket.number] = handle
            return true
        }
        if !isNewest { throw Self.superseded }
    }

    private func end(_ ticket: Ticket) {
        state.withLock { $0.running[ticket.number] = nil }
    }
}

import CSQLCipher

/// Interrupts a connection from any thread.
/// ```swift
/// let handle = try db.interruptHandle
/// Task { try await Task.sleep(for: .seconds(2)); handle.interrupt() }
/// try db.fetchAll(Int.self, "SELECT …")     // throws with the code .interrupted if it takes longer
/// ```
public final class InterruptHandle: Sendable {
    // Nil once the connection is closed. The lock keeps the connection from being closed during an interrupt.
    private let handle: Lock<Handle>

    private struct Handle: @unchecked Sendable {
        // Sendable: sqlite3_interrupt may be called from any thread while the connection is open, and nothing else is called.
        var pointer: OpaquePointer?
    }

    init(_ pointer: OpaquePointer) { handle = Lock(Handle(pointer: pointer)) }

    /// Interrupts all running statements: each soon throws an error with the code ``ResultCode/interrupted``, even while it waits
    /// for a lock. An interrupted INSERT, UPDATE or DELETE rolls back its whole transaction. Does nothing if no statement is
    /// running, or after the connection has closed (<https://sqlite.org/c3ref/interrupt.html>).
    ///
    /// An interrupt does not stop a commit or a rollback. After an interrupted write to a full-text index, roll back before you
    /// continue.
    public func interrupt() { handle.withLock { if let pointer = $0.pointer { sqlite3_interrupt(pointer) } } }

    func connectionCloses() { handle.withLock { $0.pointer = nil } }
}

extension Connection {
    /// A handle that interrupts the connection from any thread. It may outlive the connection.
    /// - Throws: ``DatabaseError/Reason/closed``.
    public var interruptHandle: InterruptHandle {
        get throws {
            let handle = try live()
            if let interrupter { return interrupter }
            let made = InterruptHandle(handle)
            interrupter = made
            return made
        }
    }
}

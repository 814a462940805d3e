import SQLCipherKitCore

/// Cancels one call of a queue or a pool while it waits or runs, and has no effect after that.
package final class Cancellation: Sendable {
    private struct State: Sendable {
        var error: (any Error)?
        var handler: (@Sendable (any Error) -> Void)?
    }

    private let state = Lock(State())

    /// Ends the work of the call, if there is any.
    /// - Parameter error: the error that the call throws.
    func cancel(_ error: any Error) {
        state.withLock { state in
            guard state.error == nil else { return }
            state.error = error
            // Under the lock, so that this ends the work of this call and not of the next call.
            state.handler?(error)
            state.handler = nil
        }
    }

    /// The error that the call was cancelled with; nil if it was not.
    var error: (any Error)? { state.withLock { $0.error } }

    /// Sets how the call is cancelled from now on; nil if there is nothing left to cancel.
    func setHandler(_ handler: (@Sendable (any Error) -> Void)?) {
        state.withLock { $0.handler = handler }
    }
}

/// When a call has to end.
package struct CallLimits: Sendable {
    package let deadline: Deadline?
    let cancellation: Cancellation?
    /// The pool that ends the call when it is suspended.
    var pool: ConnectionPool?

    package init(_ timeout: Duration? = nil, _ cancellation: Cancellation? = nil) {
        (deadline, self.cancellation) = (timeout.map(Deadline.after), cancellation)
    }

    package init(until deadline: Deadline?) { (self.deadline, cancellation) = (deadline, nil) }

    /// Throws if the call has to end.
    package func check() throws {
        if let error = cancellation?.error { throw error }
        if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
        if let pool, pool.isSuspended { throw DatabaseError.suspended }
    }
}

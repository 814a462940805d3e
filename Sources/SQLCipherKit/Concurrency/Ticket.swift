import Synchronization

/// One call's way through a queue or a pool: it may be stopped while it waits and while it runs, and not afterwards.
final class Ticket: Sendable {
    private struct State: Sendable {
        var error: (any Error)?
        var stop: (@Sendable (any Error) -> Void)?
    }

    private let state = Mutex(State())

    /// Ends what the call is doing, if it is doing anything.
    func stop(_ error: any Error) {
        state.withLock { state in
            guard state.error == nil else { return }
            state.error = error
            // Under the lock, so that what is stopped is this call's work, and not that of the one behind it.
            state.stop?(error)
            state.stop = nil
        }
    }

    /// What it was stopped with.
    var error: (any Error)? { state.withLock { $0.error } }

    /// Says how the call is stopped from now on; nil if there is nothing to stop any more.
    func whenStopped(_ stop: (@Sendable (any Error) -> Void)?) {
        state.withLock { $0.stop = stop }
    }
}

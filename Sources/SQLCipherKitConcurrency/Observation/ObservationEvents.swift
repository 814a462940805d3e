import SQLCipherKitCore

/// Wakes the loops of an observation. A loop notes the number of events, checks whether there is anything for it, and then waits
/// for another event, so that it misses none in between.
final class ObservationEvents: Sendable {
    private struct State {
        var count: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Lock(State())

    var count: UInt64 { state.withLock { $0.count } }

    /// Wakes all waiters.
    func signal() {
        let waiters = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until there have been more events than `count`, or until the task is cancelled.
    func wait(after count: UInt64) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.count != count || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }
}
